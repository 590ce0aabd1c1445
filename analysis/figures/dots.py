"""Figures of dots: Figure E1, and the loss of plasticity from the first tasks to the last.

Figure E1: Total Average Online Task Accuracy of every activation on every benchmark, ours and the paper's. The paper
draws the values of its Table 2; so does this, with the spread over seeds.

`first_last`: how well each activation learns its first tasks, compared with its last tasks. It shows every metric that
an agent summarises for its first and for its last tasks (or cycles). The names of the two summaries differ only in
`first` and `last`.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import Group, caption, dots, groups
from analysis.outcomes import ended, why_none
from analysis.rows import Row, grouped
from analysis.tables.declared.means import HEADLINE, TABLE2
from analysis.where import by_size, comparable
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Declared

OURS = "ours, mean ± SD over seeds"
PAPER, UNLIKE = "the paper's, mean ± SD over 5 seeds", "the paper's, from runs unlike ours"


def figure_e1(asked: Asked) -> Drawing:
    """The figure: a panel for each column of Table 2, the best activation at its top.

    Agents that do not classify have their main metric instead.  Raises ConfigError if no run has the metric.
    """
    metric = str(asked.metric or TABLE2.cell)
    having = [row for row in asked.rows if metric in row.declared.summaries]
    others = [row for row in asked.rows if metric not in row.declared.summaries] if asked.metric is None else []
    found = [*(groups(TABLE2, having, metric) if having else []), *(groups(HEADLINE, others) if others else [])]
    panels = [_with_paper(group) for group in found if any(cell.mean is not None for _, cell in group.cells)]
    if not panels:
        raise ConfigError(_no_value(asked, metric, having))
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


def _no_value(asked: Asked, metric: str, having: Sequence[Row]) -> str:
    """Why no panel has a value."""
    if asked.metric and not having:
        names = sorted({name for row in asked.rows for name in row.declared.summaries})
        return f"No run that finished has '{metric}'; there are {', '.join(names)}."
    by_metric = grouped(asked.rows, lambda row: metric if metric in row.declared.summaries else row.declared.headline)
    said = [f"of '{name}': {why_none(ended(rows), name)}" for name, rows in by_metric.items()]
    return f"No run has a value {'; '.join(said)}."


def _with_paper(group: Group) -> Panel:
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
    return Panel(group.title, label, "", series, categories=[head.label for head, _ in shown], place=group.column.label)


NOTHING = "No run says how well it learned its first and its last tasks."
FIRST, LAST = "the first tasks", "the last tasks"


def first_last(asked: Asked) -> Drawing:
    """The figure: a panel for each column of a table, the activation that kept or gained most at its top.

    Raises ConfigError if no agent summarises its first and last tasks.
    """
    pairs = grouped(asked.rows, lambda row: _pair(row.declared))
    by_pair = {pair: rows for pair, rows in pairs.items() if pair}
    panels, found = [], []
    for (first, last), rows in by_pair.items():
        for before, after in zip(groups(HEADLINE, rows, first), groups(HEADLINE, rows, last), strict=True):
            if panel := _moves(before, after):
                panels.append(panel)
            found.append(after)
    if not panels:
        why = [f"of '{last}': {why_none(ended(rows), last)}" for (_, last), rows in by_pair.items()]
        raise ConfigError(f"No run has a value {'; '.join(why)}." if why else NOTHING)
    said = (
        "From the mean over the first tasks (hollow) to that over the last (filled), ± 1 SD over seeds: a move to the "
        f"left is plasticity lost. At the top those that gained, or kept, most. {_how_many(by_pair)}"
    )
    return Drawing("first_last", "From the first tasks to the last", panels, caption(found, asked.rows, said))


def _how_many(by_pair: Mapping[tuple[str, str], Sequence[Row]]) -> str:
    """The averaged tasks, in the words of the summaries, and the number of all tasks."""
    counts: dict[str, set[str]] = {}
    for (first, _), rows in by_pair.items():
        for row in rows:
            title = row.declared.summaries[first].title.rpartition(", ")[2]
            counts.setdefault(title, set()).add(f"{row.study.get('benchmark.tasks', 'all')}")
    each = []
    for title, many in counts.items():
        ordered = sorted(many, key=lambda count: by_size(comparable(count)))
        each.append(f"{title} (of {' or '.join(ordered)})")
    return f"The first tasks: {'; '.join(each)}; the last as many."


def _pair(declared: Declared) -> tuple[str, str] | None:
    """The names of the two summaries; None if an agent has no such pair."""
    for name in declared.summaries:
        last = name.replace("first", "last")
        if last != name and last in declared.summaries:
            return name, last
    return None


def _moves(before: Group, after: Group) -> Panel | None:
    firsts = dict(before.cells)
    pairs = [(head, firsts[head], cell) for head, cell in after.cells if head in firsts]
    pairs = [(head, one, two) for head, one, two in pairs if one.mean is not None and two.mean is not None]
    if not pairs:
        return None
    pairs.sort(key=lambda of: of[1].mean - of[2].mean)
    series = [
        Series(head.label, "", [one.mean, two.mean], [head.label] * 2, [one.n, two.n], listed=False)
        for head, one, two in pairs
    ]
    series.append(dots(FIRST, "hollow", [(head, one) for head, one, _ in pairs]))
    series.append(dots(LAST, "filled", [(head, two) for head, _, two in pairs]))
    metric = after.result.metric
    label = with_unit(_common(before.result.metric.title, metric.title), metric)
    categories = [head.label for head, _, _ in pairs]
    return Panel(after.title, label, "", series, categories=categories, place=after.column.label)


def _common(first: str, last: str) -> str:
    """The words that both titles begin with, without "over", "the", "of", "in" or a comma at the end."""
    both = zip(first.split(), last.split(), strict=False)
    words = [word for word, _ in takewhile(lambda pair: pair[0] == pair[1], both)]
    while words and words[-1].lower() in ("over", "the", "of", "in"):
        words.pop()
    return " ".join(words).rstrip(",")
