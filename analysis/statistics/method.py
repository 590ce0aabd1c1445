"""The method behind each kind of interval, as data, and the measured coverage of such intervals.

A table's .json stores the methods, so re-rendering an old table reproduces its intervals. Keep the old method when you
change one: add the new method and name it in `TODAY`.

The committed simulation in analysis/measured/coverage/ has a file for each kind of number;
`python -m analysis coverage` writes them.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from analysis.statistics.bootstrap import REPLICATES


@dataclass(frozen=True)
class Method:
    """level: the nominal coverage of its intervals. replicates, seed: set for a bootstrap, otherwise None."""

    name: str
    level: float = 0.95
    replicates: int | None = None
    seed: int | None = None

    @property
    def words(self) -> str:
        """The words in a caption, as in "95 % interval (Student's t)"."""
        drawn = [] if self.replicates is None else [f"{self.replicates:,} replicates", f"seed {self.seed}"]
        return f"{100 * self.level:g} % interval ({', '.join([self.name, *drawn])})"

    @property
    def draws(self) -> dict[str, Any]:
        """The arguments of `bootstrap`."""
        return {"replicates": self.replicates, "level": self.level, "seed": self.seed}

    def as_json(self) -> dict[str, Any]:
        """As a table's .json stores it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


PERCENTILE = Method("stratified percentile bootstrap", replicates=REPLICATES, seed=0)
"""The papers' method: `bootstrap`."""
STUDENT = Method("Student's t")
"""For means: `interval`."""
_CUT = "winsorised "
WINSORISED = f"{_CUT}Student's t"
"""The name of `STUDENT` if runs are cut off, as for an interquartile mean."""
WHOLE_RUNS = ", whole runs"
"""Appended to the name if a run that was trained on several tasks counts as one draw."""
LOGIT = " on the logit scale"
"""Appended to the name if Student's t left the range of the values, such as 0 to 100 %: `interval(within=...)`."""
HYBRID = ", hybrid of both arms'"
"""Appended to the name if the interval of a difference is made of the arms' intervals, one on the logit scale."""
BOUNDS_ANEW = Method("Student's t, bounds resampled", replicates=10_000, seed=0)
"""For scores that take their bounds from percentiles of the same runs: `plasticity_score.spread`."""
GAP = STUDENT
"""For a mean change of the generalization gap: `summaries.half_width`."""
EFFECT = Method("noncentral t")
"""For Hedges' g: `hedges`."""
Methods = Mapping[str, Method]
"""Number → the method of its intervals."""
AT_FIRST: Methods = {"score": PERCENTILE, "gap": GAP, "effect": EFFECT}
"""The methods of old tables; their .json does not name them."""
TODAY: Methods = {**AT_FIRST, "score": BOUNDS_ANEW, "published": PERCENTILE}
"""published: the paper's intervals for the same scores, if our method differs."""


def methods_in(said: Mapping[str, Mapping[str, Any]]) -> Methods:
    """The methods that a .json names.  Raises ValueError for one that this version does not know, TypeError."""
    found = {of: Method(**one) for of, one in said.items()}
    for of, method in found.items():
        known = [methods[of].name for methods in (AT_FIRST, TODAY) if of in methods]
        if method.name not in known:
            raise ValueError(f"its {of} has intervals by '{method.name}', which this version cannot make")
    return {**AT_FIRST, **found}


def shared(kept: Iterable[Methods | None]) -> Methods:
    """The methods of all runs of a table that was read from one .json; today's if they differ, or some have none."""
    first, *others = [*kept] or [None]
    return first if first is not None and all(other == first for other in others) else TODAY


# The measured coverage, for captions.

FOLDER = Path(__file__).parents[1] / "measured" / "coverage"
LEVEL = 0.95
"""The level of the simulated intervals."""
MANY = 10
"""From this many seeds on, a caption does not mention coverage."""


def family(method: str) -> str:
    """The method's name in the coverage files; it is the same whether runs are cut off or not."""
    return method.removeprefix(_CUT)


def coverage(
    of: str, method: str, seeds: int, tasks: int, distribution: str = "normal"
) -> tuple[float, int, int] | None:
    """The part of nominal 95 % intervals that contained the true value, and the measured numbers of seeds and tasks.

    of: as in `interval`, or "difference of means", "difference of iqms", "improvement", "score". The result is for the
    greatest measured size that is not greater than the given one. None if no such size was measured.
    """
    found = _measured(of).get((family(method), distribution), {})
    sizes = [size for size in found if size[0] <= seeds and size[1] <= tasks]
    return (found[max(sizes)], *max(sizes)) if sizes else None


def with_coverage(method: Method, of: str, seeds: int, tasks: int) -> str:
    """A method in a caption, below ten seeds with its coverage: "95 % interval (Student's t; covers 95.1 % for …)"."""
    found = coverage(of, method.name, seeds, tasks) if method.level == LEVEL and seeds < MANY else None
    if found is None:
        return method.words
    part, seeds, tasks = found
    covers = f"covers {100 * part:.1f} % for normal runs at {seeds} seeds × {tasks} task{'s' * (tasks > 1)}"
    return f"{method.words[:-1]}; {covers})"


def file_of(of: str) -> str:
    """The name of the file, without its ending."""
    return of.replace(" ", "_")


@cache
def _measured(of: str) -> Mapping[tuple[str, str], Mapping[tuple[int, int], float]]:
    """(method, distribution) → (seeds, tasks) → coverage; empty if nothing was measured."""
    found: dict[tuple[str, str], dict[tuple[int, int], float]] = {}
    path = FOLDER / f"{file_of(of)}.csv"
    if not path.exists():
        return found
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["coverage"]:
                key = line["method"], line["distribution"]
                found.setdefault(key, {})[int(line["seeds"]), int(line["tasks"])] = float(line["coverage"])
    return found
