"""ACC, BWT, FWT and forgetting, each against matrices worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from plasticity_lab.agents.replay.agent import GROUPS
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.measures import Declared
from plasticity_lab.records.rows import Rows
from plasticity_lab.records.targets import measures_of
from plasticity_lab.records.task_matrix import TaskMatrix, matrix_of, with_matrix

BY_HAND = np.array([
    [0.9, 0.2, 0.1],
    [0.5, 0.8, 0.4],
    [0.6, 0.3, 0.7],
])  # fmt: skip
UNTRAINED = np.array([0.1, 0.15, 0.05])


def matrix(after, untrained=None, counts=None):
    after = np.array(after)
    tasks = len(after)
    return TaskMatrix(
        after,
        np.zeros(tasks) if untrained is None else np.array(untrained),
        np.ones(tasks, bool) if counts is None else np.array(counts),
    )


def test_a_matrix_by_hand():
    found = matrix(BY_HAND, UNTRAINED)
    assert found.acc == pytest.approx((0.6 + 0.3 + 0.7) / 3)
    assert found.bwt == pytest.approx(((0.6 - 0.9) + (0.3 - 0.8)) / 2)
    assert found.one_step_bwt == pytest.approx(((0.5 - 0.9) + (0.3 - 0.8)) / 2)
    assert found.fwt == pytest.approx(((0.2 - 0.15) + (0.4 - 0.05)) / 2)
    assert found.forgetting == pytest.approx(((0.9 - 0.6) + (0.8 - 0.3)) / 2)


def test_forgetting_is_of_the_best_that_a_run_ever_was_and_backward_transfer_of_what_it_was_right_after():
    found = matrix([[0.4, 0.0, 0.0], [0.9, 0.5, 0.0], [0.6, 0.5, 0.5]])
    assert found.bwt == pytest.approx(0.1)
    assert found.forgetting == pytest.approx((0.9 - 0.6) / 2)


def test_the_best_may_be_before_a_task_was_trained_on_and_is_never_the_last():
    """Chaudhry et al.: the maximum over all earlier rows. Task 1 was at its best, 0.9, when task 0 had been learned."""
    found = matrix([[0.4, 0.9, 0.0], [0.8, 0.5, 0.0], [0.6, 0.3, 0.5]])
    assert found.forgetting == pytest.approx(((0.8 - 0.6) + (0.9 - 0.3)) / 2)
    better = matrix([[0.4, 0.0], [0.9, 0.5]])
    assert better.forgetting == pytest.approx(0.4 - 0.9), "less than nothing is forgotten where the last is the best"


def test_a_run_that_forgets_nothing():
    found = matrix([[1.0, 0.0], [1.0, 1.0]])
    assert (found.acc, found.bwt, found.one_step_bwt, found.forgetting, found.fwt) == (1, 0, 0, 0, 0)


def test_one_task_has_nothing_before_it_and_no_task_has_nothing():
    alone, none = matrix([[0.8]], [0.1]), matrix(np.empty((0, 0)))
    names = ("acc", "bwt", "one_step_bwt", "fwt", "forgetting")
    assert [getattr(alone, name) for name in names] == [0.8, None, None, None, None]
    assert [getattr(none, name) for name in names] == [None] * 5


def test_easy_tasks_are_learned_but_do_not_count():
    after = np.array([
        [0.9, 0.1, 0.2, 0.1],
        [0.7, 0.9, 0.3, 0.1],
        [0.5, 0.2, 0.8, 0.1],
        [0.4, 0.2, 0.6, 0.9],
    ])  # fmt: skip
    found = matrix(after, [0.1, 0.1, 0.1, 0.1], [True, False, True, False])
    assert found.acc == pytest.approx((0.4 + 0.6) / 2)
    assert found.bwt == pytest.approx(((0.4 - 0.9) + (0.6 - 0.8)) / 2)
    assert found.one_step_bwt == pytest.approx(((0.7 - 0.9) + (0.6 - 0.8)) / 2), "an easy task comes in between"
    assert found.fwt == pytest.approx(0.3 - 0.1)
    assert found.forgetting == pytest.approx(((0.9 - 0.4) + (0.8 - 0.6)) / 2)


def learned(measures, after, untrained, tasks, hard=(True, True, True)):
    """A journal of two runs, the second with half the accuracies of the first, after that many tasks."""
    journal = Journal(2, measures)
    for task in range(tasks):
        updates = {name: np.full((2, 2), 0.5) for name in ("accuracy", "loss")}
        chunk = SimpleNamespace(task=task, epoch=task, steps=2, ends_epoch=True, marks={"hard": hard[task]})
        journal.add_chunk(chunk, Rows(updates))
        halves = np.array([[1.0], [0.5]])
        row = {"accuracy_on": halves * after[task], "on": np.tile(np.arange(len(after)), (2, 1))}
        row["masked_accuracy_on"] = row["accuracy_on"] + 0.05
        row["untrained_accuracy_on"] = halves * untrained if task == 0 else np.full((2, len(after)), np.nan)
        own = {"final_accuracy": row["accuracy_on"][:, task], "masked_accuracy": row["masked_accuracy_on"][:, task]}
        journal.add_task(SimpleNamespace(position=task, marks={"hard": hard[task]}), {**own, **row})
    return journal


@pytest.mark.parametrize("measures", [CLASSIFIER, GROUPS])
def test_a_journal_keeps_a_row_for_each_pair_and_the_summary_is_made_of_them(measures):
    measured = with_matrix(measures)
    journal = learned(measured, BY_HAND, UNTRAINED, 3)
    again = Journal(2, measured)
    again.load(journal.state())
    table = again.table(1)
    kinds = table["kind"].to_pylist()
    assert kinds == ["epoch", "task", "pair", "pair", "pair"] * 3
    found = matrix_of(table)
    assert (found.after == BY_HAND / 2).all()
    assert (found.untrained == UNTRAINED / 2).all()
    summary = measured.summarise(table)
    assert summary["acc"] == pytest.approx(1.6 / 6)
    assert summary["bwt"] == pytest.approx(-0.2)
    assert summary["final_accuracy"] == pytest.approx(0.4), "the diagonal"
    assert ("masked_acc" in summary) == (measures is GROUPS)
    if measures is GROUPS:
        assert summary["masked_acc"] == pytest.approx(summary["acc"] + 0.05)
    assert list(summary) == [each.name for each in measured.summaries]
    declared = Declared.from_json(measured.as_json())
    assert declared.headline == ("acc" if measures is GROUPS else "taoa")
    assert declared.kinds == ["task", "epoch"], "pairs have no course"


def test_the_rows_say_which_tasks_count():
    found = matrix_of(learned(with_matrix(CLASSIFIER), BY_HAND, UNTRAINED, 3, hard=(True, False, True)).table(0))
    assert found.counts.tolist() == [True, False, True]
    assert (found.after == BY_HAND).all()
    assert found.acc == pytest.approx((0.6 + 0.7) / 2)


def test_of_a_run_that_ended_early_the_tasks_that_it_has_learned_are_compared():
    measured = with_matrix(CLASSIFIER)
    journal = learned(measured, BY_HAND, UNTRAINED, 2)
    assert measured.summarise(journal.table(0))["acc"] == pytest.approx((0.5 + 0.8) / 2)
    assert measured.summarise(journal.table(0).slice(0, 0))["acc"] is None


def test_pairs_are_measured_where_the_benchmark_asks_for_them():
    assert measures_of({}, {"benchmark": {"eval_matrix": False}}) is measures_of({}) is CLASSIFIER
    assert "bwt" in measures_of({}, {"benchmark": {"eval_matrix": True}}).declared.summaries
