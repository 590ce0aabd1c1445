"""The closeness of the computed cells as numbers: shares within a distance, rank correlations, misses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.reproduction.cells import Compared

SDS = 2
LEVEL = 0.05
POINTS = (1, 3)


@dataclass(frozen=True)
class Share:
    """Of a table's cells over several seeds, or of one: how many were computed, and how many of them lie near.

    within_sds: within two pooled SDs; None of one seed. not_told_apart: those that Welch's test does not tell from the
    paper's (p ≥ 0.05); None of one seed. within: within one and within three points.
    """

    table: str
    several: bool
    computed: int
    within_sds: int | None
    within: tuple[int, ...]
    not_told_apart: int | None = None


@dataclass(frozen=True)
class Ranks:
    """Spearman's rank correlation of ours and the paper's over the n activations of a column."""

    table: str
    benchmark: str
    intervention: str
    n: int
    correlation: float


def shares(cells: Sequence[Compared]) -> list[Share]:
    """One share for each table and for several seeds or one, where there are such cells."""
    groups: dict[tuple[str, bool], list[Compared]] = {}
    for cell in cells:
        groups.setdefault((cell.table, cell.sd is not None), []).append(cell)
    return [share(table, several, group) for (table, several), group in groups.items()]


def share(table: str, several: bool, cells: Sequence[Compared]) -> Share:
    """The share of cells that are all over several seeds, or all of one."""
    return Share(
        table,
        several,
        len(cells),
        sum(map(within_sds, cells)) if several else None,
        tuple(sum(abs(cell.apart) <= points for cell in cells) for points in POINTS),
        sum(cell.p is not None and cell.p >= LEVEL for cell in cells) if several else None,
    )


def within_sds(cell: Compared) -> bool:
    """Whether a cell lies within two pooled SDs of the paper's; False of one seed."""
    return cell.pooled_sd is not None and abs(cell.apart) <= SDS * cell.pooled_sd


def ranks(cells: Sequence[Compared]) -> list[Ranks]:
    """One for each column of a table that has at least three computed cells, those of one seed included."""
    import scipy.stats

    columns: dict[tuple[str, str, str], list[Compared]] = {}
    for cell in cells:
        columns.setdefault((cell.table, cell.benchmark, cell.intervention), []).append(cell)
    found = []
    for names, column in sorted(columns.items()):
        if len(column) >= 3:
            ours, paper = [cell.mean for cell in column], [cell.paper.mean for cell in column]
            correlation: Any = scipy.stats.spearmanr(ours, paper)  # SciPy brings no types
            found.append(Ranks(*names, len(column), float(correlation.statistic)))
    return found


def misses(cells: Sequence[Compared]) -> list[Compared]:
    """The cells within neither two pooled SDs nor one point, the worst first."""
    missed = [cell for cell in cells if not within_sds(cell) and abs(cell.apart) > POINTS[0]]
    return sorted(missed, key=lambda cell: -abs(cell.apart))
