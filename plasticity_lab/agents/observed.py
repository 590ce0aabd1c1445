"""A learner that diagnostics measure: it learns the same as without them, and its rows include their columns.

Legend: K runs.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.agent import Learner, State
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.diagnostics.view import Tensors, View
from plasticity_lab.errors import OwnClassError
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.measures import Column, Kind
from plasticity_lab.records.rows import Chunk, Evaluation, Rows, Task

Values = dict[str, NDArray[np.float64]]
STATE = "diagnostics"
"""Key of the diagnostics' part of a checkpoint: name → their state."""


class Observed:
    """A learner with diagnostics, which measure it at the ends of epochs and tasks.

    diagnostics: name → diagnostic.
    columns: their columns, as returned by `columns_of`.
    runs: K.
    task: the current task.
    """

    task: Task

    def __init__(
        self, learner: Learner, diagnostics: Mapping[str, Diagnostic], columns: Sequence[Column], runs: int
    ) -> None:
        self.learner, self.diagnostics, self.columns, self.runs = learner, diagnostics, columns, runs
        self.size, self.facts = learner.size, learner.facts
        self.states: dict[str, dict[str, Tensor]] = {}

    @property
    def network(self) -> PackedNetwork:
        """The learner's network."""
        return self.learner.network

    def begin(self, task: Task, fresh: bool) -> None:
        """Begins the task. Before the first update, all diagnostics start."""
        self.learner.begin(task, fresh)
        self.task = task
        for name, diagnostic in self.diagnostics.items():
            if name not in self.states:
                view = replace(self.learner.view(task), task=task.position)
                self.states[name] = dict(self._unchanged(name, view, diagnostic.start))

    def advance(self, chunk: Chunk) -> Rows:
        """The learner's rows. At the end of an epoch they include the diagnostics' values; NaN for a diagnostic that is
        not due. The values of a perturbed epoch are measured under its factor, and for the task's row also without.
        """
        rows = self.learner.advance(chunk)
        if not chunk.ends_epoch:
            return rows
        view = self._view("epoch", self.task, chunk.epoch)
        of_task: Values = {}
        if view is not None and view.factor is not None:
            states = {name: {of: value.clone() for of, value in state.items()} for name, state in self.states.items()}
            of_task = self._looked("epoch", _unperturbed(view), states)
        values = self._looked("epoch", view, self.states)
        return replace(rows, values={**rows.values, **values}, of_task=of_task)

    def evaluate(self, task: Task) -> Evaluation:
        """The learner's evaluation, and the diagnostics' values at the end of a task, without a perturbation."""
        view = self._view("task", task, None)
        values = self._looked("task", None if view is None else _unperturbed(view), self.states)
        return {**self.learner.evaluate(task), **values}

    def end(self, task: Task) -> None:
        """Ends the learner's task."""
        self.learner.end(task)

    def state(self) -> State:
        """The state of the learner and of the diagnostics."""
        return {**self.learner.state(), STATE: {name: dict(state) for name, state in self.states.items()}}

    def bulk(self) -> Bulk:
        """The learner's bulk data."""
        return self.learner.bulk()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state without modifying it."""
        self.learner.load({name: value for name, value in state.items() if name != STATE}, bulk)
        self.states = {
            diagnostic: {name: value.clone() for name, value in values.items()}
            for diagnostic, values in state.get(STATE, {}).items()
        }

    def weights(self) -> dict[str, Tensor]:
        """The learner's weights."""
        return self.learner.weights()

    def view(self, task: Task) -> View:
        """The learner's view."""
        return self.learner.view(task)

    def _view(self, kind: Kind, task: Task, epoch: int | None) -> View | None:
        """The view at the end of an epoch or a task (epoch None); None if no diagnostic measures then."""
        measuring = {column.of.partition(".")[0] for column in self.columns if column.taken.get(kind) == "value"}
        if not any(self.diagnostics[name].due(epoch) for name in measuring):
            return None
        return replace(self.learner.view(task), task=task.position, epoch=epoch)

    def _looked(self, kind: Kind, view: View | None, states: Mapping[str, Mapping[str, Tensor]]) -> Values:
        """The values of all diagnostics at the end of an epoch or a task, by row name, (K,) each.

        NaN for a diagnostic that does not measure now, and without a probe: an agent with a replay memory may have none
        before it learns. states: the diagnostics' states, which they may change.
        """
        found: Values = {}
        for name, diagnostic in self.diagnostics.items():
            own = [column for column in self.columns if column.of == f"{name}.{column.name}"]
            rows = {column.of: np.full(self.runs, np.nan) for column in own if column.taken.get(kind) == "value"}
            if view is not None and view.probe and rows and diagnostic.due(view.epoch):
                values = self._unchanged(name, replace(view, state=states[name]), diagnostic.look)
                self._check(name, values, {column.name for column in own})
                finite = view.if_finite(values)
                seen = {f"{name}.{column}": value.cpu().numpy() for column, value in finite.items()}
                rows |= {of: value for of, value in seen.items() if of in rows}
            found |= rows
        return found

    def _unchanged(self, name: str, view: View, verb: Callable[[View], Tensors]) -> Any:
        """Calls `verb`, a method of a diagnostic. Raises OwnClassError if it has written into its inputs."""
        shown = {**view.parameters, **{f"setting {name}": value for name, value in view.settings["activation"].items()}}
        shown |= {f"probe's {name}": value for name, value in view.probe.items()}
        passed = view.forward() if view.probe else None
        for what, values in {} if passed is None else passed._asdict().items():
            shown |= {f"{what} {name}": value for name, value in values.items()}
        before = {what: value._version for what, value in shown.items()}  # torch counts in-place writes
        returned = verb(view)
        if changed := [what for what, value in shown.items() if value._version != before[what]]:
            raise OwnClassError(
                f"diagnostics={name} has written into {', '.join(changed)}; a diagnostic leaves the run as it is, and "
                "writes into view.state alone."
            )
        return returned

    def _check(self, name: str, values: Any, known: Collection[str]) -> None:
        """Raises OwnClassError unless `values` maps columns to tensors with one number per run."""
        if not isinstance(values, Mapping) or values.keys() - known:
            found = sorted(values) if isinstance(values, Mapping) else values
            raise OwnClassError(
                f"diagnostics={name}: 'look' returns {found}, and its columns are {', '.join(sorted(known))}."
            )
        for column, value in values.items():
            if not isinstance(value, Tensor) or value.shape != (self.runs,):
                found = tuple(value.shape) if isinstance(value, Tensor) else value
                raise OwnClassError(
                    f"diagnostics={name}: 'look' returns {found} for {column}; a tensor with a number for each of "
                    f"{self.runs} runs was due."
                )


def _unperturbed(view: View) -> View:
    """The view without the factor of the last epoch, and without the results that were computed under it."""
    return view if view.factor is None else replace(view, factor=None, found={})
