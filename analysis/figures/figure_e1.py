"""Figure E1: every activation's Total Average Online Task Accuracy on every benchmark, ours and the paper's.

The paper draws the values of its Table 2; so does this, with the spread over seeds.
"""

from collections.abc import Sequence

from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import Group, caption, dots, groups
from analysis.outcomes import ended, why_none
from analysis.rows import Row, grouped
from analysis.tables.declared.means import HEADLINE, TABLE2
from plasticity_lab.errors import ConfigError

OURS = "ours, mean ± SD over seeds"
PAPER, UNLIKE = "the paper's, mean ± SD over 5 seeds", "the paper's, from runs unlike ours"


def figure_e1(asked: Asked) -> Drawing:
    """The figure: a panel for each column of Table 2, the best activation at its top.

    Agents that do not classify have their main metric instead.  Raises ConfigError if no run has the metric.
    """
    metric = asked.metric or TABLE2.cell
    having = [row for row in asked.rows if metric in row.declared.summaries]
    others = [row for row in asked.rows if metric not in row.declared.summaries] if asked.metric is None else []
    found = [*(groups(TABLE2, having, metric) if having else []), *(groups(HEADLINE, others) if others else [])]
    panels = [_panel(group) for group in found if any(cell.mean is not None for _, cell in group.cells)]
    if not panels:
        raise ConfigError(_nothing(asked, metric, having))
    titles = {group.result.metric.title for group in found}
    title = titles.pop() if len(titles) == 1 else "the results of all activations"
    said = "Mean ± SD over seeds, the best at the top."
    with_paper = [group for group in found if any(cell.paper for _, cell in group.cells)]
    if with_paper:
        said += f" Hollow: the paper's values in {TABLE2.source}."
    for group in with_paper:
        if group.column.unlike:
            said += f" On {group.title} the paper's runs were not as ours: {'; '.join(group.column.unlike)}."
    return Drawing("figureE1", f"Figure E1: {title}", panels, caption(found, [*having, *others], said))


def _nothing(asked: Asked, metric: str, having: Sequence[Row]) -> str:
    """Why no panel has a value."""
    if asked.metric and not having:
        names = sorted({name for row in asked.rows for name in row.declared.summaries})
        return f"No run that finished has '{metric}'; there are {', '.join(names)}."
    by_metric = grouped(asked.rows, lambda row: metric if metric in row.declared.summaries else row.declared.headline)
    said = [f"of '{name}': {why_none(ended(rows), name)}" for name, rows in by_metric.items()]
    return f"No run has a value {'; '.join(said)}."


def _panel(group: Group) -> Panel:
    metric = group.result.metric
    sign = 1 if metric.better == "less" else -1
    shown = [(head, cell) for head, cell in group.cells if cell.mean is not None or cell.paper]
    shown.sort(key=lambda of: (of[1].mean is None, (of[1].mean or 0.0) * sign))
    series = [dots(OURS, "filled", [(head, cell) for head, cell in shown if cell.mean is not None])]
    papers = {head.label: cell.paper for head, cell in shown if cell.paper}
    if papers:
        label, marker = (UNLIKE, "diamond") if group.column.unlike else (PAPER, "hollow")
        x, sd = [paper.mean for paper in papers.values()], [paper.sd for paper in papers.values()]
        series.append(Series(label, "", x, [*papers], [5] * len(papers), x_sd=sd, joined=False, marker=marker))
    label = with_unit(metric.label, metric)
    return Panel(group.title, label, "", series, categories=[head.label for head, _ in shown])
