"""What a diagnostic is: it looks at a pack while it learns, and leaves columns; no number of the runs depends on it.

Legend: K runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from torch import Tensor

from plasticity_lab.component import Component, check
from plasticity_lab.diagnostics.view import OBSERVED, View
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column, Kind, Measure, Taken

OF_EPOCHS: Mapping[Kind, Taken] = {"epoch": "value", "task": "last"}
OF_TASKS: Mapping[Kind, Taken] = {"task": "value"}
TASK, EPOCH = "task", "epoch"
"""Words for `every`: at the ends of tasks alone, and with each epoch."""


class Diagnostic(Component):
    """Two verbs, `start` and `look`, and the columns that it leaves. It changes nothing but its own state.

    Its settings are structure: all runs of a pack are looked at alike. Values are of each run alone, whatever the pack:
    count in whole numbers, or take sums and means run by run (`torch.stack([f(own) for own in values.unbind()])`).
    """

    requires: ClassVar[frozenset[str]] = frozenset({OBSERVED})
    """What the agent must provide (`Agent.provides`): else the two are refused together."""

    passes: float = 1.0
    """About what a look takes beside the forward pass that all share, in such passes; plans price it by that."""

    every: int | str = 1
    """It looks each time this many epochs have ended, counted through the run; of an agent without epochs (PPO: a
    rollout and its updates are one), this many of what its rows of the kind `epoch` are. TASK: when tasks end alone."""

    @classmethod
    def composed(cls, members: Mapping[str, Component]) -> "Several":
        """Several at once: each looks by itself."""
        return Several(members)

    def columns(self, units: Sequence[Unit]) -> Sequence[Column]:
        """What it measures: `of_epochs` and `of_tasks` make such columns.  units: of the network."""
        raise NotImplementedError

    def applies_to(self, model: Model) -> bool:
        """Whether the network has what it measures; else it is left out, and so are its columns.

        Raises ConfigError for a setting that names nothing of the network.
        """
        return True

    def due(self, epoch: int | None) -> bool:
        """Whether it looks when that epoch has ended; None: when a task has."""
        return epoch is None or (isinstance(self.every, int) and (epoch + 1) % self.every == 0)

    def looks(self, epochs: int, tasks: int) -> int:
        """How often it looks at a run with so many epochs and tasks; where it looks at epochs, tasks repeat those."""
        return epochs // self.every if isinstance(self.every, int) else tasks

    def column(self, name: str, title: str, unit: str = "", **more: Any) -> Column:
        """A column that is looked at as `every` says: of epochs, or of tasks alone."""
        return (of_tasks if self.every == TASK else of_epochs)(name, title, unit, **more)

    def start(self, view: View) -> dict[str, Tensor]:
        """Its state before the first update, tensors (K, ...) by name, whose shapes never change."""
        return {}

    def look(self, view: View) -> Mapping[str, Tensor]:
        """Values of its columns, name → (K,); a column that is left out is empty in this row.

        It may write into `view.state` in place, and into nothing else.
        """
        raise NotImplementedError


class Several(Diagnostic):
    """Diagnostics that were chosen together, by the names of their options."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.members: Mapping[str, Diagnostic] = members


def interval(every: int | str) -> int | str:
    """A setting `every` as `Diagnostic.every` has it: TASK, or a number of epochs; EPOCH is 1.  Raises ConfigError."""
    if every == EPOCH:
        return 1
    if every == TASK:
        return TASK
    if isinstance(every, str):
        raise ConfigError(
            f"diagnostics.every is {every}; it must be {TASK}, {EPOCH}, or a number of epochs, at least 1."
        )
    return check("diagnostics.every", every, at_least=1)


def of_epochs(name: str, title: str, unit: str = "", **more: Any) -> Column:
    """A column that is looked at when an epoch ends; a task's row repeats that of its last epoch.

    more: as `Measure` has them: scale, places, better, short.
    """
    return Column(Measure(name, title, unit, **more), name, OF_EPOCHS)


def of_tasks(name: str, title: str, unit: str = "", **more: Any) -> Column:
    """A column that is looked at when a task ends."""
    return Column(Measure(name, title, unit, **more), name, OF_TASKS)


def columns_of(diagnostics: Mapping[str, Diagnostic], units: Sequence[Unit]) -> list[Column]:
    """Those of all, as a journal takes them: made of rows called `<diagnostic>.<column>`.

    Raises ConfigError for a column of another sort, and for one that two of them have.
    """
    found: dict[str, Column] = {}
    for name, diagnostic in diagnostics.items():
        for column in diagnostic.columns(units):
            if dict(column.taken) not in (OF_EPOCHS, OF_TASKS):
                raise ConfigError(
                    f"diagnostics={name}: its column {column.name} is taken as {dict(column.taken)}; it must be one of "
                    "epochs or of tasks, as of_epochs and of_tasks make them."
                )
            if column.name in found:
                first = found[column.name].of.partition(".")[0]
                raise ConfigError(f"diagnostics={name}: its column {column.name} is one of diagnostics={first} too.")
            found[column.name] = replace(column, of=f"{name}.{column.name}")
    return list(found.values())


def check_columns(columns: Iterable[Column], others: Iterable[str]) -> None:
    """Raises ConfigError where a diagnostic's column has the name of one that the runs have without it."""
    taken = set(others)
    for column in columns:
        if column.name in taken:
            diagnostic = column.of.partition(".")[0]
            raise ConfigError(
                f"diagnostics={diagnostic}: the runs have a column {column.name} already; give its own another name."
            )
