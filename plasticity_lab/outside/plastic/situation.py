"""The situation of a module as an intervention's methods see it (`Now`), and the way back of their changes.

Legend: the run axis has one run.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from plasticity_lab.errors import InputError
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.model import Model
from plasticity_lab.outside.plastic.model import OutsideModel
from plasticity_lab.outside.plastic.pieces import Copies
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.stacking.run_axis import on_run_axis

Optimizers = Mapping[int, torch.optim.Optimizer]
"""id of a parameter → the optimizer that trains it."""


class Situation:
    """Hands a module's parameters, gradients and moments to an intervention.

    updates: their number so far; tasks: the number of tasks that ended. state: the intervention's.
    """

    def __init__(self, intervention: Intervention, model: OutsideModel, optimizers: Optimizers, seed: int) -> None:
        self.intervention, self.model, self.optimizers, self.seed = intervention, model, optimizers, seed
        self.device = next(iter(model.layout.pieces.values())).value.device
        self.settings = on_run_axis([intervention], self.device)
        self.keys = run_keys([seed], "intervention", self.device)
        self.updates = self.tasks = 0
        self.state: State = {}

    def now(self, parameters: Mapping[str, Tensor], **more: Any) -> Now:
        """The situation with these parameters."""
        count = torch.tensor(self.updates, device=self.device)
        given = {"updates": self.updates, "seeds": [self.seed], "keys": self.keys, "count": count, **more}
        return Now(cast(Model, self.model), parameters, self.settings, self.state, **given)

    def begin(self, before_passes: bool) -> None:
        """The state before the first update.

        before_passes: whether no pass was made for the first update. Raises InputError for an intervention that then
        changes parameters.
        """
        parameters = self.copies(lambda value: value)
        self.state = dict(self.intervention.start(self.now(parameters, frozen=self._statistics())))
        if parameters.changed and not before_passes:
            raise InputError(
                "The intervention changes parameters before the first forward pass; give Plastic(..., example=inputs)."
            )
        parameters.write()

    def after_step(self, **more: Any) -> None:
        """The work after an optimizer's step."""
        if type(self.intervention).after_step is not Intervention.after_step:
            self._act(self.intervention.after_step, gradients=self.copies(self._gradient), **more)
        self.updates += 1

    def every_n_updates(self) -> None:
        """The rare work, if it is due."""
        if self.intervention.every is not None and self.updates % self.intervention.every == 0:
            self._act(self.intervention.every_n_updates)

    def task_ended(self, examples: Mapping[str, Any], coming: Mapping[str, Any]) -> None:
        """The work between two tasks.  examples, coming: fields of `Now`."""
        self._act(self.intervention.after_task, task=self.tasks, **examples)
        self.tasks += 1
        if self.intervention.restarts_agent:
            for piece in self.model.layout.pieces.values():
                self._of(piece.value).pop(piece.value, None)
            self.state = self.intervention.moments_begun(self.state)
        self._act(self.intervention.before_task, task=self.tasks, **coming)

    def copies(self, of: Callable[[Tensor], Tensor | None]) -> Copies:
        """Stacks of tensors that belong to the parameters."""
        layout = self.model.layout
        return Copies(layout.pieces, of, layout.zeros, layout.parts)

    def network(self) -> dict[str, Tensor]:
        """Copies of the parameters and the running statistics."""
        found = Copies(self.model.pieces, lambda value: value)
        return {name: found[name] for name in found}

    def tested(self) -> dict[str, Tensor]:
        """The parameters for tests."""
        return dict(self.intervention.tested(self.network(), self.state))

    def _act(self, method: Callable[[Now], State], **more: Any) -> None:
        """Calls a method of the intervention, keeps its state, and writes its changes back."""
        parameters = self.copies(lambda value: value)
        frozen = self._statistics()
        moments = {kind: self.copies(self._moment(kind)) for kind in self._kinds()}
        self.state = dict(method(self.now(parameters, moments=moments, frozen=frozen, **more)))
        for each in (parameters, frozen, *moments.values()):
            each.write()

    def _gradient(self, value: Tensor) -> Tensor | None:
        if value.grad is None:
            if all(piece.value.grad is None for piece in self.model.layout.pieces.values()):
                raise InputError(
                    "The intervention finds no gradients; call keep.step() before the next optimizer.zero_grad()."
                )
            return None
        return value.grad.to_dense() if value.grad.is_sparse else value.grad

    def _statistics(self) -> Copies:
        return Copies(self.model.layout.statistics, lambda value: value)

    def _of(self, value: Tensor) -> Any:
        return self.optimizers[id(value)].state

    def _moment(self, kind: str) -> Callable[[Tensor], Tensor | None]:
        return lambda value: self._of(value).get(value, {}).get(kind)

    def _kinds(self) -> Sequence[str]:
        """The optimizers' moments: tensors like a parameter in its state."""
        found = {
            kind
            for piece in self.model.layout.pieces.values()
            for kind, each in self._of(piece.value).get(piece.value, {}).items()
            if isinstance(each, Tensor) and kind != "step" and each.shape == piece.value.shape
        }
        return sorted(found)
