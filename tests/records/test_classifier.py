import math

import pyarrow as pa
import pytest

from plasticity_lab.records.classifier import CLASSIFIER, flags, summarise


def table(*tasks):
    """tasks: (steps, aoa, final accuracy, hard)."""
    rows, step = [], 0
    for task, (steps, aoa, final, hard) in enumerate(tasks):
        step += steps
        row = {"task": task, "epoch": task, "step": step, "aoa": aoa, "train_loss": 1.0, "hard": hard}
        rows.append({**row, "kind": "epoch", "aoa": 0.99, "final_accuracy": None})
        rows.append({**row, "kind": "task", "final_accuracy": final})
    return pa.Table.from_pylist(rows, schema=CLASSIFIER.schema)


def test_a_summary_by_hand():
    metrics = table((10, 0.5, 0.7, True), (90, 0.8, 0.8, False), (30, 0.3, 0.6, True), (60, 0.1, 0.2, True))
    summary = summarise(metrics)
    wanted = {
        "taoa": (10 * 0.5 + 30 * 0.3 + 60 * 0.1) / 100,
        "taoa_all": (10 * 0.5 + 90 * 0.8 + 30 * 0.3 + 60 * 0.1) / 190,
        "aoa_first_tenth": 0.5,
        "aoa_last_tenth": 0.1,
        "aoa_slope": -0.2,
        "final_accuracy": 0.5,
        "final_accuracy_last_task": 0.2,
        "gap": 0.2,
    }
    assert summary == pytest.approx(wanted, rel=1e-14)


def test_tenths_are_of_hard_tasks():
    tasks = [(10, task / 100, 0.5, True) for task in range(30)]
    easy = [(10, 0.9, 0.9, False)] * 30
    summary = summarise(table(*[task for pair in zip(tasks, easy, strict=True) for task in pair]))
    assert summary["aoa_first_tenth"] == pytest.approx(0.01)
    assert summary["aoa_last_tenth"] == pytest.approx(0.28)
    assert summary["aoa_slope"] == pytest.approx(0.01)


def test_a_run_that_diverged_at_once_has_no_numbers_and_one_task_has_no_slope():
    summary = summarise(table())
    assert set(summary.values()) == {None}
    alone = summarise(table((10, 0.5, 0.7, True)))
    assert alone["aoa_slope"] is None
    assert alone["taoa"] == alone["aoa_first_tenth"] == alone["aoa_last_tenth"] == 0.5


def collapsed(metrics, classes):
    return flags(metrics, {"classes": classes})["collapsed"]


def test_what_is_summed_up_is_what_is_declared():
    assert list(summarise(table())) == [measure.name for measure in CLASSIFIER.summaries]


def test_collapse_is_three_hard_tasks_in_a_row_at_chance():
    low, high, easy = (10, 0.12, 0.1, True), (10, math.nextafter(0.12, 1), 0.1, True), (10, 0.9, 0.9, False)
    assert collapsed(table(high, low, easy, low, easy, low), classes=10)
    assert not collapsed(table(low, low, high, low, low), classes=10)
    assert not collapsed(table(high, high, high), classes=10)
    assert collapsed(table(high, high, high), classes=5)
    assert not collapsed(table(), classes=10)
