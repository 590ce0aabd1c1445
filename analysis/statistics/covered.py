"""How often an interval holds the truth: what the committed simulation measured, for captions.

Its results lie in analysis/measured/coverage/, a file for what intervals are of;
`python -m analysis coverage` made them.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from analysis.statistics.method import Method

FOLDER = Path(__file__).parents[1] / "measured" / "coverage"
LEVEL = 0.95
"""Of the intervals that were simulated."""
MANY = 10
"""From this many seeds on, a caption need not say it."""
_WINSORISED = "winsorised "


def family(method: str) -> str:
    """The name under which a method's coverage stands: that runs are cut off, where there are enough, is no other."""
    return method.removeprefix(_WINSORISED)


def coverage(
    of: str, method: str, seeds: int, tasks: int, distribution: str = "normal"
) -> tuple[float, int, int] | None:
    """The part of nominal 95 % intervals that held the truth, with the seeds and tasks that it was measured for.

    of: as `interval` has it, or "difference of means", "difference of iqms", "improvement", "score". The size is the
    greatest that was measured and is not greater. None for what was not measured.
    """
    found = _measured(of).get((family(method), distribution), {})
    sizes = [size for size in found if size[0] <= seeds and size[1] <= tasks]
    if not sizes:
        return None
    size = max(sizes)
    return found[size], *size


def words(of: str, method: str, seeds: int, tasks: int) -> str | None:
    """As a caption says it: "covers 94.6 % of normal runs at 5 seeds × 4 tasks"; None from ten seeds on."""
    found = coverage(of, method, seeds, tasks)
    if found is None or seeds >= MANY:
        return None
    part, seeds, tasks = found
    return f"covers {100 * part:.1f} % for normal runs at {seeds} seeds × {tasks} task{'s' * (tasks > 1)}"


def with_coverage(method: Method, of: str, seeds: int, tasks: int) -> str:
    """A method as a caption has it, with what it covers: "95 % interval (Student's t; covers 95.1 % for …)"."""
    said = words(of, method.name, seeds, tasks) if method.level == LEVEL else None
    return f"{method.words[:-1]}; {said})" if said else method.words


def file_of(of: str) -> str:
    """The name of the file, without its ending."""
    return of.replace(" ", "_")


@cache
def _measured(of: str) -> Mapping[tuple[str, str], Mapping[tuple[int, int], float]]:
    """(method, distribution) → (seeds, tasks) → coverage; nothing of what was not measured."""
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
