"""What a table lacks: the command that trains it, or that this version of plasticity_lab cannot."""

from collections.abc import Mapping, Sequence

from analysis.conf import has
from analysis.names import NAMES, display
from analysis.tables.result import Cell, Heading, Place, Result
from analysis.tables.table import Table

NOT_HERE = "not in this version"
OWN_FOLDER = "--config-dir FOLDER"
"""Where options of one's own are, which only who trains with them knows."""
TRAINING = "python -m plasticity_lab.main"
DEFAULTS = {"protocol": "as_published", "schedule": "full", "hyperparams": "default", "intervention": "none"}
"""What a command need not say."""
BEST = {"hyperparams": "best"}
"""What the paper's runs had."""
SEEDS = tuple(range(5))
"""The paper's."""


def fill(
    table: Table[Result],
    selection: Mapping[str, str],
    rows: Sequence[Heading],
    columns: Sequence[Heading],
    cells: Mapping[Place, Cell],
) -> dict[Place, str]:
    """For each pair of the table's own rows and columns that has no runs: the command that trains them, or why none."""
    return {
        (row, column): _command(table, selection, [row.name], [column.name], column, row.settings)
        for row in rows
        for column in columns
        if (row, column) not in cells
    }


def missing_lines(
    table: Table[Result],
    selection: Mapping[str, str],
    columns: Sequence[Heading],
    there: Mapping[Heading, Sequence[str]],
    expected: Sequence[tuple[str, str]],
) -> list[str]:
    """What a caption says of what is missing, each with the command that trains it, or that there is none.

    there: the names of the rows that a column has runs of. expected: the (row, column) names that the paper has.
    """
    lacking: dict[str, list[str]] = {}
    alike: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]], list[Heading]] = {}
    for column in columns:
        wanted = [row for row, name in expected if name == column.name] or _all_rows(there)
        absent = [name for name in wanted if name not in there[column]]
        for names in _by_presence(table.rows, absent):
            alike.setdefault((tuple(names), column.settings, column.seeds), []).append(column)
    for (names, _, _), those in alike.items():
        words = f"{_named(table.rows, names)} on {', '.join(column.label for column in those)}"
        command = _command(table, selection, names, [column.name for column in those], those[0])
        lacking.setdefault(command, []).append(words)
    names = table.only.get(table.columns) or dict.fromkeys(name for _, name in expected)
    whole = [name for name in names if name not in {column.name for column in columns}]
    for those in _by_presence(table.columns, whole):
        wanted = list(table.only.get(table.rows) or dict.fromkeys(row for row, _ in expected))
        preset = table.experiment and all(has(table.columns, name) for name in those)
        protocol = {choice: name for choice, name in selection.items() if choice == "protocol"}
        command = _command(table, {**protocol, **BEST}, wanted, those, None)
        if preset:
            command = " ".join([TRAINING, f"experiment={table.experiment}", *as_words(protocol)])
        lacking.setdefault(command, []).append(_named(table.columns, those))
    return [f"Missing: {'; '.join(what)}: {command}." for command, what in lacking.items()]


def waiting_lines(cells: Sequence[Cell]) -> list[str]:
    """What finishes runs that wait, failed or were stopped early."""
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


def _all_rows(there: Mapping[Heading, Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in there.values() for name in names))


def _by_presence(group: str, names: Sequence[str]) -> list[list[str]]:
    """The names that this version has, and those that it has not; a group of none is left out."""
    known = [name for name in names if group not in NAMES or has(group, name)]
    return [each for each in (known, [name for name in names if name not in known]) if each]


def _named(axis: str, names: Sequence[str]) -> str:
    shown = [display(NAMES.get(axis, {}), name) for name in names]
    return ", ".join(shown) if len(shown) <= 6 else f"{len(shown)} {axis}s"


def _command(
    table: Table[Result],
    selection: Mapping[str, str],
    rows: Sequence[str],
    columns: Sequence[str],
    column: Heading | None,
    settings: Sequence[str] = (),
) -> str:
    """The command that trains these rows on these columns, as those beside them were; or that this version has none.

    Options that neither conf/ nor the papers have are somebody's own.
    """
    chosen = {table.rows: rows, table.columns: columns}
    chosen |= {group: names for group, names in table.only.items() if group in NAMES and group not in chosen}
    known = {group: names for group, names in chosen.items() if group in NAMES}
    unknown = [(group, name) for group, names in known.items() for name in names if not has(group, name)]
    if any(name in NAMES[group] for group, name in unknown):
        return NOT_HERE
    folder = [OWN_FOLDER] if unknown else []
    words = [f"{group}={','.join(names)}" for group, names in chosen.items() if names]
    words += as_words({choice: name for choice, name in selection.items() if choice not in chosen})
    words += [*settings, *(column.settings if column else ())]
    return " ".join([TRAINING, *folder, *words, _seeds(column.seeds if column and column.seeds else SEEDS)])


def as_words(selection: Mapping[str, str]) -> list[str]:
    """What a command has to say of a selection."""
    return [f"{choice}={name}" for choice, name in selection.items() if name not in (DEFAULTS.get(choice), "unnamed")]


def _seeds(seeds: Sequence[int]) -> str:
    first, after = seeds[0], seeds[-1] + 1
    short = len(seeds) <= 5 or list(seeds) != list(range(first, after))
    return f"seed={','.join(map(str, seeds))}" if short else f"'seed=range({first},{after})'"
