"""When measures leave the range of their first tasks, by hand."""

from math import nan

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from analysis.figures.early_warning import left_at
from analysis.statistics.usual_range import deviations_for, leave_chance
from plasticity_lab.diagnostics.diagnostic import of_epochs

COLUMNS = [of_epochs(name, name) for name in ("calm", "late", "down", "still", "broken")]
FIRST = [1.0, 3.0] * 5
"""Mean 2, standard deviation √(10/9)."""
EDGE = deviations_for(0.05, 10, 4) * (10 / 9) ** 0.5
IN, OUT = EDGE - 0.01, EDGE + 0.01


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


def test_the_first_task_outside_the_range_counts():
    found = left_at(
        metrics(
            {
                "calm": [*FIRST, 2 + IN, 2 + IN, 2 - IN, 2.0],
                "late": [*FIRST, 2 + IN, 2 + OUT, 2.0, 9.0],
                "down": [*FIRST, 2.0, 2.0, 2 - OUT, 2 - OUT],
                "still": [*[0.0] * 10, 0.0, 0.0, 0.0, 0.1],
                "broken": [nan, *FIRST, 9.0, 9.0, 9.0],
            }
        ),
        ["0", "1"],
        COLUMNS,
    )
    assert found == {"calm": None, "late": 12, "down": 13, "still": 14, "broken": None}


def test_the_range_of_one_later_value_is_a_prediction_interval():
    assert deviations_for(0.05, 10, 1) == pytest.approx(t.ppf(0.975, 9) * (1 + 1 / 10) ** 0.5, rel=1e-3)


def test_plain_noise_leaves_three_deviations_in_a_third_of_the_cases():
    """By 20,000 columns of 50 values; and by the other range in one of twenty."""
    values = np.random.default_rng(0).normal(size=(20_000, 50))
    first, later = values[:, :10], values[:, 10:]
    away = np.abs(later - first.mean(axis=1, keepdims=True)).max(axis=1) / first.std(axis=1, ddof=1)
    assert leave_chance(3, 10, 40) == pytest.approx((away > 3).mean(), abs=0.01)
    assert leave_chance(3, 10, 40) == pytest.approx(0.32, abs=0.005)
    assert (away > deviations_for(0.05, 10, 40)).mean() == pytest.approx(0.05, abs=0.005)
