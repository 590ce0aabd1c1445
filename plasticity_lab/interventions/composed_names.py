"""Names of states and columns if several interventions work at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from plasticity_lab.records.measures import Column

Columns = Mapping[str, Sequence[Column]]
"""The columns of each intervention, by the name of its option."""


def named(column: Column, member: str, columns: Columns) -> Column:
    """A member's column as it is called together with the columns of the other members."""
    name = column_names(columns, member)[column.name]
    if name == column.name:
        return column
    return replace(
        column, of=name, measure=replace(column.measure, name=name, title=f"{column.measure.title} ({member})")
    )


def of_member(values: Mapping[str, Tensor], member: str) -> dict[str, Tensor]:
    """The values of a member, without its prefix."""
    return {name.removeprefix(f"{member}."): of for name, of in values.items() if name.startswith(f"{member}.")}


def column_names(columns: Columns, member: str) -> dict[str, str]:
    """The names of a member's columns → their names together with the columns of the other members."""
    others = {column.name for name, each in columns.items() if name != member for column in each}
    names = [column.name for column in columns[member]]
    return {name: f"{member}_{name}" if name in others else name for name in names}
