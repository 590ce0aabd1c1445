"""Figure E1 of the paper: every activation's Total Average Online Task Accuracy on every benchmark, ours beside its.

The paper draws the values of its Table 2; so does this, with the spread over seeds.
"""

from collections.abc import Sequence

from analysis.figures.asked import Asked
from analysis.figures.drawing import Drawing, Marker, Panel, Series
from analysis.figures.groups import Group, caption, dots, groups
from analysis.outcomes import ended, why_none
from analysis.reported.reported import Published
from analysis.rows import Row
from analysis.tables.declared.headline import HEADLINE
from analysis.tables.declared.table2 import TABLE2
from analysis.tables.result import Heading
from plasticity_lab.errors import ConfigError

OURS = "ours, mean ± SD over seeds"
PAPER, UNLIKE = "the paper's, mean ± SD over 5 seeds", "the paper's, of runs unlike ours"


def figure_e1(asked: Asked) -> Drawing:
    """The figure: a panel for each column of Table 2, the best activation at its top.

    Of agents that do not classify, what they name first instead.  Raises ConfigError where no run has the metric.
    """
    metric = asked.metric or TABLE2.cell
    having = [row for row in asked.rows if metric in row.declared.summaries]
    others = [row for row in asked.rows if metric not in row.declared.summaries] if asked.metric is None else []
    found = [*(groups(TABLE2, having, metric) if having else []), *(groups(HEADLINE, others) if others else [])]
    panels = [_panel(group) for group in found if any(cell.mean is not None for _, cell in group.cells)]
    if not panels:
        raise ConfigError(_nothing(asked, metric, having))
    titles = {group.result.metric.title for group in found}
    title = titles.pop() if len(titles) == 1 else "what every activation came to"
    return Drawing("figureE1", f"Figure E1: {title}", panels, caption(found, [*having, *others], _said(found)))


def _nothing(asked: Asked, metric: str, having: Sequence[Row]) -> str:
    """Why no panel has a value."""
    if asked.metric and not having:
        names = sorted({name for row in asked.rows for name in row.declared.summaries})
        return f"No run that finished has '{metric}'; there are {', '.join(names)}."
    words: dict[str, list[Row]] = {}
    for row in asked.rows:
        words.setdefault(metric if metric in row.declared.summaries else row.declared.headline, []).append(row)
    said = [f"of '{name}': {why_none(ended(rows), name)}" for name, rows in words.items()]
    return f"No run has a value {'; '.join(said)}."


def _said(found: Sequence[Group]) -> str:
    """What the dots are; where the paper's are of runs that were not as ours, that they are."""
    words = "Mean ± SD over seeds, the best at the top."
    with_paper = [group for group in found if any(cell.paper for _, cell in group.cells)]
    if with_paper:
        words += f" Hollow: what the paper prints in {TABLE2.source}."
    for group in with_paper:
        if group.column.unlike:
            words += f" On {group.title} the paper's runs were not as ours: {'; '.join(group.column.unlike)}."
    return words


def _panel(group: Group) -> Panel:
    less = group.result.metric.better == "less"
    shown = [(head, cell) for head, cell in group.cells if cell.mean is not None or cell.paper]
    shown.sort(key=lambda of: (of[1].mean is None, (of[1].mean or 0.0) * (1 if less else -1)))
    theirs = [(head, cell.paper) for head, cell in shown if cell.paper]
    series = [dots(OURS, "filled", [(head, cell) for head, cell in shown if cell.mean is not None])]
    if theirs and group.column.unlike:
        series.append(_papers(UNLIKE, "diamond", theirs))
    elif theirs:
        series.append(_papers(PAPER, "hollow", theirs))
    unit = f" ({group.result.metric.unit})" if group.result.metric.unit else ""
    label = f"{group.result.metric.label}{unit}"
    return Panel(group.title, label, "", series, categories=[head.label for head, _ in shown])


def _papers(label: str, marker: Marker, values: Sequence[tuple[Heading, Published]]) -> Series:
    return Series(
        label=label,
        key="",
        x=[paper.mean for _, paper in values],
        x_sd=[paper.sd for _, paper in values],
        y=[head.label for head, _ in values],
        n=[5 for _ in values],
        joined=False,
        marker=marker,
    )
