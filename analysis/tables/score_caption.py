"""What captions of tables over environments say: what a number is, of which runs, by which bounds, what is missing."""

from collections.abc import Mapping, Sequence

from analysis.conf import has
from analysis.names import ACTIVATIONS, BENCHMARKS, BODIES, display
from analysis.statistics.covered import MANY, with_coverage
from analysis.tables.caption import data_line
from analysis.tables.cautions import cautions_of
from analysis.tables.made_by import made_lines
from analysis.tables.missing import NOT_HERE, TRAINING, as_words
from analysis.tables.paper import of_another, unlike_paper
from analysis.tables.score_best import PUBLISHED, alike
from analysis.tables.score_paper import paper_of
from analysis.tables.scores import Scores
from analysis.tables.stages import without_episode
from analysis.tables.table import Table

_WHAT = {
    "return": "Mean return over the last 15 % of the steps, mean ± SD over seeds, by environment.",
    "score": "Plasticity score: interquartile mean over seeds and environments of normalised returns of the last "
    "cycle, with its {score}{published}.",
    "gap": "Change of the generalization gap from the first cycle to the last, mean ± half-width of its {gap} over "
    "seeds; then the interquartile mean of the environments' means. A run that failed counts as 0.",
}
_ALIKE = {
    "return": ", and those from which it is not told apart (Welch's two-sided t-test, p ≥ {})",
    "gap": ", and those from which it is not told apart (Welch's two-sided t-test, p ≥ {})",
    "score": ", and those from which it is not told apart (Student's t of the difference, bounds drawn anew, p ≥ {})",
}


def caption_of(table: Table[Scores], found: Scores) -> list[str]:
    """The caption's sentences, one a line."""
    said = [_WHAT[table.returns or "return"].format(**_methods(table, found))]
    if not found.arms:
        reason = f"No runs of it; the paper's numbers alone. Missing: all of it: {command_of(table, {})}."
        return [*said, reason, f"Paper: what it reports in {table.source} (5 seeds)."]
    (benchmark,) = table.only["benchmark"]
    said += [f"{words}." for words in _selected(found.selection)]
    said.append(f"{display(BENCHMARKS, benchmark)}: {data_line(found.rows)}.")
    said += made_lines(found.rows, {label: arm.mixed for label, arm in found.arms.items()})
    others = _ALIKE.get(table.returns or "", "") if alike(table, found) else ""
    said.append(
        "Failed: a return below -500, or one that is not finite. k/n: k of n runs have a value; bold: the best of "
        f"those that are complete{others.format(table.level)}."
    )
    said += _without(found)
    said += _bounds(table, found)
    said += [f"{display(BENCHMARKS, benchmark)} {caution}" for caution in cautions_of(found.rows[0].study)]
    if unlike := unlike_paper(benchmark, found.rows[0].study):
        said.append(f"The paper's numbers are {of_another(unlike)} ({'; '.join(unlike)}).")
    said.append(f"Paper: what it reports in {table.source} (full schedule, 5 seeds).")
    trained = {arm.activation for arm in found.arms.values()}
    if absent := [name for name in _rows_of_paper(table) if name not in trained]:
        shown = ", ".join(display(ACTIVATIONS, name) for name in absent)
        said.append(f"Missing: {shown}: {command_of(table, found.selection, absent)}.")
    return said


def _methods(table: Table[Scores], found: Scores) -> dict[str, str]:
    """Of what intervals are → by what they are made, and how often they hold the truth."""
    runs = min((arm.n for arm in found.arms.values() if arm.n > 1), default=MANY)
    of = {"score": ("score", len(table.bodies)), "gap": ("mean", 1)}
    said = {name: with_coverage(found.methods[name], what, runs, tasks) for name, (what, tasks) in of.items()}
    theirs = any(shown.published for arm in found.arms.values() for shown in arm.columns.values())
    if not theirs:
        return {**said, "published": ""}
    made = with_coverage(found.methods["published"], "score", runs, len(table.bodies))
    return {**said, "published": f"; {PUBLISHED}: the paper's {made}, which takes the bounds for given"}


def _without(found: Scores) -> list[str]:
    """Of the runs without a value: why they have none, in counts of the whole table."""
    arms, lines = found.arms.values(), []
    finished = len({row.run for row in found.rows if row.status == "done"})
    if silent := len({row.run for row in found.rows if without_episode(row)}):
        lines.append(f"No episode ended in a task of {silent} of {finished} finished runs, which has no return then.")
    if unread := sum(arm.unread for arm in arms):
        lines.append(
            f"{unread} of {finished} finished runs are here without their returns by task: their metrics.parquet is "
            "not in a store that was asked for, and no .json of a table has them."
        )
    if found.printed_best is not None:
        lines.append("Numbers as this table was printed: the returns by task that they are of were not kept.")
    return lines


def _bounds(table: Table[Scores], found: Scores) -> list[str]:
    """What the scores were normalised by: they depend on which runs are compared."""
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


def _selected(selection: Mapping[str, str]) -> list[str]:
    words = [f"{choice}: {name}" for choice, name in selection.items() if (choice, name) != ("intervention", "none")]
    line = "; ".join(words)
    return [f"{line[:1].upper()}{line[1:]}"] if line else []


def command_of(table: Table[Scores], selection: Mapping[str, str], activations: Sequence[str] = ()) -> str:
    """The command that trains what is missing, or that this version has none."""
    (benchmark,) = table.only["benchmark"]
    if not has("benchmark", benchmark):
        return NOT_HERE
    if table.experiment and has("experiment", table.experiment) and not activations:
        return f"{TRAINING} experiment={table.experiment}"
    names = activations or table.only.get("activation") or _rows_of_paper(table)
    words = as_words({"hyperparams": "best", **selection})
    return " ".join([TRAINING, f"activation={','.join(names)}", f"benchmark={benchmark}", *words, "seed=0,1,2,3,4"])


def _rows_of_paper(table: Table[Scores]) -> list[str]:
    return list(dict.fromkeys(activation for activation, _ in paper_of(table)))
