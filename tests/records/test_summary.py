import math

import pyarrow as pa
import pytest

from plasticity_lab.records.journal import METRICS
from plasticity_lab.records.summary import collapsed, summarise


def table(*tasks):
    """tasks: (steps, aoa, final accuracy, hard)."""
    rows, step = [], 0
    for task, (steps, aoa, final, hard) in enumerate(tasks):
        step += steps
        row = {"task": task, "epoch": task, "step": step, "aoa": aoa, "train_loss": 1.0, "hard": hard}
        rows.append({**row, "kind": "epoch", "aoa": 0.99, "final_accuracy": None})
        rows.append({**row, "kind": "task", "final_accuracy": final})
    return pa.Table.from_pylist(rows, schema=METRICS)


def test_a_summary_by_hand():
    metrics = table((10, 0.5, 0.7, True), (90, 0.8, 0.8, False), (30, 0.3, 0.6, True), (60, 0.1, 0.2, True))
    summary = summarise(metrics, 123, 4.5)
    wanted = {
        "taoa": (10 * 0.5 + 30 * 0.3 + 60 * 0.1) / 100,
        "taoa_all": (10 * 0.5 + 90 * 0.8 + 30 * 0.3 + 60 * 0.1) / 190,
        "aoa_first_tenth": 0.5,
        "aoa_last_tenth": 0.1,
        "aoa_slope": -0.2,
        "final_accuracy": 0.5,
        "final_accuracy_last_task": 0.2,
        "gap": 0.2,
        "parameters": 123,
        "seconds": 4.5,
    }
    assert summary == pytest.approx(wanted, rel=1e-14)


def test_tenths_are_of_hard_tasks():
    tasks = [(10, task / 100, 0.5, True) for task in range(30)]
    easy = [(10, 0.9, 0.9, False)] * 30
    summary = summarise(table(*[task for pair in zip(tasks, easy, strict=True) for task in pair]), 1, 1)
    assert summary["aoa_first_tenth"] == pytest.approx(0.01)
    assert summary["aoa_last_tenth"] == pytest.approx(0.28)
    assert summary["aoa_slope"] == pytest.approx(0.01)


def test_a_run_that_diverged_at_once_has_no_numbers_and_one_task_has_no_slope():
    summary = summarise(table(), 7, 2.0)
    assert {name for name, value in summary.items() if value is not None} == {"parameters", "seconds"}
    alone = summarise(table((10, 0.5, 0.7, True)), 7, 2.0)
    assert alone["aoa_slope"] is None
    assert alone["taoa"] == alone["aoa_first_tenth"] == alone["aoa_last_tenth"] == 0.5


def test_collapse_is_three_hard_tasks_in_a_row_at_chance():
    low, high, easy = (10, 0.12, 0.1, True), (10, math.nextafter(0.12, 1), 0.1, True), (10, 0.9, 0.9, False)
    assert collapsed(table(high, low, easy, low, easy, low), classes=10)
    assert not collapsed(table(low, low, high, low, low), classes=10)
    assert not collapsed(table(high, high, high), classes=10)
    assert collapsed(table(high, high, high), classes=5)
    assert not collapsed(table(), classes=10)
