"""The paper's values for a table, and in what the runs beside them differ from the paper's."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.conf import as_published
from analysis.reported.reported import Published, lines, value_of
from analysis.tables.table import Table

COLUMNS = ("setting", "env")
"""What files call their columns where it is not the name of the table's."""
ORDER = ("benchmark.order",)
LENGTH = ("benchmark.tasks", "benchmark.epochs", "benchmark.steps", "benchmark.environment_steps")


def paper_values(table: Table[Any]) -> dict[str, dict[tuple[str, str], Published]]:
    """Metric → (row, column) → the paper's value, in the order of its files and of their lines."""
    found: dict[str, dict[tuple[str, str], Published]] = {}
    for line in (line for name in table.reported for line in lines(name)):
        names = {
            table.rows: line["activation"],
            **{key: line[key] for key in ("benchmark", "intervention") if key in line},
        }
        column = next(line[key] for key in (table.columns, *COLUMNS) if key in line)
        names[table.columns] = table.renamed.get(column, column)
        if any(key in names and names[key] not in allowed for key, allowed in table.only.items()):
            continue
        metric = line.get("metric_read_as", table.cell or "")
        found.setdefault(metric, {})[names[table.rows], names[table.columns]] = value_of(line)
    return found


def unlike_paper(benchmark: str, study: Mapping[str, Any]) -> list[str]:
    """In what runs of that study are not as the paper's were: first another order, then another length, then the rest.

    As published is what the files of conf/ say. Settings that a record of before does not have count as alike.
    """
    expected = as_published(benchmark)
    differing = [key for key, value in expected.items() if key in study and study[key] != value]
    differing.sort(key=lambda key: (key not in ORDER, key not in LENGTH))
    words = [f"{key.removeprefix('benchmark.')}={_word(study[key])}, there {_word(expected[key])}" for key in differing]
    return words + [f"{name} set apart" for name in ("stream_seed", "init_seed") if name in study]


def of_another(unlike: Sequence[str]) -> str:
    """What the paper's numbers are of, in two words, where the runs beside them differ so."""
    kinds = {"order": ORDER, "length": LENGTH}
    keys = {words.partition("=")[0] for words in unlike}
    names = [name for name, of in kinds.items() if keys & {key.removeprefix("benchmark.") for key in of}]
    return f"of another {' and another '.join(names)}" if names else "of other settings"


def _word(value: Any) -> str:
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
