"""Counts, labels and names that tables and text give twice."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.check_paper.finding import Finding, judged
from analysis.check_paper.grids import Grid
from analysis.check_paper.sheets import named

EVERYWHERE = "All tables"


def check_timesteps(schedule: Iterable[Mapping[str, str]]) -> Iterator[Finding]:
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


def check_settings_counted(said: Mapping[str, str], grid: Grid) -> Iterator[Finding]:
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


def check_preferred_rate(said: Mapping[str, str], bests: Iterable[Mapping[str, str]]) -> Finding:
    """Checks that the learning rate named for a benchmark is the best one for most of its activations."""
    counted = Counter(float(best["lr"]) for best in bests if best["benchmark"] == said["of"])
    preferred = counted[float(said["said"])] * 2
    total = counted.total()
    words = ", ".join(f"{lr:g} is best of {many}" for lr, many in counted.most_common()) + f", of {total} activations"
    claim = f"the benchmark prefers the learning rate {said['said']} ({said['said_in']})"
    return Finding("Table E2", claim, named(said["of"]), words, judged(preferred > total, preferred < total))


def check_environments(said: Mapping[str, str], tables: Mapping[str, Sequence[Mapping[str, str]]]) -> Iterator[Finding]:
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


def check_labels(labels: Iterable[Mapping[str, str]]) -> Iterator[Finding]:
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
