"""An arm of a comparison: the runs of one value of the setting, on each benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.compare.sections import Section
from analysis.names import metric
from analysis.rows import Row
from analysis.tables.build import cell_of
from analysis.tables.result import Cell
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Measure

COSTS = ("parameters", "seconds")
"""Numbers in every summary."""


@dataclass(frozen=True)
class Arm:
    """label, value: the setting's. cells: benchmark or game → the arm's runs there; only tasks with runs of this arm.
    costs: name → the mean over all runs of the arm.
    """

    label: str
    value: object
    cells: Mapping[str, Cell]
    costs: Mapping[str, float | None]

    @property
    def n(self) -> int:
        """The number of runs with a value."""
        return sum(cell.n for cell in self.cells.values())

    @property
    def expected(self) -> int:
        """The expected number of runs."""
        return sum(cell.expected for cell in self.cells.values())

    def values(self, task: str) -> Sequence[float]:
        """The values of its runs on a benchmark."""
        return self.cells[task].values if task in self.cells else ()


def arm_of(label: str, value: object, cells: Mapping[str, Cell]) -> Arm:
    """The arm of these cells, with its costs."""
    costs: dict[str, float | None] = {}
    for name in COSTS:
        known = [(mean, cell.n) for cell in cells.values() if (mean := cell.beside.get(name)) is not None]
        means, weights = [mean for mean, _ in known], [n for _, n in known]
        costs[name] = float(np.average(means, weights=weights)) if known else None
    return Arm(label, value, cells, costs)


def arms_of(section: Section, measures: Mapping[str, Measure]) -> list[Arm]:
    """The arms of a section, in its order.  measures: benchmark or game → the compared number."""
    cells: dict[str, dict[str, Cell]] = {arm: {} for arm in section.arms}
    for stratum, rows_of in section.strata.items():
        most = max(len({row.seeds for row in rows}) for rows in rows_of.values())
        for arm, rows in rows_of.items():
            cells[arm][stratum] = cell_of(rows, measures[stratum], COSTS, most)
    return [arm_of(arm, section.value_of[arm], cells[arm]) for arm in section.arms]


def measures_of(section: Section, name: str | None) -> dict[str, Measure]:
    """Benchmark or game → the compared number: the summary value `name`, or the agents' main metric if it is None.

    Raises ConfigError if agents of one benchmark have different main metrics, if no run has the value, or if the value
    is not defined for these runs.
    """
    return {
        stratum: _measure(stratum, [row for rows in rows_of.values() for row in rows], name)
        for stratum, rows_of in section.strata.items()
    }


def _measure(stratum: str, rows: Sequence[Row], name: str | None) -> Measure:
    ended = [row for row in rows if row.status != "waiting"] or rows
    firsts = sorted({row.declared.headline for row in ended})
    if name is None and len(firsts) > 1:
        where = f" on {stratum}" if stratum else ""
        raise ConfigError(
            f"The arms{where} name different metrics first; choose one with --metric: {', '.join(firsts)}."
        )
    measure = metric(name or firsts[0], [row.declared for row in ended])
    if not any(measure.name in row.summary or measure.name in row.declared.summaries for row in ended):
        known = sorted({key for row in ended for key, value in row.summary.items() if isinstance(value, int | float)})
        raise ConfigError(f"No run's summary has '{measure.name}'; there are {', '.join(known)}.")
    if measure.undefined:
        raise ConfigError(f"'{measure.name}' is not defined for these runs: {measure.undefined}.")
    return measure
