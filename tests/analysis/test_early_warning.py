"""When measures leave the range of their first tasks, by hand."""

from math import nan

import polars as pl

from analysis.figures.early_warning import left_at
from plasticity_lab.diagnostics.diagnostic import of_epochs

COLUMNS = [of_epochs(name, name) for name in ("calm", "late", "down", "still", "broken")]
FIRST = [1.0, 3.0] * 5
"""Mean 2, standard deviation √(10/9): 3 of them are 3.162."""


def metrics(values):
    """Two runs on either side of the values."""
    rows = [
        {
            "run": run,
            "kind": "task",
            "task": task,
            **{name: of[task] + (0.5 if run else -0.5) for name, of in values.items()},
        }
        for run in (0, 1)
        for task in range(14)
    ]
    return lambda runs: pl.LazyFrame(rows)


def test_the_first_task_that_is_more_than_three_deviations_away_counts():
    found = left_at(
        metrics(
            {
                "calm": [*FIRST, 5.1, 5.1, -1.1, 2.0],
                "late": [*FIRST, 5.1, 5.2, 2.0, 9.0],
                "down": [*FIRST, 2.0, 2.0, -1.2, -1.2],
                "still": [*[0.0] * 10, 0.0, 0.0, 0.0, 0.1],
                "broken": [nan, *FIRST, 9.0, 9.0, 9.0],
            }
        ),
        ["0", "1"],
        COLUMNS,
    )
    assert found == {"calm": None, "late": 12, "down": 13, "still": 14, "broken": None}
