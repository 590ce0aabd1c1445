"""How tables over environments are laid out: ours and the paper's by activation, and what failed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from analysis.names import ACTIVATIONS, BODIES, display
from analysis.rows import Row
from analysis.statistics.normalise import FLOOR, PERCENTILES, Normalised
from analysis.tables.arms import arms_of, flags_of
from analysis.tables.listing import NOTHING, Listing
from analysis.tables.made_by import mixed
from analysis.tables.score_best import PUBLISHED, alike, best
from analysis.tables.score_caption import caption_of, command_of
from analysis.tables.score_paper import SETTING, paper_of
from analysis.tables.scores import Arm, Scores, Shown, scores
from analysis.tables.selected import words_of
from analysis.tables.table import Table

ACROSS = {"iqm": "IQM", "mean": "mean", "sd": "SD", "score": "score"}
LONG = 1e5
"""From here on a number is written as a power of ten."""


def build(table: Table[Scores], rows: Sequence[Row], metric_name: str | None) -> list[Scores]:
    """One for each selection of runs; without any, one without arms, beside which the paper's numbers stand.

    Those runs alone have numbers that have their returns by task.
    """
    return [as_printed(table.name, each) for each in scores(table, rows)] or [Scores({}, {}, [])]


def columns_of(table: Table[Scores]) -> list[str]:
    """The columns of a table: its environments, and what is taken over them."""
    if table.returns == "score":
        return ["score"]
    return [*table.bodies, *table.beside]


def render(table: Table[Scores], found: Scores) -> Listing:
    """A line for each activation at one setting, each number with the paper's beside it."""
    columns, paper = columns_of(table), paper_of(table)
    published = any(shown.published for arm in found.arms.values() for shown in arm.columns.values())
    in_paper = list(dict.fromkeys(activation for activation, _ in paper))
    labels = sorted(found.arms, key=lambda label: (_place(found.arms[label].activation, in_paper), label))
    labels = labels or list(in_paper)
    body, listed = [], []
    for label in labels:
        arm = found.arms.get(label)
        activation = arm.activation if arm else label
        cells = [label.replace(activation, display(ACTIVATIONS, activation), 1)]
        for column in columns:
            shown = arm.columns.get(column) if arm else None
            printed = paper.get((activation, column))
            cells += [_word(shown, arm), printed or NOTHING]
            listed.append(_line(table, found, label, activation, column, shown, arm, printed))
        if published:
            cells.append(_published(arm))
        if SETTING in table.beside:
            cells += [words_of(arm.own, list(arm.own)) if arm else NOTHING, paper.get((activation, SETTING), NOTHING)]
        body.append(cells)
    headings = [ACROSS.get(column) or display(BODIES, column) for column in columns]
    beside = [PUBLISHED] * published + ["setting", "paper"] * (SETTING in table.beside)
    return Listing(
        name=table.name,
        title=_title(table, found),
        header=["activation", *(heading for each in headings for heading in (each, "paper")), *beside],
        body=body,
        lines=listed,
        right=frozenset(range(2, 2 + 2 * len(columns), 2)),
        bold=frozenset(
            (line, 1 + 2 * columns.index(column))
            for line, label in enumerate(labels)
            for of, column in best(table, found) | alike(table, found)
            if of == label and column in columns
        ),
        is_ours=any(arm.columns for arm in found.arms.values()),
    )


def _place(activation: str, in_paper: Sequence[str]) -> int:
    return in_paper.index(activation) if activation in in_paper else len(in_paper)


def _title(table: Table[Scores], found: Scores) -> str:
    names = [name for choice, name in found.selection.items() if (choice, name) != ("intervention", "none")]
    return f"{table.title} ({', '.join(names)})" if names else table.title


def _word(shown: Shown | None, arm: Arm | None) -> str:
    if shown is None or shown.value is None:
        number = NOTHING
    elif shown.low is not None and shown.high is not None:
        number = f"{shown.value:.4f} [{shown.low:.4f}, {shown.high:.4f}]"
    else:
        behind = shown.sd if shown.sd is not None else shown.half_width
        number = _number(shown.value, behind)
    notes = [f"{arm.n}/{arm.expected}"] if arm and arm.n < arm.expected else []
    lost = {"diverged": arm.diverged, "stopped by an error": arm.stopped, **arm.flagged} if arm else {}
    lost |= {"stopped early": arm.stopped_early} if arm else {}
    lost["failed"] = shown.failed if shown else 0
    silent = (arm.no_episode if arm else 0) + (shown.no_episode if shown else 0)
    lost |= {"without their returns": arm.unread, "without a second cycle or tests": arm.incomplete} if arm else {}
    notes += [f"{count} {what}" for what, count in lost.items() if count]
    notes += [f"no episode ended in {silent}"] * bool(silent)
    notes += [f"no interval: {shown.reason}"] if shown and shown.value is not None and shown.reason else []
    return f"{number} ({', '.join(notes)})" if notes else number


