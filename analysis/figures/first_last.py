"""What plasticity is about: how well each activation learns its first tasks, and how well its last.

Whatever an agent summarises both of its first and of its last tasks (or cycles) is shown: two summaries whose names
differ by `first` and `last` alone.
"""

from collections.abc import Mapping, Sequence

from analysis.figures.asked import Asked
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, dots, groups
from analysis.outcomes import ended, why_none
from analysis.rows import Row
from analysis.tables.declared.headline import HEADLINE
from analysis.tables.result import Cell, Heading
from analysis.where import by_size, comparable
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Declared

NOTHING = "No run says how well it learned its first and its last tasks."
FIRST, LAST = "the first tasks", "the last tasks"


def first_last(asked: Asked) -> Drawing:
    """The figure: a panel for each column of a table, the activation that kept or gained most at its top.

    Raises ConfigError where no agent summarises its first and last tasks.
    """
    by_pair: dict[tuple[str, str], list[Row]] = {}
    for row in asked.rows:
        if pair := _pair(row.declared):
            by_pair.setdefault(pair, []).append(row)
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
    )
    said += "left is plasticity lost. At the top those that gained, or kept, most."
    said += _how_many(by_pair)
    return Drawing("first_last", "From the first tasks to the last", panels, caption(found, asked.rows, said))


def _how_many(by_pair: Mapping[tuple[str, str], Sequence[Row]]) -> str:
    """Over what the means are, in the words of the summaries, and how many tasks there are."""
    words: dict[str, set[str]] = {}
    for (first, _), rows in by_pair.items():
        for row in rows:
            title = row.declared.summaries[first].title.rpartition(", ")[2]
            words.setdefault(title, set()).add(f"{row.study.get('benchmark.tasks', 'all')}")
    each = [
        f"{title} (of {' or '.join(sorted(of, key=lambda many: by_size(comparable(many))))})"
        for title, of in words.items()
    ]
    return f" The first tasks: {'; '.join(each)}; the last as many."


def _pair(declared: Declared) -> tuple[str, str] | None:
    """The names of the two summaries; None where an agent has no such two."""
    for name in declared.summaries:
        last = name.replace("first", "last")
        if last != name and last in declared.summaries:
            return name, last
    return None


def _panel(before: Group, after: Group) -> Panel | None:
    firsts: Mapping[Heading, Cell] = dict(before.cells)
    pairs = [(head, firsts[head], cell) for head, cell in after.cells if head in firsts]
    pairs = [(head, one, two) for head, one, two in pairs if one.mean is not None and two.mean is not None]
    if not pairs:
        return None
    pairs.sort(key=lambda of: of[1].mean - of[2].mean)
    joins = [
        Series(head.label, "", [one.mean, two.mean], [head.label] * 2, [one.n, two.n], listed=False)
        for head, one, two in pairs
    ]
    metric = after.result.metric
    label = f"{_common(before.result.metric.title, metric.title)}{f' ({metric.unit})' if metric.unit else ''}"
    ends = [
        dots(FIRST, "hollow", [(head, one) for head, one, _ in pairs]),
        dots(LAST, "filled", [(head, two) for head, _, two in pairs]),
    ]
    return Panel(after.title, label, "", [*joins, *ends], categories=[head.label for head, _, _ in pairs])


def _common(first: str, last: str) -> str:
    """What two titles begin with alike, up to a comma or a whole word."""
    words = []
    for one, other in zip(first.split(), last.split(), strict=False):
        if one != other:
            break
        words.append(one)
    while words and words[-1].lower() in ("over", "the", "of", "in"):
        words.pop()
    return " ".join(words).rstrip(",")
