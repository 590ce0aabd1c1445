"""The base class of all diagnostics. A diagnostic measures a pack while it learns, and never influences its runs.

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
    """The base class of a diagnostic: the methods `start` and `look`, and the columns that it records.

    It changes nothing except its own state. Its settings are structure: equal for all runs of a pack. The values of a
    run must not depend on the pack. So count in whole numbers, or take sums and means run by run (`torch.stack([f(own)
    for own in values.unbind()])`).
    """

    requires: ClassVar[frozenset[str]] = frozenset({OBSERVED})
    """The data that the agent must provide (`Agent.provides`). Other agents are refused together with this
    diagnostic."""

    passes: float = 1.0
    """The approximate cost of one measurement, in forward passes, without the forward pass that all diagnostics share.
    Plans use it."""

    every: int | str = 1
    """The number of epochs between measurements, counted through the run. For agents without epochs, the number of rows
    of the kind `epoch` (PPO: a rollout and its updates). TASK: measure only at the ends of tasks."""

    @classmethod
    def composed(cls, members: Mapping[str, Component]) -> "Several":
        """Several diagnostics at once; each measures separately."""
        return Several(members)

    def columns(self, units: Sequence[Unit]) -> Sequence[Column]:
        """The columns that it measures, made by `of_epochs` or `of_tasks`.  units: the units of the network."""
        raise NotImplementedError

    def applies_to(self, model: Model) -> bool:
        """Whether the network has the measured property. If not, the diagnostic and its columns are left out.

        Raises ConfigError if a setting names a part that the network does not have.
        """
        return True

    def due(self, epoch: int | None) -> bool:
        """Whether it measures after that epoch; None: after a task."""
        return epoch is None or (isinstance(self.every, int) and (epoch + 1) % self.every == 0)

    def looks(self, epochs: int, tasks: int) -> int:
        """The number of measurements in a run of that many epochs and tasks. If it measures epochs, a task repeats the
        last one.
        """
        return epochs // self.every if isinstance(self.every, int) else tasks

    def column(self, name: str, title: str, unit: str = "", **more: Any) -> Column:
        """A column that is measured as `every` says: with epochs, or only at the ends of tasks."""
        return (of_tasks if self.every == TASK else of_epochs)(name, title, unit, **more)

    def start(self, view: View) -> dict[str, Tensor]:
        """Its state before the first update: tensors (K, ...) by name, with constant shapes."""
        return {}

    def look(self, view: View) -> Mapping[str, Tensor]:
        """The values of its columns, name → (K,). A column that is left out is empty in this row.

        It may write into `view.state` in place, and into nothing else.
        """
        raise NotImplementedError


class Several(Diagnostic):
    """Diagnostics that were chosen together, by the names of their options."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.members: Mapping[str, Diagnostic] = members


def interval(every: int | str) -> int | str:
    """A setting `every` in the form of `Diagnostic.every`: TASK, or a number of epochs; EPOCH is 1.  Raises
    ConfigError.
    """
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
    """A column that is measured when an epoch ends; the row of a task repeats the value of its last epoch.

    more: fields of `Measure`: scale, places, better, short.
    """
    return Column(Measure(name, title, unit, **more), name, OF_EPOCHS)


def of_tasks(name: str, title: str, unit: str = "", **more: Any) -> Column:
    """A column that is measured when a task ends."""
    return Column(Measure(name, title, unit, **more), name, OF_TASKS)


def columns_of(diagnostics: Mapping[str, Diagnostic], units: Sequence[Unit]) -> list[Column]:
    """The columns of all diagnostics, in the form of a journal: each reads from rows named `<diagnostic>.<column>`.

    Raises ConfigError for a column of another sort, and if two diagnostics have a column of the same name.
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
    """Raises ConfigError if a diagnostic's column has the name of a column that the runs have already."""
    taken = set(others)
    for column in columns:
        if column.name in taken:
            diagnostic = column.of.partition(".")[0]
            raise ConfigError(
                f"diagnostics={diagnostic}: the runs have a column {column.name} already; give its own another name."
            )
