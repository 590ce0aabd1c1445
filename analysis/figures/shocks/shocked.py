"""The shocks that a store's runs were given: read off their metrics, each beside its run's activation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.figures.asked import Asked
from analysis.figures.groups import Group, groups
from analysis.rows import Row
from analysis.tables.declared.headline import HEADLINE
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.shocks import ACCURACY, FACTOR, SATURATED, Shock, shocks_in, summary_of


@dataclass(frozen=True)
class ShockedRun:
    """A finished run and its shocks."""

    row: Row
    shocks: Sequence[Shock]

    @property
    def factors(self) -> list[float]:
        """γ of those that are measured, each once, from the least."""
        return sorted({shock.factor for shock in self.shocks if shock.whole})

    def at(self, factor: float | None) -> "ShockedRun":
        """With the shocks of one factor alone; None: with all."""
        return self if factor is None else replace(self, shocks=[each for each in self.shocks if each.factor == factor])

    def value(self, metric: str) -> float | None:
        """A summary of its shocks, by its name in `records.shocks.SUMMARIES`; None where none is measured."""
        return summary_of(self.shocks)[metric]


@dataclass(frozen=True)
class ShockedGroup:
    """The runs of one column of a table: they share all but the activation, its own settings and the seed."""

    group: Group
    runs: Sequence[ShockedRun]

    @property
    def said(self) -> str:
        """How many shocks were given, and how many of them measured."""
        given = [shock for run in self.runs for shock in run.shocks]
        whole = sum(shock.whole for shock in given)
        lost = "; the window of the others leaves their task" if whole < len(given) else ""
        raised = sum(shock.rises for shock in given if shock.whole)
        return (
            f"{self.group.title}: {len(given)} shocks of {len(self.runs)} runs, {whole} of them measured{lost}; "
            f"{raised} raise what is saturated."
        )


def shocked(asked: Asked) -> list[ShockedGroup]:
    """The groups of runs with shocks that are measured.  Raises ConfigError where there is none."""
    rows = _together([row for row in asked.rows if row.study.get("perturbation.name") == "shocks"])
    row_of = {row.run: row for row in rows}
    found = []
    for group in groups(HEADLINE, rows):
        done = [run for _, cell in group.cells for run in cell.done]
        runs = [run for run in _read(asked, [row_of[run] for run in done])] if done else []
        if any(shock.whole for run in runs for shock in run.shocks):
            found.append(ShockedGroup(group, runs))
    if not found:
        raise ConfigError(_nothing(rows))
    return found


def values_of(runs: Iterable[ShockedRun], metric: str) -> list[float]:
    """A summary of the shocks of each run; runs in which none is measured are left out."""
    return [value for run in runs if (value := run.value(metric)) is not None]


def _together(rows: Sequence[Row]) -> list[Row]:
    """The rows, with one word for their hyperparameters where each activation has one choice of them alone.

    An activation that is not in Table B2 has no `best`, and is to be seen beside those that have one.
    """
    chosen: dict[str, set[str]] = {}
    for row in rows:
        chosen.setdefault(row.activation, set()).add(row.hyperparams)
    if any(len(choices) > 1 for choices in chosen.values()):
        return [*rows]
    words = " and ".join(sorted({row.hyperparams for row in rows}))
    return [replace(row, hyperparams=words) for row in rows]


def _read(asked: Asked, rows: Sequence[Row]) -> Iterable[ShockedRun]:
    import polars as pl  # half a second, which those who ask for another figure need not wait for

    names = ["run", "task", "epoch", FACTOR, SATURATED, ACCURACY]
    read = asked.metrics([row.run for row in rows])
    if FACTOR not in read.collect_schema():
        return
    epochs = read.filter(pl.col("kind") == "epoch").select(names).sort("run", "epoch").collect()
    by_run = {str(run): each.to_dicts() for (run,), each in epochs.group_by("run", maintain_order=True)}
    for row in rows:
        if row.run in by_run:
            yield ShockedRun(row, shocks_in(by_run[row.run], int(row.study["perturbation.cycle"])))


def _nothing(rows: Sequence[Row]) -> str:
    if not rows:
        return "No run was given shocks; perturbation=shocks gives them."
    done = sum(row.status == "done" for row in rows)
    return (
        f"No shock is measured: of {len(rows)} runs with perturbation=shocks {done} are finished, and a shock is "
        "measured over the epochs of its task that follow, one fewer than perturbation.cycle."
    )
