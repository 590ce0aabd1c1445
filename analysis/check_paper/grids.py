"""Published best settings against their published grids; counts, labels and names that tables and text give twice."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.check_paper.sheets import Finding, Verdict, judged, named

Line = Mapping[str, str]
Lines = Iterable[Line]
Grid = Mapping[str, Any]
"""Setting, or settings with a comma between, → the values that were searched."""
EVERYWHERE = "All tables"


def check_settings(table: str, said_in: str, bests: Lines, grids: Mapping[str, Sequence[Grid]]) -> Iterator[Finding]:
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


def check_strengths(bests: Lines, grids: Lines, tables: Mapping[str, str]) -> Iterator[Finding]:
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


def check_learning_rates(reused: Lines, bests: Lines, tables: Mapping[str, str]) -> Iterator[Finding]:
    """Checks that interventions reuse the learning rates of the main experiments, as the paper says."""
    claim = "the same learning rates as in Table E2 (Appendix E.3: best hyperparameters are reused)"
    first = {(best["benchmark"], best["activation"]): float(best["lr"]) for best in bests}
    for line in reused:
        rate, before = float(line["lr"]), first[line["benchmark"], line["activation"]]
        subject = named(line["activation"], line["benchmark"])
        words = f"{rate:g}, Table E2 {before:g}"
        yield Finding(tables[line["intervention"]], claim, subject, words, judged(rate == before))


def check_timesteps(schedule: Lines) -> Iterator[Finding]:
    """Steps of a task = images / batch × epochs; within 0.5 if the table says "about" before a number of epochs."""
    for row in schedule:
        images, batch, epochs, steps = (int(row[name]) for name in ("images", "batch", "epochs", "timesteps"))
        exact = steps * batch / images
        whole = row["tasks_of"] == "all"
        same = (exact if whole else round(exact)) == epochs
        words = (
            f"{steps} steps × {batch} / {images} images = {exact:.4g} epochs, printed {'' if whole else '≈ '}{epochs}"
        )
        subject = named(row["benchmark"]) + ("" if whole else f", {row['tasks_of']} tasks")
        yield Finding("Table E1", "epochs and steps fit", subject, words, judged(same))


def check_settings_counted(said: Line, grid: Grid) -> Iterator[Finding]:
    """The stated number of settings of a grid; and if bounds are a range, whether each pair is one."""
    product = math.prod(len(values) for values in grid.values())
    words = f"{' × '.join(str(len(values)) for values in grid.values())} = {product}, said {said['said']}"
    subject = named(said["of"])
    yield Finding("Table B1", "the number of settings", subject, words, judged(product == int(said["said"])))
    if "lower" in grid and "upper" in grid:
        pairs = [(low, high) for low in grid["lower"] for high in grid["upper"]]
        crossed = [pair for pair in pairs if pair[0] > pair[1]]
        words = f"{len(crossed)} of {len(pairs)} pairs have it above: {', '.join(map(str, crossed))}"
        yield Finding("Table B1", "the lower bound is not above the upper", subject, words, judged(not crossed))


def check_preferred_rate(said: Line, bests: Lines) -> Finding:
    """Checks that the learning rate named for a benchmark is the best one for most of its activations."""
    counted = Counter(float(best["lr"]) for best in bests if best["benchmark"] == said["of"])
    preferred = counted[float(said["said"])] * 2
    total = counted.total()
    words = ", ".join(f"{lr:g} is best of {many}" for lr, many in counted.most_common()) + f", of {total} activations"
    claim = f"the benchmark prefers the learning rate {said['said']} ({said['said_in']})"
    return Finding("Table E2", claim, named(said["of"]), words, judged(preferred > total, preferred < total))


def check_environments(said: Line, tables: Mapping[str, Sequence[Line]]) -> Iterator[Finding]:
    """Checks the environments of each table against the environments that the text names; versions are ignored."""
    text = said["said"].split()
    claim = f"the same environments as in {said['said_in']}"
    for table, rows in tables.items():
        printed = list(dict.fromkeys(row["env"].partition("-")[0] for row in rows))
        words = f"said {', '.join(text)}; printed {', '.join(printed)}"
        yield Finding(table, claim, "all columns", words, judged(set(printed) == set(text)))


def check_rows(tables: Mapping[str, Iterable[str]], reference: str) -> Iterator[Finding]:
    """Whether tables of all activations have the same rows.  tables: name → activations."""
    claim = f"tables of all activations have the same ones as {reference}"
    wanted = set(tables[reference])
    for table, activations in tables.items():
        if table != reference:
            names = set(activations)
            missing, more = (named(*sorted(some, key=named)) or "none" for some in (wanted - names, names - wanted))
            words = f"{len(names)} activations; missing: {missing}; more: {more}"
            yield Finding(EVERYWHERE, claim, table, words, judged(names == wanted))


def check_labels(labels: Lines) -> Iterator[Finding]:
    """Whether each table gives an activation the label of the table that reports its results, or an abbreviation.

    Only letters count, and an abbreviation leaves letters out: LReLU is one of Leaky-ReLU, CRReLU none of CReLU.
    """
    listed = list(labels)
    reported = [row for table in ("Table 2", "Table G2", "Table G3") for row in listed if row["table"] == table]
    full = {row["activation"]: row["label"] for row in reversed(reported)}
    for row in listed:
        called = full[row["activation"]]
        letters = iter(_letters(called))
        same = all(letter in letters for letter in _letters(row["label"]))
        others = [name for name, label in full.items() if label == row["label"] and name != row["activation"]]
        words = f"called {row['label']}, elsewhere {called}" + "; that is the label of another" * bool(others)
        claim = "the same labels as in Tables 2, G2 and G3"
        yield Finding(EVERYWHERE, claim, f"{row['table']}, {called}", words, judged(same))


def _letters(label: str) -> str:
    return "".join(sign for sign in label.partition("(")[0].lower() if sign.isalpha())
