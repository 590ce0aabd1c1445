"""Tables 3, 4 and F1 to F3: continual reinforcement learning on a cycle of four bodies.

Our numbers and the numbers of the paper by activation, the runs that failed, and the caption.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from analysis.conf import has
from analysis.names import ACTIVATIONS, BENCHMARKS, BODIES, display
from analysis.reported import lines as reported_lines
from analysis.rows import Row
from analysis.setting_words import short_words
from analysis.statistics.method import MANY, with_coverage
from analysis.tables.caption import cautions_of, data_line, sentence
from analysis.tables.listing import NOTHING, Listing, fields
from analysis.tables.made_by import made_lines
from analysis.tables.missing import NOT_HERE, TRAINING, as_words
from analysis.tables.paper import SETTING, of_another, printed_values, unlike_paper
from analysis.tables.result import chosen_words
from analysis.tables.scores import PUBLISHED, Arm, Scores, Shown, alike, best, scores
from analysis.tables.shape_lines import shape_of_arms
from analysis.tables.table import Table, without_episode

BOUNDS_OF = "tableF1_plasticity_score.csv"
"""The file with all activations that decide the paper's bounds in Tables 3 and F1."""
ACROSS = {"iqm": "IQM", "mean": "mean", "sd": "SD", "score": "score"}
LONG = 1e5
"""Numbers from this value on are written with powers of ten."""
_WHAT = {
    "return": "Mean return over the last 15 % of the steps, mean ± SD over seeds, by environment.",
    "score": "Plasticity score: interquartile mean over seeds and environments of normalised returns of the last "
    "cycle, with its {score}{published}.",
    "gap": "Change of the generalization gap from the first cycle to the last, mean ± half-width of its {gap} over "
    "seeds; then the interquartile mean of the environments' means. A run that failed counts as 0.",
}
_ALIKE = ", and those not significantly different from it ({}, p ≥ {})"
_TEST_OF_SCORES, _TEST_OF_MEANS = "Student's t of the difference, bounds resampled", "Welch's two-sided t-test"


def build(table: Table[Scores], rows: Sequence[Row], metric_name: str | None) -> list[Scores]:
    """One content for each selection of runs; without runs, one content without arms, for the paper's numbers."""
    return scores(table, rows) or [Scores({}, {}, [])]


def render(table: Table[Scores], found: Scores) -> Listing:
    """One line for each activation at one setting, with the paper's number next to each number."""
    columns = ["score"] if table.returns == "score" else [*table.bodies, *table.beside]
    paper = printed_values(table)
    order = {activation: place for place, activation in enumerate(dict.fromkeys(name for name, _ in paper))}
    places = {label: order.get(arm.activation, len(order)) for label, arm in found.arms.items()} or order
    marked = best(table, found) | alike(table, found)
    comparable = not _other_bounds(table, found)
    body, lines, bold = [], [], set()
    for label in sorted(places, key=lambda label: (places[label], label)):
        arm = found.arms.get(label)
        activation = arm.activation if arm else label
        cells = [label.replace(activation, display(ACTIVATIONS, activation), 1)]
        for column in columns:
            shown, printed = arm.columns.get(column) if arm else None, paper.get((activation, column))
            if (label, column) in marked:
                bold.add((len(body), len(cells)))
            theirs = NOTHING if printed is None or not comparable else printed
            cells += [_words(shown or Shown(None), arm) if arm else NOTHING, theirs]
            name = {"table": table.name, "row": label, "activation": activation, "column": column}
            missing = None if arm else command_of(table, {})
            lines.append({**name, **found.selection, **_line(shown, arm), "paper": printed, "missing": missing})
        if found.has_published:
            cells.append(_published(arm))
        if SETTING in table.beside:
            cells += [(arm and short_words(arm.own)) or NOTHING, paper.get((activation, SETTING), NOTHING)]
        body.append(cells)
    headings = [ACROSS.get(column) or display(BODIES, column) for column in columns]
    beside = [PUBLISHED] * found.has_published + ["setting", "paper"] * (SETTING in table.beside)
    return Listing(
        name=table.name,
        title=f"{table.title}{chosen_words(found.selection)}",
        header=["activation", *(heading for ours in headings for heading in (ours, "paper")), *beside],
        body=body,
        lines=lines,
        right=frozenset(range(2, 2 + 2 * len(columns), 2)),
        bold=frozenset(bold),
        is_ours=any(arm.columns for arm in found.arms.values()),
    )


def _words(shown: Shown, arm: Arm) -> str:
    """A number, followed by missing and failed runs in brackets."""
    if shown.value is None:
        number = NOTHING
    elif shown.low is not None and shown.high is not None:
        number = f"{shown.value:.4f} [{shown.low:.4f}, {shown.high:.4f}]"
    else:
        number = _number(shown.value, shown.half_width if shown.sd is None else shown.sd)
    counts = {
        "diverged": arm.diverged,
        "stopped by an error": arm.failed,
        **arm.flagged,
        "stopped early": arm.stopped,
        "failed": shown.failed,
        "without their returns": arm.unread,
        "without a second cycle or tests": arm.incomplete,
    }
    notes = [f"{arm.n}/{arm.expected}"] if arm.n < arm.expected else []
    notes += [f"{count} {what}" for what, count in counts.items() if count]
    if silent := arm.no_episode + shown.no_episode:
        notes.append(f"no episode ended in {silent}")
    if shown.value is not None and shown.reason:
        notes.append(f"no interval: {shown.reason}")
    return f"{number} ({', '.join(notes)})" if notes else number


