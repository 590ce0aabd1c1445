"""The runs that a table lacks, with the command that trains them, or a note that this version cannot train them."""

from collections.abc import Iterable, Mapping, Sequence

from analysis.asked import TRAINING
from analysis.conf import has
from analysis.names import NAMES, display
from analysis.tables.result import Cell, Heading, Result
from analysis.tables.table import Table

NOT_HERE = "not in this version"
OWN_FOLDER = "--config-dir FOLDER"
"""The option that names the folder of outside options; the user fills in the path."""
DEFAULTS = {"protocol": "as_published", "schedule": "full", "hyperparams": "default", "intervention": "none"}
"""Options that a command need not name."""
SEEDS = tuple(range(5))
"""The paper's seeds."""


def missing_lines(
    table: Table[Result],
    selection: Mapping[str, str],
    there: Mapping[Heading, Sequence[str]],
    expected: Sequence[tuple[str, str]],
) -> list[str]:
    """The missing runs as sentences of a caption, each with the command that trains them, or without one.

    there: column → the names of the rows with runs. expected: the (row, column) names that the paper has.
    """
    lacking: dict[str, list[str]] = {}
    columns_of: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]], list[Heading]] = {}
    for column, present in there.items():
        wanted = [row for row, name in expected if name == column.name]
        wanted = wanted or dict.fromkeys(row for rows in there.values() for row in rows)
        for names in _by_presence(table.rows, [name for name in wanted if name not in present]):
            columns_of.setdefault((tuple(names), column.settings, column.seeds), []).append(column)
    for (names, _, _), columns in columns_of.items():
        words = f"{_named(table.rows, names)} on {in_list(table.columns, [column.label for column in columns])}"
        command = training_command(table, selection, names, [column.name for column in columns], columns[0])
        lacking.setdefault(command, []).append(words)
    names = table.only.get(table.columns) or dict.fromkeys(name for _, name in expected)
    present = {column.name for column in there}
    for columns in _by_presence(table.columns, [name for name in names if name not in present]):
        rows = list(table.only.get(table.rows) or dict.fromkeys(row for row, _ in expected))
        protocol = {choice: name for choice, name in selection.items() if choice == "protocol"}
        command = training_command(table, {**protocol, "hyperparams": "best"}, rows, columns, None)
        if table.experiment and all(has(table.columns, name) for name in columns):
            command = " ".join([TRAINING, f"experiment={table.experiment}", *as_words(protocol)])
        lacking.setdefault(command, []).append(_named(table.columns, columns))
    return [f"Missing: {'; '.join(what)}: {command}." for command, what in lacking.items()]


def waiting_lines(cells: Sequence[Cell]) -> list[str]:
    """How to finish runs that wait, failed or were stopped early."""
    waiting, failed = sum(cell.waiting for cell in cells), sum(cell.failed for cell in cells)
    words = [f"{count} runs {what}" for count, what in ((waiting, "are still to come"), (failed, "failed")) if count]
    advice = "give their command again, or on a cluster `python -m launch resume`"
    lines = [f"{' and '.join(words)}: {advice}."] if words else []
    if stopped := sum(cell.stopped for cell in cells):
        runs = "1 run" if stopped == 1 else f"{stopped} runs"
        lines.append(
            f"Not in the means: {runs} that a search stopped early; a command that names their settings trains them to "
            "their end."
        )
    return lines


def _by_presence(group: str, names: Iterable[str]) -> list[list[str]]:
    """The names that this version has, and the names that it lacks; empty lists are left out."""
    known, unknown = [], []
    for name in names:
        (known if group not in NAMES or has(group, name) else unknown).append(name)
    return [part for part in (known, unknown) if part]


def _named(axis: str, names: Sequence[str]) -> str:
    shown = [display(NAMES.get(axis, {}), name) for name in names]
    return in_list(axis, shown) if len(shown) <= 6 else f"{len(shown)} {axis}s"


def in_list(axis: str, labels: Iterable[str]) -> str:
    """Labels of rows or columns for a sentence: a bare "none" would say that the list is empty."""
    return ", ".join(f"{axis}={label}" if label.startswith("none") else label for label in labels)


def training_command(
    table: Table[Result],
    selection: Mapping[str, str],
    rows: Sequence[str],
    columns: Sequence[str],
    column: Heading | None,
    settings: Sequence[str] = (),
) -> str:
    """The command that trains these rows on these columns, like the column's other runs.

    Returns `NOT_HERE` if this version lacks an option of the papers. Other options that conf/ lacks come from outside.
    """
    chosen = {table.rows: rows, table.columns: columns}
    chosen |= {group: names for group, names in table.only.items() if group in NAMES and group not in chosen}
    unknown = {
        (group, name) for group in chosen.keys() & NAMES.keys() for name in chosen[group] if not has(group, name)
    }
    if any(name in NAMES[group] for group, name in unknown):
        return NOT_HERE
    words = [OWN_FOLDER] if unknown else []
    words += [f"{group}={','.join(names)}" for group, names in chosen.items() if names]
    words += as_words({choice: name for choice, name in selection.items() if choice not in chosen})
    words += [*settings, *(column.settings if column else ())]
    return " ".join([TRAINING, *words, _seeds(column.seeds if column and column.seeds else SEEDS)])


def as_words(selection: Mapping[str, str]) -> list[str]:
    """The words of a command that name a selection."""
    return [f"{choice}={name}" for choice, name in selection.items() if name not in (DEFAULTS.get(choice), "unnamed")]


def _seeds(seeds: Sequence[int]) -> str:
    first, after = seeds[0], seeds[-1] + 1
    short = len(seeds) <= 5 or list(seeds) != list(range(first, after))
    return f"seed={','.join(map(str, seeds))}" if short else f"'seed=range({first},{after})'"
