"""Published best settings against the published grids they were searched in."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.check_paper.finding import Finding, Verdict, judged
from analysis.check_paper.sheets import named

Grid = Mapping[str, Any]
"""Setting, or settings with a comma between, → the values that were searched."""


def check_settings(
    table: str, said_in: str, bests: Iterable[Mapping[str, str]], grids: Mapping[str, Sequence[Grid]]
) -> Iterator[Finding]:
    """Checks that the best settings in a table's lines lie in the grids.

    bests: activation, hyperparameters (JSON), and benchmark if the table has several. grids: activation → its grids;
    one grid must contain the settings. An activation has no grids if the paper prints none.
    """
    claim = f"the best settings lie in the grid ({said_in})"
    for best in bests:
        if settings := json.loads(best["hyperparameters"]):
            subject = named(*(best[name] for name in ("activation", "benchmark") if name in best))
            words, verdict = placed(settings, grids.get(best["activation"], ()))
            yield Finding(table, claim, subject, words, verdict)


def placed(settings: Mapping[str, Any], grids: Sequence[Grid]) -> tuple[str, Verdict]:
    """The arithmetic, and whether one of the grids holds the settings; open if no grid names a setting."""
    words = ", ".join(f"{name} {value}" for name, value in settings.items())
    if not grids:
        return f"{words}; no grid is printed", Verdict.OPEN
    known = {name for grid in grids for names in grid for name in names.split(", ")}
    unknown = [name for name in settings if name not in known]
    outside = [[names for names in grid if not _holds(names, grid[names], settings)] for grid in grids]
    if all(outside):
        lists = [
            " and ".join(f"{names} in {{{', '.join(map(str, grid[names]))}}}" for names in lacking)
            for grid, lacking in zip(grids, outside, strict=True)
        ]
        return f"{words}; searched: {', or '.join(lists)}", Verdict.DISAGREES
    if unknown:
        return f"{words}; no grid of {', '.join(unknown)} is printed", Verdict.OPEN
    return words, Verdict.AGREES


def _holds(names: str, values: Sequence[Any], settings: Mapping[str, Any]) -> bool:
    wanted = [settings.get(name) for name in names.split(", ")]
    if wanted.count(None) == len(wanted):
        return True
    return any((value if isinstance(value, list) else [value]) == wanted for value in values)


def check_strengths(
    bests: Iterable[Mapping[str, str]], grids: Iterable[Mapping[str, str]], tables: Mapping[str, str]
) -> Iterator[Finding]:
    """Each best strength of an intervention against the strengths that the caption lists.

    tables: intervention → table.
    """
    searched = {grid["intervention"]: grid["values"].split() for grid in grids}
    counts: Counter[str] = Counter()
    cells: dict[tuple[str, float], list[str]] = {}
    for best in bests:
        counts[best["intervention"]] += 1
        cell = named(best["activation"], best["benchmark"])
        cells.setdefault((best["intervention"], float(best["strength"])), []).append(cell)
    for (intervention, strength), best_in in cells.items():
        values = searched[intervention]
        words = (
            f"best in {len(best_in)} of {counts[intervention]} cells, the first {best_in[0]}; "
            f"searched: {', '.join(values)}"
        )
        held = strength in map(float, values)
        claim = "the best strengths lie in the caption's list"
        yield Finding(tables[intervention], claim, f"{strength:g}", words, judged(held))


def check_learning_rates(
    reused: Iterable[Mapping[str, str]], bests: Iterable[Mapping[str, str]], tables: Mapping[str, str]
) -> Iterator[Finding]:
    """Checks that interventions reuse the learning rates of the main experiments, as the paper says."""
    claim = "the same learning rates as in Table E2 (Appendix E.3: best hyperparameters are reused)"
    first = {(best["benchmark"], best["activation"]): float(best["lr"]) for best in bests}
    for line in reused:
        rate, before = float(line["lr"]), first[line["benchmark"], line["activation"]]
        subject = named(line["activation"], line["benchmark"])
        words = f"{rate:g}, Table E2 {before:g}"
        yield Finding(tables[line["intervention"]], claim, subject, words, judged(rate == before))
