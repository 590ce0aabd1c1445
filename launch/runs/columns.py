"""Whether the columns that a run's diagnostics leave have names of their own, before anything is trained."""

from collections.abc import Mapping

from launch.runs.answers import answer
from launch.runs.desk import Part
from launch.runs.groups import COMPONENTS
from plasticity_lab import component
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.targets import measures_of
from plasticity_lab.run import group_of

GROUP = "diagnostics"


def check_columns(parts: Mapping[str, Part]) -> None:
    """Raises ConfigError for a column that two diagnostics have, or that the runs have without them.

    parts: of a run, by address. Columns of single layers are not known yet; they are asked for without any.
    """
    chosen = {at: part for at, part in parts.items() if group_of(at) == GROUP}
    chosen = {at: part for at, part in chosen.items() if part.science["name"] != COMPONENTS[GROUP].neutral}
    if not chosen:
        return

    def ask() -> bool:
        _check(chosen, parts)
        return True

    answer("columns", [part.target for part in parts.values()], {at: part.science for at, part in parts.items()}, ask)


def _check(chosen: Mapping[str, Part], parts: Mapping[str, Part]) -> None:
    """Raises as `check_columns`.  chosen: the diagnostics among the parts."""
    from plasticity_lab.diagnostics import diagnostic  # torch

    built = {}
    for part in chosen.values():
        settings = {key: value for key, value in part.science.items() if key != "name"}
        name = part.science["name"]
        built[name] = component.build(GROUP, name, part.target, settings)
        try:
            built[name].columns([])
        except Exception as error:  # somebody's own code can raise anything
            raise ConfigError(
                f"diagnostics={name}: its 'columns' fails where it is given no units "
                f"({type(error).__name__}: {error}); "
                "before the network is known it must return the columns of the whole network."
            ) from error
    targets = {at: part.target for at, part in parts.items() if at not in chosen}
    known = measures_of(targets, {at: part.science for at, part in parts.items()})
    diagnostic.check_columns(diagnostic.columns_of(built, []), [column.name for column in known.columns])
