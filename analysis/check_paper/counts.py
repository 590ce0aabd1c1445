"""Counts, labels and names that tables and text give twice."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.grids import Grid
from analysis.check_paper.sheets import named

EVERYWHERE = "All tables"


def check_timesteps(schedule: Iterable[Mapping[str, str]]) -> list[Finding]:
    """Steps of a task = images / batch × epochs; where the table says "about" before a number of epochs, within 0.5."""
    found = []
    for row in schedule:
        images, batch, epochs, steps = (int(row[name]) for name in ("images", "batch", "epochs", "timesteps"))
        came_to = steps * batch / images
        whole = row["tasks_of"] == "all"
        same = came_to == epochs if whole else round(came_to) == epochs
        words = (
            f"{steps} steps × {batch} / {images} images = {came_to:.4g} epochs, printed {'' if whole else '≈ '}{epochs}"
        )
        which = "" if whole else f", {row['tasks_of']} tasks"
        found.append(
            Finding(
                "Table E1", "epochs and steps fit", f"{named(row['benchmark'])}{which}", words, judged(same, not same)
            )
        )
    return found


def check_settings_counted(said: Mapping[str, str], grid: Grid) -> list[Finding]:
    """The number of settings of a grid, as said; and whether each of them is one, where bounds are a range."""
    product = math.prod(len(values) for values in grid.values())
    words = f"{' × '.join(str(len(values)) for values in grid.values())} = {product}, said {said['said']}"
    same = product == int(said["said"])
    found = [Finding("Table B1", "the number of settings", named(said["of"]), words, judged(same, not same))]
    if "lower" in grid and "upper" in grid:
        pairs = [(low, high) for low in grid["lower"] for high in grid["upper"]]
        crossed = [pair for pair in pairs if pair[0] > pair[1]]
        words = f"{len(crossed)} of {len(pairs)} pairs have it above: {', '.join(map(str, crossed))}"
        claim = "the lower bound is not above the upper"
        found.append(Finding("Table B1", claim, named(said["of"]), words, judged(not crossed, bool(crossed))))
    return found


def check_preferred_rate(said: Mapping[str, str], bests: Iterable[Mapping[str, str]]) -> Finding:
    """Whether the learning rate that a benchmark is said to prefer is the best of most of its activations."""
    counted = Counter(float(best["lr"]) for best in bests if best["benchmark"] == said["of"])
    preferred = counted[float(said["said"])] * 2
    total = counted.total()
    words = ", ".join(f"{lr:g} is best of {many}" for lr, many in counted.most_common()) + f", of {total} activations"
    claim = f"the benchmark prefers the learning rate {said['said']} ({said['said_in']})"
    return Finding("Table E2", claim, named(said["of"]), words, judged(preferred > total, preferred < total))


def check_environments(said: Mapping[str, str], tables: Mapping[str, Sequence[Mapping[str, str]]]) -> list[Finding]:
    """The environments of the text against those of each table, versions aside."""
    text = said["said"].split()
    found = []
    for table, rows in tables.items():
        there = list(dict.fromkeys(row["env"].partition("-")[0] for row in rows))
        same = set(there) == set(text)
        words = f"said {', '.join(text)}; printed {', '.join(there)}"
        claim = f"the environments are those of {said['said_in']}"
        found.append(Finding(table, claim, "all columns", words, judged(same, not same)))
    return found


def check_rows(tables: Mapping[str, Iterable[str]], reference: str) -> list[Finding]:
    """Whether tables of all activations have the same rows.  tables: name → activations."""
    wanted = set(tables[reference])
    found = []
    for table, names in tables.items():
        there = set(names)
        words = f"{len(there)} activations; missing: {_listed(wanted - there)}; more: {_listed(there - wanted)}"
        claim = f"tables of all activations have those of {reference}"
        if table != reference:
            found.append(Finding(EVERYWHERE, claim, table, words, judged(there == wanted, there != wanted)))
    return found


def check_labels(labels: Iterable[Mapping[str, str]]) -> list[Finding]:
    """Whether each activation is called in every table as in the one that reports its results, or by an abbreviation.

    Letters alone count, and an abbreviation leaves letters out: LReLU is one of Leaky-ReLU, CRReLU none of CReLU.
    """
    listed = list(labels)
    reported = [row for table in ("Table 2", "Table G2", "Table G3") for row in listed if row["table"] == table]
    full = {row["activation"]: row["label"] for row in reversed(reported)}
    found = []
    for row in listed:
        called = full[row["activation"]]
        same = _abbreviates(_letters(row["label"]), _letters(called))
        others = [name for name, label in full.items() if label == row["label"] and name != row["activation"]]
        words = f"called {row['label']}, elsewhere {called}" + "; that is the label of another" * bool(others)
        claim = "the labels are those of Tables 2, G2 and G3"
        found.append(Finding(EVERYWHERE, claim, f"{row['table']}, {called}", words, judged(same, not same)))
    return found


def _letters(label: str) -> str:
    return "".join(sign for sign in label.partition("(")[0].lower() if sign.isalpha())


def _abbreviates(short: str, long: str) -> bool:
    rest = iter(long)
    return all(letter in rest for letter in short)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(map(named, names))) or "none"
