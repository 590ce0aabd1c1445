"""Runs that are stopped early: what is left of them in the journal, and by what they are stopped."""

import numpy as np
import pytest

from plasticity_lab.records.classifier import CLASSIFIER, summarise
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.settings import StopRule
from plasticity_lab.records.stopping import rules_of, so_far, stop_worse
from tests.records.test_journal import ACCURACY, EPOCHS, RUNS, STEPS, TASKS, write

TASK = EPOCHS * STEPS


class AtEachTask:
    """Looks at the journal at the end of each task, as a worker does."""

    def __init__(self, rules):
        self.rules, self.journal = rules, Journal(RUNS, CLASSIFIER)
        self.add_task, self.journal.add_task = self.journal.add_task, self._add_task

    def _add_task(self, task, evaluation):
        self.add_task(task, evaluation)
        stop_worse(self.journal, self.rules)


def stopped_by(rules):
    return write(AtEachTask(rules).journal)


def headline_after(task):
    """TAOA of each run if it had ended with a task: the mean of its accuracies in hard tasks (all but the second)."""
    hard = [each for each in range(task + 1) if each != 1]
    return ACCURACY[hard].mean((0, 1, 2))


def rule(after, better="more"):
    return StopRule(metric="taoa", better=better, tasks=list(after), values=list(after.values()))


@pytest.mark.parametrize("better", ["more", "less"])
def test_a_run_is_stopped_at_the_first_task_after_which_it_is_worse_than_its_rule_allows(better):
    middle = float(np.median(headline_after(0)))
    journal = stopped_by([rule({0: middle}, better)] * RUNS)
    worse = headline_after(0) < middle if better == "more" else headline_after(0) > middle
    assert 0 < worse.sum() < RUNS  # one is the median itself, and is not worse
    np.testing.assert_array_equal(journal.stopped, np.where(worse, TASK, 0))
    np.testing.assert_array_equal(journal.over, worse)
    lowest = min(headline_after(1))
    second = stopped_by([rule({0: -1.0, 1: 2.0}), rule({1: lowest}), None, rule({}), rule({2: 2.0})])
    assert second.stopped.tolist() == [2 * TASK, 0, 0, 0, 3 * TASK]


def test_of_a_stopped_run_everything_up_to_its_step_is_kept_and_of_its_mates_all():
    undisturbed = write(Journal(RUNS, CLASSIFIER))
    journal = stopped_by([rule({0: 2.0}), *[None] * (RUNS - 1)])
    whole, cut = undisturbed.table(0), journal.table(0)
    assert cut.equals(whole.slice(0, cut.num_rows))
    assert cut["step"].to_pylist()[-1] == TASK
    for k in range(1, RUNS):
        assert journal.table(k).equals(undisturbed.table(k))
    assert summarise(cut)["taoa"] == pytest.approx(headline_after(0)[0])


def test_what_a_run_had_come_to_is_its_summary_of_the_rows_until_then():
    table = write(Journal(RUNS, CLASSIFIER)).table(2)
    found = so_far(summarise, table, "taoa", [0, 1, 2, 7])
    assert found[:3] == pytest.approx([headline_after(task)[2] for task in range(TASKS)])
    assert found[3] is None
    assert so_far(summarise, table, "no_such_value", [0]) == [None]


def test_a_resumed_journal_knows_who_was_stopped_and_old_states_stopped_nobody():
    journal = stopped_by([rule({1: 2.0}), *[None] * (RUNS - 1)])
    state = journal.state()
    again = Journal(RUNS, CLASSIFIER)
    again.load(state)
    assert again.stopped.tolist() == [2 * TASK, 0, 0, 0, 0]
    assert again.table(0).equals(journal.table(0))
    old = Journal(RUNS, CLASSIFIER)
    old.load({key: value for key, value in state.items() if key != "stopped"})
    assert not old.stopped.any()


def test_one_that_has_diverged_is_not_stopped_and_one_that_was_stopped_does_not_diverge():
    journal = Journal(2, CLASSIFIER)
    journal.diverged[0] = 5
    journal.steps = 90
    journal.stop(0)
    journal.stop(1)
    journal.steps = 120
    journal.stop(1)
    assert (journal.diverged.tolist(), journal.stopped.tolist()) == ([5, 0], [0, 90])
    journal._note_diverged(2, np.array([[False, False], [True, True]]))
    assert journal.diverged.tolist() == [5, 0]


def test_runs_without_a_rule_have_none():
    only = rule({0: 0.5})
    assert rules_of({"b": only}, ["a", "b"]) == [None, only]
    assert rules_of(None, ["a"]) == [None]
