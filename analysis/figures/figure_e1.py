"""Figure E1 of the paper: every activation's Total Average Online Task Accuracy on every benchmark, ours beside its.

The paper draws the values of its Table 2; so does this, with the spread over seeds.
"""

from collections.abc import Sequence

from analysis.figures.asked import Asked
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, groups
from analysis.tables.headline import HEADLINE
from analysis.tables.table2 import TABLE2

OURS, PAPER = "ours, mean ± SD over seeds", "the paper's, mean ± SD over 5 seeds"


def figure_e1(asked: Asked) -> Drawing:
    """The figure: a panel for each column of Table 2, the best activation at its top.

    Of agents that do not classify, what they name first instead.
    """
    classifiers = [row for row in asked.rows if TABLE2.cell in row.declared.summaries]
    others = [row for row in asked.rows if TABLE2.cell not in row.declared.summaries]
    found = (
        [*groups(TABLE2, classifiers, asked.metric), *groups(HEADLINE, others)]
        if asked.metric is None
        else (groups(TABLE2, asked.rows, asked.metric))
    )
    titles = {group.result.metric.title for group in found}
    title = f"Figure E1: {titles.pop()}" if len(titles) == 1 else "Figure E1: what every activation came to"
    return Drawing("figureE1", title, [_panel(group) for group in found], caption(found, _said(found)))


def _said(found: Sequence[Group]) -> str:
    paper = any(cell.paper for group in found for _, cell in group.cells)
    told = "Mean ± SD over seeds, the best at the top"
    return f"{told}; hollow: what the paper prints in {TABLE2.source}." if paper else f"{told}."


def _panel(group: Group) -> Panel:
    less = group.result.metric.better == "less"
    shown = [(head, cell) for head, cell in group.cells if cell.mean is not None or cell.paper]
    shown.sort(key=lambda of: (of[1].mean is None, (of[1].mean or 0.0) * (1 if less else -1)))
    ours = [(head, cell) for head, cell in shown if cell.mean is not None]
    theirs = [(head, cell.paper) for head, cell in shown if cell.paper]
    series = [
        Series(
            label=OURS,
            key="",
            x=[cell.mean for _, cell in ours],
            x_sd=[cell.sd for _, cell in ours],
            y=[head.label for head, _ in ours],
            n=[cell.n for _, cell in ours],
            runs=[run for _, cell in ours for run in cell.runs],
            joined=False,
            marker="filled",
        )
    ]
    if theirs:
        series.append(
            Series(
                label=PAPER,
                key="",
                x=[paper.mean for _, paper in theirs],
                x_sd=[paper.sd for _, paper in theirs],
                y=[head.label for head, _ in theirs],
                n=[5 for _ in theirs],
                joined=False,
                marker="hollow",
            )
        )
    unit = f" ({group.result.metric.unit})" if group.result.metric.unit else ""
    label = f"{group.result.metric.label}{unit}"
    return Panel(group.title, label, "", series, categories=[head.label for head, _ in shown])
