"""The captions of tables over environments: the numbers, their runs, the bounds of scores, and missing runs."""

from collections.abc import Mapping, Sequence

from analysis.conf import has
from analysis.names import ACTIVATIONS, BENCHMARKS, BODIES, display
from analysis.statistics.method import MANY, with_coverage
from analysis.tables.caption import cautions_of, data_line, sentence
from analysis.tables.made_by import made_lines
from analysis.tables.missing import NOT_HERE, TRAINING, as_words
from analysis.tables.paper import of_another, printed_values, unlike_paper
from analysis.tables.scores import PUBLISHED, Scores, alike
from analysis.tables.stages import without_episode
from analysis.tables.table import Table

_WHAT = {
    "return": "Mean return over the last 15 % of the steps, mean ± SD over seeds, by environment.",
    "score": "Plasticity score: interquartile mean over seeds and environments of normalised returns of the last "
    "cycle, with its {score}{published}.",
    "gap": "Change of the generalization gap from the first cycle to the last, mean ± half-width of its {gap} over "
    "seeds; then the interquartile mean of the environments' means. A run that failed counts as 0.",
}
_ALIKE = ", and those not significantly different from it ({}, p ≥ {})"
_WELCH = "Welch's two-sided t-test"
_TESTS = {"return": _WELCH, "gap": _WELCH, "score": "Student's t of the difference, bounds drawn anew"}


def caption_of(table: Table[Scores], found: Scores) -> list[str]:
    """The sentences of the caption, each on its own line."""
    returns = table.returns or "return"
    lines = [_WHAT[returns].format(**_methods(table, found))]
    if not found.arms:
        reason = f"No runs of it; the paper's numbers alone. Missing: all of it: {command_of(table, {})}."
        return [*lines, reason, f"Paper: reported in {table.source} (5 seeds)."]
    benchmark, study = display(BENCHMARKS, table.only["benchmark"][0]), found.rows[0].study
    lines += sentence(
        f"{choice}: {name}" for choice, name in found.selection.items() if (choice, name) != ("intervention", "none")
    )
    lines.append(f"{benchmark}: {data_line(found.rows)}.")
    lines += made_lines(found.rows, {label: arm.mixed for label, arm in found.arms.items()})
    others = _ALIKE.format(_TESTS[returns], table.level) if alike(table, found) else ""
    lines.append(
        "Failed: a return below -500, or one that is not finite. k/n: k of n runs have a value; bold: the best of "
        f"those that are complete{others}."
    )
    lines += _without(found)
    lines += _bounds(table, found)
    lines += [f"{benchmark} {caution}" for caution in cautions_of(study)]
    if unlike := unlike_paper(table.only["benchmark"][0], study):
        lines.append(f"The paper's numbers are {of_another(unlike)} ({'; '.join(unlike)}).")
    lines.append(f"Paper: reported in {table.source} (full schedule, 5 seeds).")
    trained = {arm.activation for arm in found.arms.values()}
    if absent := [name for name in _printed_activations(table) if name not in trained]:
        names = ", ".join(display(ACTIVATIONS, name) for name in absent)
        lines.append(f"Missing: {names}: {command_of(table, found.selection, absent)}.")
    return lines


def _methods(table: Table[Scores], found: Scores) -> dict[str, str]:
    """The method and the coverage of each kind of interval, in words."""
    runs = min((arm.n for arm in found.arms.values() if arm.n > 1), default=MANY)
    words = {
        "score": with_coverage(found.methods["score"], "score", runs, len(table.bodies)),
        "gap": with_coverage(found.methods["gap"], "mean", runs, 1),
        "published": "",
    }
    if found.has_published:
        theirs = with_coverage(found.methods["published"], "score", runs, len(table.bodies))
        words["published"] = f"; {PUBLISHED}: the paper's {theirs}, which takes the bounds for given"
    return words


def _without(found: Scores) -> list[str]:
    """The number of finished runs without a value in the whole table, and the reasons."""
    lines = []
    finished = len({row.run for row in found.rows if row.status == "done"})
    if silent := len({row.run for row in found.rows if without_episode(row)}):
        lines.append(f"No episode ended in a task of {silent} of {finished} finished runs, which has no return then.")
    if unread := sum(arm.unread for arm in found.arms.values()):
        lines.append(
            f"{unread} of {finished} finished runs are here without their returns by task: their metrics.parquet is "
            "not in a store that was asked for, and no .json of a table has them."
        )
    if found.printed_best is not None:
        lines.append("Numbers as this table was printed: the returns by task that they are of were not kept.")
    return lines


def _bounds(table: Table[Scores], found: Scores) -> list[str]:
    """The bounds of the scores, which depend on the compared runs."""
    made = found.bounds
    if made is None or made.low is None or made.high is None:
        return []
    bounds = ", ".join(
        f"{display(BODIES, body)} {low:,.1f} to {high:,.1f}"
        for body, low, high in zip(table.bodies, made.low, made.high, strict=True)
    )
    low, high = made.percentiles
    runs = sum(arm.n for arm in found.arms.values())
    of_runs = f"percentiles {low:g} and {high:g} of the {runs} runs of this table, at least {made.floor:g}"
    return [f"Normalised by {of_runs}: {bounds}.", *([f"No score: {made.reason}."] if made.reason else [])]


def command_of(table: Table[Scores], selection: Mapping[str, str], activations: Sequence[str] = ()) -> str:
    """The command that trains missing runs; `NOT_HERE` if this version lacks the benchmark.

    activations: the activations to train; empty: all activations of the table.
    """
    (benchmark,) = table.only["benchmark"]
    if not has("benchmark", benchmark):
        return NOT_HERE
    if table.experiment and has("experiment", table.experiment) and not activations:
        return f"{TRAINING} experiment={table.experiment}"
    names = activations or table.only.get("activation") or _printed_activations(table)
    words = as_words({"hyperparams": "best", **selection})
    return " ".join([TRAINING, f"activation={','.join(names)}", f"benchmark={benchmark}", *words, "seed=0,1,2,3,4"])


def _printed_activations(table: Table[Scores]) -> list[str]:
    return list(dict.fromkeys(activation for activation, _ in printed_values(table)))
