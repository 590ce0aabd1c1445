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

BESIDE = ("parameters", "seconds")


@dataclass(frozen=True)
class Arm:
    """label, value: of the setting. cells: benchmark or game → its runs there, where it has some."""

    label: str
    value: object
    cells: Mapping[str, Cell]

    @property
    def n(self) -> int:
        """How many runs have a value."""
        return sum(cell.n for cell in self.cells.values())

    @property
    def expected(self) -> int:
        """How many there should be."""
        return sum(cell.expected for cell in self.cells.values())

    def beside(self, name: str) -> float | None:
        """The mean over all its runs of a number that every summary has."""
        found = [(of, cell.n) for cell in self.cells.values() if (of := cell.beside.get(name)) is not None]
        return float(np.average([of for of, _ in found], weights=[n for _, n in found])) if found else None


def matrix(columns: Sequence[Sequence[float]]) -> np.ndarray:
    """The values of each benchmark as columns (N, M), filled up with NaN where one has fewer runs."""
    rows = max(map(len, columns), default=0)
    found = np.full((rows, len(columns)), np.nan)
    for at, column in enumerate(columns):
        found[: len(column), at] = column
    return found


def measures(section: Section, name: str | None) -> dict[str, Measure]:
    """Benchmark or game → what is compared there: the summary value of that name, or what its agents name first.

    Raises ConfigError where agents of one benchmark name different ones first, and where no run has the value.
    """
    return {
        stratum: _measure(stratum, [row for rows in of.values() for row in rows], name)
        for stratum, of in section.strata.items()
    }


def _measure(stratum: str, rows: Sequence[Row], name: str | None) -> Measure:
    ended = [row for row in rows if row.status != "waiting"] or rows
    firsts = sorted({row.declared.headline for row in ended})
    if name is None and len(firsts) > 1:
        where = f" on {stratum}" if stratum else ""
        raise ConfigError(
            f"The arms{where} name different metrics first; choose one with --metric: {', '.join(firsts)}."
        )
    shown = metric(name or firsts[0], [row.declared for row in ended])
    if not any(shown.name in row.summary or shown.name in row.declared.summaries for row in ended):
        there = sorted({of for row in ended for of, value in row.summary.items() if isinstance(value, int | float)})
        raise ConfigError(f"No run's summary has '{shown.name}'; there are {', '.join(there)}.")
    if shown.undefined:
        raise ConfigError(f"'{shown.name}' is not defined for these runs: {shown.undefined}.")
    return shown


def arms_of(section: Section, shown: Mapping[str, Measure]) -> list[Arm]:
    """The arms of a section, in its order."""
    cells: dict[str, dict[str, Cell]] = {arm: {} for arm in section.arms}
    for stratum, of in section.strata.items():
        most = max(len({row.seeds for row in rows}) for rows in of.values())
        for arm, rows in of.items():
            cells[arm][stratum] = cell_of(rows, shown[stratum], BESIDE, most)
    return [Arm(arm, section.value_of[arm], cells[arm]) for arm in section.arms]
