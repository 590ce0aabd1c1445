"""Published best settings against the published grids they were searched in."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.check_paper.finding import Finding, Verdict, judged
from analysis.check_paper.sheets import named

Grid = Mapping[str, Any]
"""Setting, or settings with a comma between, → the values that were searched."""


def check_settings(
    table: str, said_in: str, bests: Iterable[Mapping[str, str]], grids: Mapping[str, Sequence[Grid]]
) -> list[Finding]:
    """The best settings of a table's lines against the grids.

    bests: activation, hyperparameters (JSON), and benchmark where the table has several. grids: activation → its grids,
    of which one must hold the settings; none where the paper prints none.
    """
    found = []
    for best in bests:
        settings = json.loads(best["hyperparameters"])
        if not settings:
            continue
        subject = ", ".join(named(best[name]) for name in ("activation", "benchmark") if name in best)
        words, verdict = placed(settings, grids.get(best["activation"], ()))
        found.append(Finding(table, f"the best settings lie in the grid ({said_in})", subject, words, verdict))
    return found


def placed(settings: Mapping[str, Any], grids: Sequence[Grid]) -> tuple[str, Verdict]:
    """Whether one of the grids holds the settings; settings that none of them names are left open."""
    words = _in_words(settings)
    if not grids:
        return f"{words}; no grid is printed", Verdict.OPEN
    known = {name for grid in grids for names in grid for name in names.split(", ")}
    unknown = [name for name in settings if name not in known]
    outside = [{names: grid[names] for names in grid if not _holds(names, grid[names], settings)} for grid in grids]
    if all(outside):
        lists = [" and ".join(f"{names} in {_among(values)}" for names, values in each.items()) for each in outside]
        return f"{words}; searched: {', or '.join(lists)}", Verdict.DISAGREES
    if unknown:
        return f"{words}; no grid of {', '.join(unknown)} is printed", Verdict.OPEN
    return words, Verdict.AGREES


def check_strengths(
    bests: Iterable[Mapping[str, str]], grids: Iterable[Mapping[str, str]], tables: Mapping[str, str]
) -> list[Finding]:
    """Each value that is the best strength of an intervention somewhere, against those that the caption lists.

    tables: intervention → table.
    """
    searched = {grid["intervention"]: grid["values"].split() for grid in grids}
    listed = list(bests)
    of = Counter(best["intervention"] for best in listed)
    cells: dict[tuple[str, float], list[str]] = {}
    for best in listed:
        cell = f"{named(best['activation'])}, {named(best['benchmark'])}"
        cells.setdefault((best["intervention"], float(best["strength"])), []).append(cell)
    found = []
    for (intervention, strength), there in cells.items():
        values = searched[intervention]
        held = strength in map(float, values)
        words = f"best in {len(there)} of {of[intervention]} cells, the first {there[0]}; searched: {', '.join(values)}"
        claim = "the best strengths lie in the caption's list"
        found.append(Finding(tables[intervention], claim, f"{strength:g}", words, judged(held, not held)))
    return found


def check_learning_rates(
    reused: Iterable[Mapping[str, str]], bests: Iterable[Mapping[str, str]], tables: Mapping[str, str]
) -> list[Finding]:
    """The learning rates beside interventions against those of the main experiments, which they are said to reuse."""
    first = {(best["benchmark"], best["activation"]): best["lr"] for best in bests}
    found = []
    for line in reused:
        before = first[line["benchmark"], line["activation"]]
        same = float(line["lr"]) == float(before)
        found.append(
            Finding(
                tables[line["intervention"]],
                "the learning rates are those of Table E2 (Appendix E.3: best hyperparameters are reused)",
                f"{named(line['activation'])}, {named(line['benchmark'])}",
                f"{float(line['lr']):g}, Table E2 {float(before):g}",
                judged(same, not same),
            )
        )
    return found


def _holds(names: str, values: Sequence[Any], settings: Mapping[str, Any]) -> bool:
    wanted = [settings.get(name) for name in names.split(", ")]
    if wanted.count(None) == len(wanted):
        return True
    return any((value if isinstance(value, list) else [value]) == wanted for value in values)


def _in_words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _among(values: Sequence[Any]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"