def _published_ends(shown: Shown | None) -> dict[str, float]:
    ends = shown.published if shown else None
    return {"published_low": ends[0], "published_high": ends[1]} if ends else {}


def _published(arm: Arm | None) -> str:
    """The interval of an arm's score as the paper makes it."""
    ends = [shown.published for shown in arm.columns.values() if shown.published] if arm else []
    return f"[{ends[0][0]:.4f}, {ends[0][1]:.4f}]" if ends else NOTHING


def _number(value: float, behind: float | None) -> str:
    """The value and what stands behind its ±, in one form: two decimals, or powers of ten where one is too long."""
    both = [value] if behind is None else [value, behind]
    form = "{:,.2f}" if max(map(abs, both)) < LONG else "{:.2e}"
    return " ± ".join(map(form.format, both))


def _line(
    table: Table[Scores],
    found: Scores,
    label: str,
    activation: str,
    column: str,
    shown: Shown | None,
    arm: Arm | None,
    printed: str | None,
) -> dict[str, object]:
    silent = (arm.no_episode if arm else 0) + (shown.no_episode if shown else 0)
    return {
        "table": table.name,
        "row": label,
        "activation": activation,
        "column": column,
        **found.selection,
        "value": shown.value if shown else None,
        "sd": shown.sd if shown else None,
        "half_width": shown.half_width if shown else None,
        "low": shown.low if shown else None,
        "high": shown.high if shown else None,
        **_published_ends(shown),
        **({"no_interval_because": shown.reason} if shown and shown.reason else {}),
        "n": arm.n if arm else None,
        "expected": arm.expected if arm else None,
        "diverged": arm.diverged if arm else None,
        "failed": shown.failed if shown else None,
        **({"no_episode": silent} if silent else {}),
        **(arm.flagged if arm else {}),
        "paper": printed,
        "missing": None if arm else command_of(table, {}),
    }


returns_table = partial(Table, build=build, render=render, caption=caption_of)
"""A table over bodies in turn, of what `returns` says.

return: mean ± SD over seeds with each body, in the last cycle. score: the interquartile mean of normalised returns of
the last cycle over seeds and bodies, with its 95 % interval; `beside` may have the activation's "setting". gap: the
change of the gap from the first cycle to the last, mean ± half-width of its 95 % interval with each body; beside, over
the bodies: "iqm", "mean" and "sd".
"""


# Numbers of a table over environments as it was printed, where the returns that they are of were not kept.
#
# The .json of tables that were made before returns by task stood in it has such numbers, with the digits that were
# printed. They are those of all its runs together, so that a part of the runs has none.


def as_printed(table: str, found: Scores) -> Scores:
    """What was found, with the numbers of that table as they were printed if there are no others of just these runs."""
    said = [(row.printed or {}).get(table) for row in found.rows if row.status == "done"]
    printed = said[0] if said else None
    if printed is None or any(other != printed for other in said) or len(said) != printed["runs"]:
        return found
    if any(arm.n for arm in found.arms.values()) or not found.arms.keys() <= printed["columns"].keys():
        return found
    arms, runs_of = {}, arms_of(found.rows)
    for label, arm in found.arms.items():
        runs = [row for row in runs_of[label] if row.status == "done"]
        columns = {column: Shown(**shown) for column, shown in printed["columns"][label].items()}
        flagged, made = flags_of(runs), mixed(runs)
        arms[label] = replace(arm, columns=columns, n=len(runs), unread=0, flagged=flagged, mixed=made)
    best = frozenset(map(tuple, printed["best"]))
    return replace(found, arms=arms, bounds=_bounds(printed.get("bounds")), printed_best=best)


def _bounds(printed: Mapping[str, list[float]] | None) -> Normalised | None:
    if printed is None:
        return None
    return Normalised(None, np.array(printed["low"]), np.array(printed["high"]), {}, FLOOR, PERCENTILES)
