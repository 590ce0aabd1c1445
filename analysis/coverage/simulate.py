"""One size of the simulation: many data sets of made-up runs, and how many of their intervals hold the truth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from analysis.coverage.laws import LAWS
from analysis.coverage.methods import OF
from analysis.statistics.streams import keyed


@dataclass(frozen=True)
class Cell:
    """What is simulated at one size."""

    of: str
    distribution: str
    seeds: int
    tasks: int


@dataclass(frozen=True)
class Covered:
    """A method in a cell. looked_at: how many numbers had an interval, of datasets × the numbers of each. without: the
    part that had none. coverage: which part of the intervals holds the truth, NaN where there is none.
    """

    cell: Cell
    method: str
    datasets: int
    looked_at: int
    without: float
    coverage: float


@dataclass(frozen=True)
class Sizes:
    """datasets, few: how many data sets, of what is computed and of what is drawn. replicates: of a bootstrap. seed: of
    the runs.  Where a data set has several arms that are looked at, a quarter of `few` is made.
    """

    datasets: int
    few: int
    replicates: int
    seed: int


def simulated(cell: Cell, sizes: Sizes) -> list[Covered]:
    """The coverage of every method of a cell; all see the same runs, which are functions of the seed and the cell."""
    return [_one(cell, place, sizes) for place in range(len(OF[cell.of]))]


def _one(cell: Cell, place: int, sizes: Sizes) -> Covered:
    method = OF[cell.of][place]
    truth = _truth(cell, place)
    datasets = sizes.datasets if not method.drawn else -(-sizes.few // 4) if len(truth) > 1 else sizes.few
    held = missing = total = 0
    for at, arms in enumerate(_runs(cell, datasets, method.arms, sizes.seed)):
        shifts = np.linspace(0, method.apart, method.arms)[:, None, None]
        found = method.makes(arms + shifts, f"{sizes.seed} {at}", sizes.replicates)
        total += len(truth)
        missing += len(truth) - sum(each is not None for each in found)
        held += sum(each is not None and each[0] <= is_so <= each[1] for each, is_so in zip(found, truth, strict=True))
    looked_at = total - missing
    return Covered(cell, method.method, datasets, looked_at, missing / total, held / looked_at if looked_at else np.nan)


def _runs(cell: Cell, datasets: int, arms: int, seed: int) -> Iterator[np.ndarray]:
    """The data sets: (arms, N, M) each."""
    stream = keyed(seed, "coverage", cell.distribution, cell.seeds, cell.tasks, arms)
    for _ in range(datasets):
        yield LAWS[cell.distribution].draw(stream, (arms, cell.seeds, cell.tasks))


@cache
def _truth(cell: Cell, place: int) -> Sequence[float]:
    method = OF[cell.of][place]
    return method.truth(LAWS[cell.distribution].grid(), method.apart)
