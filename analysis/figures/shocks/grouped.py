"""The groups of activations by whose floor or sides Figures 2, 3 and D1 show shocks, printed or derived."""

from collections.abc import Mapping, Sequence

from analysis.derived.derived import Shape, shapes
from analysis.figures.shocks.shocked import ShockedRun
from analysis.reported.reported import lines

PRINTED, DERIVED = "as the captions group them", "as derived of φ′"
ORDER = {
    "floor": ("zero", "effective non-zero", "non-zero"),
    "side": ("two-sided", "one-sided (smooth)", "one-sided (kink)"),
}


def printed() -> Mapping[str, Mapping[str, str]]:
    """What a figure goes by, a floor or a side → activation → its group."""
    found: dict[str, dict[str, str]] = {}
    for line in lines("shock_groups.csv"):
        found.setdefault(line["by"], {})[line["activation"]] = line["group"]
    return found


def shape_of(run: ShockedRun) -> Shape | None:
    """What is derived of the run's activation at its settings; None where nothing is."""
    for shape in shapes():
        if shape.activation == run.row.activation and all(
            run.row.own.get(f"activation.{name}", value) == value for name, value in shape.settings.items()
        ):
            return shape
    return None


def group_of(run: ShockedRun, by: str, how: str) -> str | None:
    """The group of a run's activation; None where it is in none."""
    if how == PRINTED:
        return printed()[by].get(run.row.activation)
    shape = shape_of(run)
    return None if shape is None else {"floor": shape.floor_kind, "side": shape.side}[by]


def in_groups(runs: Sequence[ShockedRun], by: str, how: str) -> dict[str, list[ShockedRun]]:
    """Group → its runs, in the order of ORDER; groups without a run are left out."""
    found: dict[str, list[ShockedRun]] = {group: [] for group in ORDER[by]}
    for run in runs:
        if (group := group_of(run, by, how)) is not None:
            found[group].append(run)
    return {group: of for group, of in found.items() if of}
