"""Loss of plasticity: how well each activation learns its first tasks, compared with its last tasks.

It shows every metric that an agent summarises for its first and for its last tasks (or cycles). The names of the two
summaries differ only in `first` and `last`.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import Group, caption, dots, groups
from analysis.outcomes import ended, why_none
from analysis.rows import Row, grouped
from analysis.tables.declared.means import HEADLINE
from analysis.where import by_size, comparable
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Declared

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
            if panel := _panel(before, after):
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


def _panel(before: Group, after: Group) -> Panel | None:
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
    return Panel(after.title, label, "", series, categories=[head.label for head, _, _ in pairs])


def _common(first: str, last: str) -> str:
    """The words that both titles begin with, without "over", "the", "of", "in" or a comma at the end."""
    both = zip(first.split(), last.split(), strict=False)
    words = [word for word, _ in takewhile(lambda pair: pair[0] == pair[1], both)]
    while words and words[-1].lower() in ("over", "the", "of", "in"):
        words.pop()
    return " ".join(words).rstrip(",")
