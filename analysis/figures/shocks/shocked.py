"""The shocks of a store's runs, read from their metrics, and the groups of activations that figures show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.derived.derived import Shape, shapes
from analysis.figures.drawing import Asked
from analysis.figures.groups import Group, groups
from analysis.reported.reported import lines
from analysis.rows import Row
from analysis.tables.declared.headline import HEADLINE
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.shocks import ACCURACY, FACTOR, SATURATED, Shock, shocks_in, summary_of

PRINTED, DERIVED = "as the captions group them", "as derived of φ′"
ORDER = {
    "floor": ("zero", "effective non-zero", "non-zero"),
    "side": ("two-sided", "one-sided (smooth)", "one-sided (kink)"),
}


@dataclass(frozen=True)
class ShockedRun:
    """A finished run and its shocks."""

    row: Row
    shocks: Sequence[Shock]

    @property
    def factors(self) -> list[float]:
        """The distinct factors γ of the measured shocks, sorted."""
        return sorted({shock.factor for shock in self.shocks if shock.whole})

    def at(self, factor: float | None) -> "ShockedRun":
        """The run with only the shocks of one factor; None: with all shocks."""
        return self if factor is None else replace(self, shocks=[each for each in self.shocks if each.factor == factor])

    @property
    def shape(self) -> Shape | None:
        """The derived properties of its activation at its settings; None if they were not derived."""
        for shape in shapes():
            if shape.activation == self.row.activation and all(
                self.row.own.get(f"activation.{name}", value) == value for name, value in shape.settings.items()
            ):
                return shape
        return None


@dataclass(frozen=True)
class ShockedGroup:
    """The runs of one column of a table: they share all but the activation, its settings and the seed."""

    group: Group
    runs: Sequence[ShockedRun]

    @property
    def said(self) -> str:
        """The numbers of applied and of measured shocks."""
        given = [shock for run in self.runs for shock in run.shocks]
        whole = sum(shock.whole for shock in given)
        lost = "; the window of the others leaves their task" if whole < len(given) else ""
        raised = sum(shock.rises for shock in given if shock.whole)
        return (
            f"{self.group.title}: {len(given)} shocks of {len(self.runs)} runs, {whole} of them measured{lost}; "
            f"{raised} raise saturation."
        )


def shocked(asked: Asked) -> list[ShockedGroup]:
    """The groups of runs with measured shocks.  Raises ConfigError if no shock is measured."""
    rows = _with_one_choice([row for row in asked.rows if row.study.get("perturbation.name") == "shocks"])
    found = []
    for group in groups(HEADLINE, rows):
        runs = _read(asked, group.runs) if group.runs else []
        if any(shock.whole for run in runs for shock in run.shocks):
            found.append(ShockedGroup(group, runs))
    if not rows:
        raise ConfigError("No run was given shocks; perturbation=shocks gives them.")
    if not found:
        done = sum(row.status == "done" for row in rows)
        raise ConfigError(
            f"No shock is measured: of {len(rows)} runs with perturbation=shocks {done} are finished, and a shock is "
            "measured over the epochs of its task that follow, one fewer than perturbation.cycle."
        )
    return found


def values_of(runs: Iterable[ShockedRun], metric: str) -> list[float]:
    """A summary of the shocks of each run, by its name in `records.shocks.SUMMARIES`; without runs that have none."""
    values = (summary_of(run.shocks)[metric] for run in runs)
    return [value for value in values if value is not None]


def in_groups(runs: Sequence[ShockedRun], by: str, how: str) -> dict[str, list[ShockedRun]]:
    """Group of floors or of sides → its runs, in the order of ORDER, without empty groups.  how: PRINTED or DERIVED."""
    printed = {line["activation"]: line["group"] for line in lines("shock_groups.csv") if line["by"] == by}
    found: dict[str, list[ShockedRun]] = {group: [] for group in ORDER[by]}
    for run in runs:
        group = printed.get(run.row.activation)
        if how == DERIVED:
            shape = run.shape
            group = None if shape is None else shape.floor_kind if by == "floor" else shape.side
        if group is not None:
            found[group].append(run)
    return {group: of for group, of in found.items() if of}


def _with_one_choice(rows: Sequence[Row]) -> list[Row]:
    """The rows with one word for their hyperparameters, if each activation has only one choice of them.

    An activation that is not in Table B2 has no `best`; it is shown next to activations that have it.
    """
    chosen: dict[str, set[str]] = {}
    for row in rows:
        chosen.setdefault(row.activation, set()).add(row.hyperparams)
    if any(len(choices) > 1 for choices in chosen.values()):
        return [*rows]
    words = " and ".join(sorted({row.hyperparams for row in rows}))
    return [replace(row, hyperparams=words) for row in rows]


def _read(asked: Asked, rows: Sequence[Row]) -> list[ShockedRun]:
    import polars as pl  # half a second to import; other figures do not need it

    names = ["run", "task", "epoch", FACTOR, SATURATED, ACCURACY]
    read = asked.metrics([row.run for row in rows])
    if FACTOR not in read.collect_schema():
        return []
    epochs = read.filter(pl.col("kind") == "epoch").select(names).sort("run", "epoch").collect()
    by_run = {str(run): each.to_dicts() for (run,), each in epochs.group_by("run", maintain_order=True)}
    return [
        ShockedRun(row, shocks_in(by_run[row.run], int(row.study["perturbation.cycle"])))
        for row in rows
        if row.run in by_run
    ]
