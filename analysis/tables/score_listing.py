"""Tables over environments as words: our numbers and the paper's by activation, and the runs that failed."""

from collections.abc import Sequence
from functools import partial

from analysis.names import ACTIVATIONS, BODIES, display
from analysis.rows import Row
from analysis.setting_words import short_words
from analysis.tables.listing import NOTHING, Listing, fields
from analysis.tables.paper import SETTING, printed_values
from analysis.tables.result import chosen_words
from analysis.tables.score_caption import caption_of, command_of
from analysis.tables.scores import PUBLISHED, Arm, Scores, Shown, alike, best, scores
from analysis.tables.table import Table

ACROSS = {"iqm": "IQM", "mean": "mean", "sd": "SD", "score": "score"}
LONG = 1e5
"""Numbers from this value on are written with powers of ten."""


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
    body, lines, bold = [], [], set()
    for label in sorted(places, key=lambda label: (places[label], label)):
        arm = found.arms.get(label)
        activation = arm.activation if arm else label
        cells = [label.replace(activation, display(ACTIVATIONS, activation), 1)]
        for column in columns:
            shown, printed = arm.columns.get(column) if arm else None, paper.get((activation, column))
            if (label, column) in marked:
                bold.add((len(body), len(cells)))
            cells += [_words(shown or Shown(None), arm) if arm else NOTHING, printed or NOTHING]
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


returns_table = partial(Table, build=build, render=render, caption=caption_of)
"""A table over a cycle of several bodies, with the values that `returns` names.

return: the return in the last cycle, mean ± SD over seeds for each body.
score: the interquartile mean of normalised returns in the last cycle over seeds and bodies, with its 95 % interval;
`beside` may have the activation's "setting".
gap: the change of the gap from the first cycle to the last, mean ± half-width of its 95 % interval for each body;
`beside` may have "iqm", "mean" and "sd" over the bodies.
"""
