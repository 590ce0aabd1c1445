"""What shocks leave, read off the rows of epochs: by hand, and again by the slowest way there is."""

import numpy as np
import pytest

from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.shocks import ACCURACY, FACTOR, SATURATED, shocks_in, summary_of, with_shocks
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import trained

CYCLE = 4


def epochs(factors, saturated, accuracy, tasks):
    return [
        {"task": task, "epoch": at, FACTOR: factor, SATURATED: share, ACCURACY: right}
        for at, (factor, share, right, task) in enumerate(zip(factors, saturated, accuracy, tasks, strict=True))
    ]


def one(saturated, accuracy=(0.8,) * 7):
    """A shock in the fourth epoch of seven."""
    (shock,) = shocks_in(epochs([None] * 3 + [2.0] + [None] * 3, saturated, accuracy, [0] * 7), CYCLE)
    return shock


def test_a_shock_by_hand():
    shock = one([0.0, 0.1, 0.2, 0.6, 0.5, 0.3, 0.2], [0.1, 0.2, 0.8, 0.3, 0.7, 0.76, 0.9])
    assert (shock.task, shock.epoch, shock.factor, shock.whole) == (0, 3, 2.0, True)
    assert (shock.before, shock.accuracy_before) == (0.2, 0.8)
    assert shock.peak == 0.6
    assert shock.ausc == pytest.approx(0.55 + 0.4 + 0.25)
    assert shock.excess_ausc == pytest.approx(1.2 - 3 * 0.2)
    assert shock.half == 2, "0.3 is half of 0.6"
    assert shock.half_above_rest == 2, "half way to 0.2 is 0.4"
    assert shock.recovery95 == 2, "0.76 is 95 % of 0.8"
    assert shock.rises


def test_what_rests_high_never_halves_but_may_come_back():
    shock = one([0.5, 0.5, 0.5, 0.7, 0.55, 0.5, 0.5])
    assert (shock.half, shock.half_above_rest) == (None, 1)


def test_a_shock_that_shrinks_raises_nothing_and_one_that_is_never_saturated_halves_at_once():
    assert not one([0.5, 0.5, 0.5, 0.1, 0.4, 0.5, 0.5]).rises
    nothing = one([0.0] * 7)
    assert (nothing.peak, nothing.ausc, nothing.half, nothing.rises) == (0.0, 0.0, 1, False)


def test_a_shock_whose_window_leaves_its_task_is_given_and_not_measured():
    rows = epochs(
        [None] * 3 + [2.0, None, None] + [None] * 3 + [2.0] + [None] * 3, [0.5] * 13, [0.5] * 13, [0] * 6 + [1] * 7
    )
    first, second = shocks_in(rows, CYCLE)
    assert (first.whole, second.whole) == (False, True)
    assert summary_of([first, second])["shocks_given"] == 2
    assert summary_of([first, second])["shocks_measured"] == 1
    assert summary_of([first])["shock_ausc"] is None
    (at_once,) = shocks_in(epochs([2.0, None, None, None], [0.5] * 4, [0.5] * 4, [0] * 4), CYCLE)
    assert not at_once.whole, "nothing is known of what was there before"


def test_the_summary_has_means_over_shocks_and_epochs_over_those_that_recover():
    found = summary_of([one([0.0] * 3 + [0.8, 0.4, 0.2, 0.0]), one([0.0] * 3 + [0.4, 0.4, 0.4, 0.4])])
    assert found["shock_peak"] == pytest.approx(0.6)
    assert found["shock_ausc"] == pytest.approx(((0.6 + 0.3 + 0.1) + 1.2) / 2)
    assert (found["shock_half"], found["shock_unrecovered"]) == (1.0, 0.5)


def test_declared_beside_what_a_classifier_measures():
    declared = with_shocks(CLASSIFIER, CYCLE).declared
    assert {FACTOR, SATURATED, ACCURACY} <= {column.name for column in declared.columns_of("epoch")}
    assert {"shock_ausc", "shocks_given"} <= declared.summaries.keys()


def test_a_record_has_what_its_own_epochs_say(tmp_path):
    """Of a real run, each number anew from its metrics, with loops."""
    store = Store(tmp_path / "store")
    words = ["activation=tanh", "optimizer.lr=0.03", "benchmark.tasks=2", "benchmark.epochs=11", "benchmark.images=64"]
    plan = trained(store, *words, "perturbation=shocks", "perturbation.cycle=4", "perturbation.factors=[9,0.2,3]")
    (run,) = [run for pack in plan.packs for run in pack.runs]
    summary = read_record(store, run)["summary"]
    rows = [row for row in read_metrics(store, run).to_pylist() if row["kind"] == "epoch"]
    assert [(row["task"], at % 11 + 1, row[FACTOR]) for at, row in enumerate(rows) if row[FACTOR]] == [
        (0, 4, 9.0), (0, 8, 0.2), (1, 4, 3.0), (1, 8, 9.0),
    ]  # fmt: skip
    areas, halves, back = [], [], []
    for first in (3, 7, 14, 18):
        a = [rows[first + k][SATURATED] for k in range(4)]
        areas.append(np.trapezoid(a))
        for found, values, bound, below in (
            (halves, a, a[0] / 2, True),
            (back, [rows[first + k][ACCURACY] for k in range(4)], 0.95 * rows[first - 1][ACCURACY], False),
        ):
            k = 1
            while k < 4 and not (values[k] <= bound if below else values[k] >= bound):
                k += 1
            found.append(k if k < 4 else None)
    assert summary["shock_ausc"] == pytest.approx(np.mean(areas))
    assert summary["shock_unrecovered"] == pytest.approx(halves.count(None) / 4)
    assert summary["shock_unrecovered95"] == pytest.approx(back.count(None) / 4)
    for name, found in (("shock_half", halves), ("shock_recovery95", back)):
        there = [k for k in found if k is not None]
        assert summary[name] == (pytest.approx(np.mean(there)) if there else None)
    assert summary["shocks_measured"] == summary["shocks_given"] == 4
    assert 0 < summary["shock_peak"] <= 1
