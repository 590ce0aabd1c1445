import io
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import torch

from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.rows import Position, Rows

RUNS, TASKS, EPOCHS, STEPS = 5, 3, 2, 37
RNG = np.random.Generator(np.random.Philox(key=7))
ACCURACY = RNG.integers(0, 17, (TASKS, EPOCHS, STEPS, RUNS)) / 16
LOSS = RNG.exponential(2, (TASKS, EPOCHS, STEPS, RUNS))
FINAL = RNG.random((TASKS, RUNS))
HARD = {"hard": True}


@dataclass(frozen=True)
class Chunk:
    task: int
    epoch: int
    steps: int
    ends_epoch: bool
    marks: dict


@dataclass(frozen=True)
class Task:
    position: int
    marks: dict


def write(journal, cuts=(0, STEPS), loss=LOSS, runs=slice(None), after_chunk=lambda: None):
    """Adds all that lies after the journal's position; every epoch is cut into the same chunks."""
    for task in range(journal.position.task, TASKS):
        for epoch in range(EPOCHS):
            for first, stop in pairwise(cuts):
                if epoch * STEPS + first < journal.position.step:
                    continue
                chunk = Chunk(task, task * EPOCHS + epoch, stop - first, stop == STEPS, {"hard": task != 1})
                rows = (values[task, epoch, first:stop][:, runs] for values in (ACCURACY, loss))
                journal.add_chunk(chunk, Rows(dict(zip(("accuracy", "loss"), rows, strict=True))))
                after_chunk()
        journal.add_task(Task(task, {"hard": task != 1}), {"final_accuracy": FINAL[task, runs]})
    return journal


def rows(journal, k, kind):
    return [row for row in journal.table(k).to_pylist() if row["kind"] == kind]


def test_the_rows_are_the_means_they_are_said_to_be():
    journal = write(Journal(RUNS, CLASSIFIER))
    assert journal.table(3).schema == CLASSIFIER.schema
    assert journal.position == Position(TASKS, 0)
    tasks, epochs = rows(journal, 3, "task"), rows(journal, 3, "epoch")
    np.testing.assert_allclose([row["aoa"] for row in tasks], ACCURACY[..., 3].mean((1, 2)), rtol=1e-15)
    np.testing.assert_allclose([row["aoa"] for row in epochs], ACCURACY[..., 3].mean(2).ravel(), rtol=1e-15)
    np.testing.assert_allclose([row["train_loss"] for row in epochs], LOSS[..., 3].mean(2).ravel(), rtol=1e-14)
    assert [row["train_loss"] for row in tasks] == [row["train_loss"] for row in epochs[1::2]]
    assert [row["final_accuracy"] for row in tasks] == FINAL[:, 3].tolist()
    assert {row["final_accuracy"] for row in epochs} == {None}
    assert [row["step"] for row in epochs] == [STEPS * (1 + number) for number in range(6)]
    assert [row["epoch"] for row in epochs] == list(range(6))
    assert [(row["task"], row["epoch"], row["step"], row["hard"]) for row in tasks] == [
        (0, 1, 74, True),
        (1, 3, 148, False),
        (2, 5, 222, True),
    ]


@pytest.mark.parametrize("cuts", [(0, 1, 20, STEPS), tuple(range(STEPS + 1))])
def test_the_cut_into_chunks_changes_no_bit(cuts):
    assert write(Journal(RUNS, CLASSIFIER), cuts).table(2).equals(write(Journal(RUNS, CLASSIFIER)).table(2))


def test_a_run_alone_has_the_bits_it_has_in_a_pack():
    packed = write(Journal(RUNS, CLASSIFIER))
    for k in range(RUNS):
        assert write(Journal(1, CLASSIFIER), runs=[k]).table(0).equals(packed.table(k))


def test_a_journal_continues_bit_for_bit_from_any_chunk():
    cuts = (0, 10, 20, STEPS)
    whole = write(Journal(RUNS, CLASSIFIER), cuts, loss=diverging())
    states = []
    journal = Journal(RUNS, CLASSIFIER)
    write(journal, cuts, loss=diverging(), after_chunk=lambda: states.append(saved(journal)))
    assert len(states) == TASKS * EPOCHS * 3
    for state in states:
        resumed = Journal(RUNS, CLASSIFIER)
        resumed.load(torch.load(io.BytesIO(state), weights_only=True))
        write(resumed, cuts, loss=diverging())
        assert all(resumed.table(k).equals(whole.table(k)) for k in range(RUNS))
        assert saved(resumed) == saved(whole)


def saved(journal):
    file = io.BytesIO()
    torch.save(journal.state(), file)
    return file.getvalue()


def diverging():
    """Run 1 at the third step of task 1's second epoch, run 2 at the last step before it, run 4 at the very first."""
    loss = LOSS.copy()
    loss[1, 1, 2:, 1] = np.inf
    loss[1, 1, 5, 1] = -np.inf
    loss[1, 0, -1, 2] = np.nan
    loss[0, 0, 0, 4] = np.nan
    return loss


def test_a_run_ends_at_its_first_loss_that_is_not_finite_and_its_mates_go_on():
    whole, journal = write(Journal(RUNS, CLASSIFIER)), write(Journal(RUNS, CLASSIFIER), loss=diverging())
    assert journal.diverged.tolist() == [0, 3 * STEPS + 3, 3 * STEPS, 0, 1]
    for k in (0, 3):
        assert journal.table(k).equals(whole.table(k))
    assert journal.table(1).equals(whole.table(1).slice(0, 4))  # two epochs and task 0, one epoch of task 1
    assert journal.table(2).equals(whole.table(2).slice(0, 3))
    assert journal.table(4).num_rows == 0
    assert journal.table(4).schema == CLASSIFIER.schema


def test_what_does_not_follow_is_refused():
    journal = Journal(RUNS, CLASSIFIER)
    values = Rows({"accuracy": ACCURACY[0, 0, :10], "loss": LOSS[0, 0, :10]})
    with pytest.raises(ValueError, match="task 1"):
        journal.add_chunk(Chunk(1, 0, 10, False, HARD), values)
    with pytest.raises(ValueError, match="shape"):
        journal.add_chunk(Chunk(0, 0, 10, False, HARD), Rows({"accuracy": ACCURACY[0, 0, :9], "loss": LOSS[0, 0, :10]}))
    journal.add_chunk(Chunk(0, 0, 10, False, HARD), values)
    with pytest.raises(ValueError, match="epoch 0"):
        journal.add_chunk(Chunk(0, 1, 10, False, HARD), values)
    with pytest.raises(ValueError, match="Task 0 cannot end"):
        journal.add_task(Task(0, HARD), {"final_accuracy": FINAL[0]})
    with pytest.raises(ValueError, match="5 runs"):
        Journal(2, CLASSIFIER).load(journal.state())


def test_a_state_is_a_copy():
    journal = write(Journal(RUNS, CLASSIFIER))
    state, before = journal.state(), saved(journal)
    resumed = Journal(RUNS, CLASSIFIER)
    resumed.load(state)
    for one in (journal, resumed):
        rows = Rows({"accuracy": np.ones((1, RUNS)), "loss": np.full((1, RUNS), np.nan)})
        one.add_chunk(Chunk(3, 6, 1, True, HARD), rows)
    unchanged = Journal(RUNS, CLASSIFIER)
    unchanged.load(state)
    assert saved(unchanged) == before
    assert saved(journal) == saved(resumed) != before
