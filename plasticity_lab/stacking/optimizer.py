"""What an optimizer of a pack is."""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from plasticity_lab.component import Component


class ByKernel(NamedTuple):
    """A kernel that takes one step of linear layers, whose gradients it forms itself.

    operator: of torch.ops.plasticity_lab. moments: the kinds it needs, in its order.
    """

    operator: str
    moments: tuple[str, ...]


class Optimizer(Component):
    """Updates (K, ...) parameters in place, each run with its own settings. Holds no numbers of a run.

    `reset` says when its moments begin anew: never, or at each task's end.
    """

    lr: float
    reset: str

    floats_on_run_axis = True

    by_kernel: ClassVar[ByKernel | None] = None
    """The kernel of our own that takes its step of linear layers, if there is one: for `update_linear`."""

    def start(self, parameters: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
        """The moments before the first step: moment → name → like the parameter."""
        raise NotImplementedError

    def corrections(self, settings: Mapping[str, Tensor], first: int, steps: int) -> dict[str, Tensor]:
        """What depends on the step count alone: name → (S, ...) for the steps first … first + steps − 1, from 1.

        Of most optimizers nothing does.
        """
        return {}

    def settled(self, settings: Mapping[str, Tensor]) -> int:
        """After how many steps `corrections` stay as they are, to float32; 1 where there are none."""
        return 1

    def update_slices(
        self,
        parameters: Mapping[str, Tensor],
        gradients: Mapping[str, Tensor],
        moments: Mapping[str, Mapping[str, Tensor]],
        settings: Mapping[str, Tensor],
        by_step: Mapping[str, Tensor],
        ages: Mapping[str, Tensor],
    ) -> None:
        """One step of parameters (K, E, ...) whose slices began at different times, each as a run of its own.

        by_step: `corrections` of the first steps, until they are settled. ages: of each parameter (K, E), how many
        steps each slice has taken.
        """
        last = next(iter(by_step.values())).shape[0] - 1 if by_step else 0
        for name, age in ages.items():
            slices, runs = age.shape[1], torch.arange(len(age), device=age.device).repeat_interleave(age.shape[1])
            row = age.flatten().clamp(max=last)
            now = {each: rows[row, runs] if rows.dim() > 1 else rows[row] for each, rows in by_step.items()}
            self.update(
                {name: parameters[name].flatten(0, 1)},
                {name: gradients[name].flatten(0, 1)},
                {kind: {name: values[name].flatten(0, 1)} for kind, values in moments.items()},
                {each: value.repeat_interleave(slices) for each, value in settings.items()},
                now,
            )

    def update(
        self,
        parameters: Mapping[str, Tensor],
        gradients: Mapping[str, Tensor],
        moments: Mapping[str, Mapping[str, Tensor]],
        settings: Mapping[str, Tensor],
        now: Mapping[str, Tensor],
    ) -> None:
        """One step in place.  settings: name → (K,) float64; now: one row of `corrections`.

        Parameters, moments and gradients are (K, ...); gradients may be laid out in memory in any way.
        """
        raise NotImplementedError

    def update_linear(
        self,
        given: Mapping[str, Tensor],
        deltas: Mapping[str, Tensor],
        parameters: Mapping[str, Tensor],
        moments: Mapping[str, Mapping[str, Tensor]],
        settings: Mapping[str, Tensor],
        now: Mapping[str, Tensor],
    ) -> None:
        """The same step of some linear layers, by a kernel that forms their gradients itself.

        given: layer → (K, B, I), what each was given; deltas: layer → (K, B, O), the gradient by its answer.
        """
        assert self.by_kernel is not None
        kernel, numbers = self.by_kernel, self.kernel_numbers(settings, now)
        for layer, x in given.items():
            own = [
                values[f"{layer}.{part}"]
                for values in (parameters, *(moments[kind] for kind in kernel.moments))
                for part in ("weight", "bias")
            ]
            getattr(torch.ops.plasticity_lab, kernel.operator)(x, deltas[layer], numbers, *own)

    def kernel_numbers(self, settings: Mapping[str, Tensor], now: Mapping[str, Tensor]) -> Tensor:
        """What the kernel gets for each run, (K, ...) float32, as its source lists it (kernels/linear.cpp)."""
        raise NotImplementedError


def for_kernel(*numbers: Tensor) -> Tensor:
    """Numbers of each run, (K,) each, side by side: (K, N) float32.

    Compiled, a choice by place is one loop; torch.stack would be a loop and a view for each of them, at every step.
    """
    place, found = torch.arange(len(numbers), device=numbers[0].device), numbers[-1].float().unsqueeze(1)
    for at, each in enumerate(numbers[:-1]):
        found = torch.where(place == at, each.float().unsqueeze(1), found)
    return found
