"""The paper's values for a table, and the differences between the paper's runs and ours."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.conf import as_published
from analysis.names import BODIES
from analysis.reported import Published, lines, value_of
from analysis.setting_words import short_words
from analysis.statistics.two_groups import equivalence_of_summaries, welch_of_summaries
from analysis.tables.table import Table

COLUMNS = ("setting", "env")
"""The names of columns in the files, if they differ from the table's names."""
ORDER = ("benchmark.order",)
LENGTH = ("benchmark.tasks", "benchmark.epochs", "benchmark.steps", "benchmark.environment_steps")
SETTING = "setting"
"""The column with an activation's settings."""
PAPERS_SEEDS = 5
"""The number of seeds behind the paper's means and SDs, from the captions of Tables 3, F1 and F2.

The other captions give no number; we assume the same one.
"""
LEVEL = 0.05
MARGIN = 1.0
"""The margin within which a cell is shown equal to the paper's, in percentage points."""
Values = Mapping[tuple[str, str], Published]
"""(row, column) → the paper's value."""
_ACROSS = {"iqm": "iqm_delta", "mean": "mean_delta", "sd": "std_delta"}


def paper_values(table: Table[Any]) -> dict[str, dict[tuple[str, str], Published]]:
    """Metric → (row, column) → the paper's value, in the order of the files and their lines."""
    values: dict[str, dict[tuple[str, str], Published]] = {}
    for line in _lines(table):
        names = {
            table.rows: line["activation"],
            **{key: line[key] for key in ("benchmark", "intervention") if key in line},
        }
        column = next(line[key] for key in (table.columns, *COLUMNS) if key in line)
        names[table.columns] = table.renamed.get(column, column)
        if all(key not in names or names[key] in allowed for key, allowed in table.only.items()):
            metric = line.get("metric_read_as", table.cell or "")
            values.setdefault(metric, {})[names[table.rows], names[table.columns]] = value_of(line)
    return values


def printed_values(table: Table[Any]) -> dict[tuple[str, str], str]:
    """(activation, column) → the paper's number in a table over environments, as printed."""
    values: dict[tuple[str, str], str] = {}
    bodies = {shown: name for name, shown in BODIES.items()}
    for line in _lines(table):
        activation = line["activation"]
        if activation not in table.only.get("activation", [activation]):
            continue
        if table.returns == "score":
            values[activation, "score"] = f"{line['iqm']} ± {line['ci95_half_width']}"
            if SETTING in table.beside:
                values[activation, SETTING] = short_words(
                    {**json.loads(line["hyperparameters"]), "lr": float(line["lr"])}
                )
            continue
        mean, behind = ("reward_mean", "reward_sd") if table.returns == "return" else ("delta_mean", "delta_ci95")
        values[activation, bodies[line["env"]]] = f"{line[mean]} ± {line[behind]}"
        values |= {(activation, column): line[name] for column, name in _ACROSS.items() if name in line}
    return values


def unlike_paper(benchmark: str, study: Mapping[str, Any]) -> list[str]:
    """The settings of that study that differ from the paper's: first the order, then the length, then others.

    The files of conf/ hold the published settings. A setting that an old record lacks counts as equal.
    """
    expected = as_published(benchmark)
    differing = [key for key, value in expected.items() if key in study and study[key] != value]
    differing.sort(key=lambda key: (key not in ORDER, key not in LENGTH))
    words = [f"{key.removeprefix('benchmark.')}={_word(study[key])}, there {_word(expected[key])}" for key in differing]
    return words + [f"{name} set apart" for name in ("stream_seed", "init_seed") if name in study]


def of_another(unlike: Sequence[str]) -> str:
    """Short words for the kind of runs behind the paper's numbers, if our runs differ in these settings."""
    keys = {words.partition("=")[0] for words in unlike}
    kinds = {"order": ORDER, "length": LENGTH}
    names = [kind for kind, settings in kinds.items() if keys & {key.removeprefix("benchmark.") for key in settings}]
    return f"of another {' and another '.join(names)}" if names else "of other settings"


def p_of_difference(mean: float, sd: float, n: int, paper: Published) -> float | None:
    """The p-value of Welch's test that our runs have the paper's mean; None if there is no test."""
    return welch_of_summaries((mean, sd, n), (paper.mean, paper.sd, PAPERS_SEEDS))


def shown_equal(mean: float, sd: float, n: int, paper: Published) -> bool:
    """Whether our mean and the paper's are shown equal within `MARGIN`: two one-sided tests, p < `LEVEL`."""
    p = equivalence_of_summaries((mean, sd, n), (paper.mean, paper.sd, PAPERS_SEEDS), MARGIN)
    return p is not None and p < LEVEL


def _lines(table: Table[Any]) -> Iterator[dict[str, str]]:
    return (line for file in table.reported for line in lines(file))


def _word(value: Any) -> str:
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
