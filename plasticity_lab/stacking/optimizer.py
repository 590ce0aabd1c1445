"""The base class of all optimizers of a pack, PyTorch's fused CPU kernels for one, and gradient clipping.

Legend: K runs, E slices of a parameter, S steps.
"""

from collections.abc import Iterator, Mapping
from math import inf, nan
from typing import Any, ClassVar

import torch
from torch import Tensor

from plasticity_lab.component import Component, check
from plasticity_lab.kernels import operators
from plasticity_lab.kernels.steps_on_gpu import step_of
from plasticity_lab.stacking.products import run_sums
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.schedule import PERIODS, SHAPES

Tensors = Mapping[str, Tensor]
Moments = Mapping[str, Tensors]
"""Kind of moment → parameter name → like the parameter."""


class Optimizer(Component):
    """Updates parameters (K, ...) in place, each run with its own settings. It holds no numbers of a run.

    A subclass declares `moments` and writes `update`, or derives from `WithFusedStep`. `reset` says when the moments
    are reset: never, or at the end of each task. A subclass with `schedule`, `schedule_by`, `warmup` and `final` in
    its constructor passes them to `set_schedule`. Then `settings["lr"]` of an update is the rate of that update.
    """

    lr: float
    reset: str
    schedule: str = "constant"
    schedule_by: str = "task"
    warmup: float = 0.0
    final: float = 0.0

    floats_on_run_axis = True
    neutral = {"schedule": "constant", "schedule_by": "task", "warmup": 0.0, "final": 0.0}
    read_if = {"final": ("schedule", lambda schedule: schedule != "constant")}

    of_rate: ClassVar[tuple[str, ...]] = ()
    """The `corrections` that are proportional to the learning rate. A schedule multiplies them too."""

    moments: ClassVar[tuple[str, ...]] = ()
    """The kinds of its moments, in the order of the arguments of `kernel`."""

    kernel: ClassVar[str | None] = None
    """Our own kernel for its step of linear layers, an operator of torch.ops.plasticity_lab; None if there is no
    kernel. `steps_on_gpu.STEPS` has some of them for a GPU."""

    kernel_of_tensors: ClassVar[str | None] = None
    """Our own kernel for its step of whole tensors by their gradients, another operator; None if there is no kernel.
    It takes the same numbers of each run as `kernel`."""

    copies: ClassVar[int] = 0
    """Its memory (moments, state and temporary tensors) beyond two moments, as a multiple of the memory of all
    parameters."""

    operations: ClassVar[int] = 0
    """The time of an update beyond Adam's, as operations of matrix products for each parameter; for estimates."""

    def __init_subclass__(cls) -> None:
        """A class with another step inherits no kernel."""
        super().__init_subclass__()
        if {"update", "composed"} & vars(cls).keys():
            cls.kernel, cls.kernel_of_tensors = (vars(cls).get(name) for name in ("kernel", "kernel_of_tensors"))

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings, except for a schedule's settings without effect."""
        if settings.get("schedule", "constant") == "constant":
            unread = ("final",) if settings.get("warmup") else ("final", "schedule_by")
            settings = {key: value for key, value in settings.items() if key not in unread}
        return super().canonical(settings)

    def set_schedule(self, schedule: str, schedule_by: str, warmup: float, final: float) -> None:
        """Stores the settings of the schedule (see `Schedule`).  Raises ConfigError for one out of range."""
        self.schedule = check("optimizer.schedule", schedule, one_of=SHAPES)
        self.schedule_by = check("optimizer.schedule_by", schedule_by, one_of=PERIODS)
        self.warmup = check("optimizer.warmup", warmup, at_least=0, below=1)
        self.final = check("optimizer.final", final, at_least=0, at_most=1)

    def on_run_axis(self) -> dict[str, float]:
        """Its settings except for the schedule's, which reach an update as its rate."""
        return {name: value for name, value in super().on_run_axis().items() if name not in ("warmup", "final")}

    def start(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """The moments before the first step, zero: moment → name → like the parameter."""
        return {kind: {name: torch.zeros_like(value) for name, value in parameters.items()} for kind in self.moments}

    def start_state(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """The state besides the moments, before the first step: kind → name → (K, ...). Most optimizers have none.

        Moments are like the parameters, and resets of units set them to zero. Nothing but the optimizer changes this
        state, which is made again when the moments are reset.
        """
        return {}

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """Numbers that depend on the step count alone: name → (S, ...) for the steps first … first + steps − 1.

        Steps are counted from 1. Most optimizers have no such numbers.
        """
        return {}

    def settled(self, settings: Tensors) -> int:
        """The number of steps after which `corrections` are constant in float32; 1 without corrections."""
        return 1

    def update(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """One step in place.  settings: name → (K,) float64; now: one row of `corrections`.

        Parameters, moments and gradients are (K, ...); gradients may have any layout in memory.
        """
        raise NotImplementedError

    def update_slices(
        self,
        parameters: Tensors,
        gradients: Tensors,
        moments: Moments,
        settings: Tensors,
        by_step: Tensors,
        ages: Tensors,
    ) -> None:
        """One step for parameters (K, E, ...) with slices reset at different times: each slice counts as a run.

        by_step: `corrections` of the first steps, until they are settled. ages: for each parameter (K, E), the number
        of steps since each slice was reset.
        """
        last = next(iter(by_step.values())).shape[0] - 1 if by_step else 0
        for name, age in ages.items():
            slices, runs = age.shape[1], torch.arange(len(age), device=age.device).repeat_interleave(age.shape[1])
            row = age.flatten().clamp(max=last)
            now = {key: rows[row, runs] if rows.dim() > 1 else rows[row] for key, rows in by_step.items()}
            self.update(
                {name: parameters[name].flatten(0, 1)},
                {name: gradients[name].flatten(0, 1)},
                {kind: {name: values[name].flatten(0, 1)} for kind, values in moments.items()},
                {key: value.repeat_interleave(slices) for key, value in settings.items()},
                now,
            )

    def update_linear(
        self,
        layer_inputs: Tensors,
        deltas: Tensors,
        parameters: Tensors,
        moments: Moments,
        settings: Tensors,
        now: Tensors,
    ) -> None:
        """The same step of some linear layers, by the `kernel` for the device, which computes their gradients itself.

        layer_inputs: layer → (K, B, I); deltas: layer → (K, B, O), the gradient by the layer's output.
        """
        assert self.kernel is not None
        numbers = self.kernel_numbers(settings, now)
        for layer, x in layer_inputs.items():
            values = (parameters, *(moments[kind] for kind in self.moments))
            step_of(self.kernel, x)(
                x,
                deltas[layer],
                numbers,
                *(value[f"{layer}.{part}"] for value in values for part in ("weight", "bias")),
            )

    def kernel_numbers(self, settings: Tensors, now: Tensors) -> Tensor:
        """The numbers of each run that the kernel takes, (K, N) float32, as its source lists them (kernels/*.cpp)."""
        raise NotImplementedError


class WithFusedStep(Optimizer):
    """An optimizer with several forms of its step: tensor operations for whole packs, PyTorch's fused CPU kernels, and
    `kernel_of_tensors`, with the bits of the first form.

    In eager mode a fused kernel is two to ten times as fast, since each tensor operation is another pass over memory.
    It is called once for each run: so the elements that its vector loop leaves to the scalar tail do not depend on the
    other runs of the pack. Compiled steps, and steps on a GPU, are composed of operations. In graphs that call our
    kernels one operator replaces them, since torch's compiler needs time for each operation of each parameter.
    """

    def update(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """One step in place, in the form that fits the device."""
        if settings["lr"].device.type == "cpu" and not torch.compiler.is_compiling():
            update = self.run_by_run
        elif operators.serve(settings["lr"]) and self.kernel_of_tensors is not None:
            update = self.by_kernel
        else:
            update = self.composed
        update(parameters, gradients, moments, settings, now)

    def composed(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step as tensor operations over whole packs."""
        raise NotImplementedError

    def run_by_run(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step by PyTorch's fused kernel, one run after the other."""
        raise NotImplementedError

    def by_kernel(
        self, parameters: Tensors, gradients: Tensors, moments: Moments, settings: Tensors, now: Tensors
    ) -> None:
        """The step by `kernel_of_tensors`, all parameters in one call. Parameters and moments are in one piece."""
        assert self.kernel_of_tensors is not None
        changed = [
            [values[name] for name in parameters] for values in (parameters, *(moments[kind] for kind in self.moments))
        ]
        getattr(torch.ops.plasticity_lab, self.kernel_of_tensors)(
            self.kernel_numbers(settings, now), [gradients[name].contiguous() for name in parameters], *changed
        )


def run_slices(parameters: Tensors, gradients: Tensors, *moments: Tensors) -> Iterator[tuple[tuple[Tensor, ...], ...]]:
    """For each run its slices of all parameters, all gradients and all moments.

    Gradients are made contiguous: the fused kernels ignore strides.
    """
    dense = {name: gradients[name].contiguous() for name in parameters}
    groups = (parameters, dense, *moments)
    return zip(*(zip(*(group[name].unbind() for name in parameters), strict=True) for group in groups), strict=True)


def run_settings(settings: Tensors, *names: str) -> Iterator[tuple[float, ...]]:
    """For each run its settings of these names."""
    return zip(*(settings[name].tolist() for name in names), strict=True)


def for_kernel(*numbers: Tensor) -> Tensor:
    """Numbers of each run, (K,) each → (K, N) float32.

    When compiled, our kernel makes the table if the graph calls kernels. Otherwise a choice by position is one loop;
    torch.stack would be a loop and a view for each number.
    """
    if operators.serve(numbers[0]):
        return torch.ops.plasticity_lab.table(numbers)
    position, table = torch.arange(len(numbers), device=numbers[0].device), numbers[-1].float().unsqueeze(1)
    for at, values in enumerate(numbers[:-1]):
        table = torch.where(position == at, values.float().unsqueeze(1), table)
    return table


def clipped(gradients: Tensors, limit_K: Tensor) -> dict[str, Tensor]:
    """The gradients, name → (K, ...), scaled for each run by min(1, limit / (norm + 1e-6)).

    The norm is the Euclidean norm over all gradients of the run. If it is not finite in float32, all of them become
    nan, so that a diverging run is detected. A limit of infinity clips nothing.
    Source: Pascanu et al. 2013; the 1e-6 is from torch.nn.utils.clip_grad_norm_.
    """
    norm_K = norms(gradients)
    scale_K = (limit_K.to(torch.float32) / (norm_K + 1e-6)).clamp(max=1.0)
    scale_K = torch.where(norm_K < inf, scale_K, nan)
    return {name: gradient * beside(scale_K, gradient) for name, gradient in gradients.items()}


def norms(gradients: Tensors) -> Tensor:
    """The Euclidean norm of each run over all its gradients, (K,); its bits do not depend on the pack (`run_sums`).

    The sums of the tensors are added one after the other. Stacked into one tensor they would be copied, and torch 2.13
    cannot compile some updates with such a copy (a KeyError of inductor).
    """
    total: Any = sum(run_sums(gradient.square()) for gradient in gradients.values())
    return total.sqrt()
