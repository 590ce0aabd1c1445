"""When measures leave the range of their first tasks, by hand."""

from math import nan

import polars as pl
import pytest

from analysis.__main__ import main
from analysis.figures.early_warning import left_at
from plasticity_lab.diagnostics.diagnostic import of_epochs
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import trained

pytestmark = pytest.mark.sample(1)

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


def test_runs_that_have_too_few_tasks_are_a_sentence(tmp_path, capsys):
    store = Store(tmp_path / "store")
    trained(store, "seed=0", "diagnostics=dormant_units")
    assert main(["figure", "early_warning", "--store", str(store.root)]) == 1
    assert capsys.readouterr().err.startswith("No measure of a finished run leaves the range of its first 10 tasks")


def test_it_is_drawn(tmp_path, capsys):
    store = Store(tmp_path / "store")
    trained(store, "seed=0,1", "activation=relu,tanh", "diagnostics=norms", "benchmark.tasks=14")
    assert main(["figure", "early_warning", "--store", str(store.root)]) == 0
    assert "Never outside" in capsys.readouterr().out
    files = {path.suffix for path in (store.root / "figures").glob("early_warning.*")}
    assert files == {".pdf", ".svg", ".png", ".csv", ".json"}
