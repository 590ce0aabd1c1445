"""By what an interval is made, in data: a table's .json keeps it, so that an old table goes on saying how its own were.

Whoever changes a method adds the new one beside it and names it in `TODAY`; what was stored is made again by its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from analysis.statistics.bootstrap import REPLICATES


@dataclass(frozen=True)
class Method:
    """name: of the method. level: how often it should hold what it is of. replicates, seed: of a bootstrap."""

    name: str
    level: float = 0.95
    replicates: int | None = None
    seed: int | None = None

    @property
    def words(self) -> str:
        """As a caption says it: "95 % interval (Student's t)"."""
        drawn = [] if self.replicates is None else [f"{self.replicates:,} replicates", f"seed {self.seed}"]
        return f"{100 * self.level:g} % interval ({', '.join([self.name, *drawn])})"

    def as_json(self) -> dict[str, Any]:
        """As a table's .json keeps it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


PERCENTILE = Method("stratified percentile bootstrap", replicates=REPLICATES, seed=0)
"""Of what the papers have intervals of: `bootstrap`."""
STUDENT = Method("Student's t")
"""`interval`: of means."""
WINSORISED = "winsorised Student's t"
"""What `STUDENT` is called where runs are cut off, as of an interquartile mean."""
WHOLE_RUNS = ", whole runs"
"""Behind its name where a run that met several tasks is one draw."""
BOUNDS_ANEW = Method("Student's t, bounds drawn anew", replicates=10_000, seed=0)
"""Of scores whose bounds are percentiles of the runs themselves: `bounded`."""
GAP = STUDENT
"""Of a mean change of the generalization gap: `half_width`."""
EFFECT = Method("noncentral t")
"""Of Hedges' g: `hedges`."""
Methods = Mapping[str, Method]
"""What an interval is of → by what it is made."""
AT_FIRST: Methods = {"score": PERCENTILE, "gap": GAP, "effect": EFFECT}
"""Of the tables whose .json does not say it."""
TODAY: Methods = {**AT_FIRST, "score": BOUNDS_ANEW, "published": PERCENTILE}
"""published: of the same scores as the paper makes it, where ours is made otherwise."""
KNOWN: Mapping[str, frozenset[str]] = {
    of: frozenset({AT_FIRST.get(of, method).name, method.name}) for of, method in TODAY.items()
}
"""The names of the methods that this version can make."""


def methods_in(said: Mapping[str, Mapping[str, Any]]) -> Methods:
    """The methods that a .json names.  Raises ValueError for one that this version does not know, TypeError."""
    found = {of: Method(**one) for of, one in said.items()}
    for of, method in found.items():
        if method.name not in KNOWN.get(of, ()):
            raise ValueError(f"its {of} has intervals by '{method.name}', which this version cannot make")
    return {**AT_FIRST, **found}


def shared(kept: Iterable[Methods | None]) -> Methods:
    """The methods that all runs of a table keep, having been read from the .json of one; today's where they differ, or
    some keep none.
    """
    first, *others = [*kept] or [None]
    return first if first is not None and all(other == first for other in others) else TODAY