def _published(arm: Arm | None) -> str:
    """The interval of an arm's score by the paper's method."""
    ends = [shown.published for shown in arm.columns.values() if shown.published] if arm else []
    return f"[{ends[0][0]:.4f}, {ends[0][1]:.4f}]" if ends else NOTHING


def _number(value: float, behind: float | None) -> str:
    """The value and the number after ± in one format: two decimals, or powers of ten if one number is too long."""
    both = [value] if behind is None else [value, behind]
    form = "{:,.2f}" if max(map(abs, both)) < LONG else "{:.2e}"
    return " ± ".join(map(form.format, both))


def _line(shown: Shown | None, arm: Arm | None) -> dict[str, object]:
    """The CSV columns of a number."""
    line = fields(shown, "value", "sd", "half_width", "low", "high")
    if shown and shown.published:
        line["published_low"], line["published_high"] = shown.published
    if shown and shown.reason:
        line["no_interval_because"] = shown.reason
    line |= {**fields(arm, "n", "expected", "diverged"), **fields(shown, "failed")}
    if silent := (arm.no_episode if arm else 0) + (shown.no_episode if shown else 0):
        line["no_episode"] = silent
    return line | (dict(arm.flagged) if arm else {})


def caption(table: Table[Scores], found: Scores) -> list[str]:
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
    tested = _TEST_OF_SCORES if returns == "score" else _TEST_OF_MEANS
    others = _ALIKE.format(tested, table.level) if alike(table, found) else ""
    lines.append(
        "Failed: a return below -500, or one that is not finite. k/n: k of n runs have a value; bold: the best of "
        f"those that are complete{others}."
    )
    lines += [*shape_of_arms(found), *_without(found), *_bounds(table, found)]
    lines += [f"{benchmark} {caution}" for caution in cautions_of(study)]
    if unlike := unlike_paper(table.only["benchmark"][0], study):
        lines.append(f"The paper's numbers are {of_another(unlike)} ({'; '.join(unlike)}).")
    if other := _other_bounds(table, found):
        lines.append(f"The paper's scores are not shown next to these, because {other}.")
    else:
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
    runs, activations = sum(found.normalised_by.values()), len(found.normalised_by)
    of_runs = f"percentiles {low:g} and {high:g} of {runs} runs of {activations} activations, at least {made.floor:g}"
    return [f"Normalised by {of_runs}: {bounds}.", *([f"No score: {made.reason}."] if made.reason else [])]


def _other_bounds(table: Table[Scores], found: Scores) -> str:
    """Why our scores and the paper's have other bounds, in words; empty if they have the same, or have none."""
    if table.returns != "score" or not found.arms or found.bounds is None:
        return ""
    theirs = {line["activation"] for line in reported_lines(BOUNDS_OF)}
    if found.normalised_by.keys() != theirs:
        return (
            f"the bounds of these are from {len(found.normalised_by)} activations and the paper's from {len(theirs)} "
            f"({TRAINING} experiment={table.experiment} trains them all)"
        )
    unlike = unlike_paper(table.only["benchmark"][0], found.rows[0].study)
    return f"the bounds of these are {of_another(unlike)}" if unlike else ""


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


def _table(
    number: str,
    title: str,
    returns: Literal["return", "score", "gap"],
    file: str,
    beside: Sequence[str] = (),
    **only: Sequence[str],
) -> Table[Scores]:
    """A table of the values that `returns` names.

    return: the return in the last cycle, mean ± SD over seeds for each body.
    score: the interquartile mean of normalised returns in the last cycle over seeds and bodies, with its 95 % interval;
    `beside` may have the activation's "setting".
    gap: the change of the gap from the first cycle to the last, mean ± half-width of its 95 % interval for each body;
    `beside` may have "iqm", "mean" and "sd" over the bodies.
    """
    return Table(
        name=f"table{number}",
        title=f"Table {number}: {title}",
        build=build,
        render=render,
        caption=caption,
        returns=returns,
        bodies=tuple(BODIES),
        reported=(f"table{number}_{file}.csv",),
        source=f"Table {number}",
        only={"benchmark": ("mujoco_cycle",), **only},
        experiment=f"table{number}",
        beside=beside,
    )


SCORE, GAP = "plasticity score", "change of the generalization gap"
TABLES = (
    replace(
        _table("3", SCORE, "score", "plasticity_score"),
        shows=("swish", "prelu", "sigmoid", "rand_smooth_leaky", "smooth_leaky"),
    ),
    _table(
        "4", GAP, "gap", "gap_delta", ("iqm",),
        activation=("swish", "prelu", "sigmoid", "smooth_leaky", "rand_smooth_leaky"),
    ),
    _table("F1", SCORE, "score", "plasticity_score", ("setting",)),
    _table("F2", "return", "return", "reward"),
    _table("F3", GAP, "gap", "gap_delta", ("iqm", "mean", "sd")),
)  # fmt: skip
