"""A journal of an agent that has episodes, and updates that are no steps."""

import io

import numpy as np
import pytest
import torch

from plasticity_lab.records.journal import Journal
from plasticity_lab.records.rows import Episodes, Rows
from tests.helpers.made_up_agent import CHUNKS, PLAYER, STEPS, Chunk, Task, rollouts

RUNS = [0, 1, 2, 3]


def saved(journal):
    file = io.BytesIO()
    torch.save(journal.state(), file)
    return file.getvalue()


def test_each_episode_is_a_row_at_the_step_at_which_it_ended():
    table = rollouts(RUNS).table(2)
    assert table.schema == PLAYER.schema
    rows = table.to_pylist()
    kinds = [row["kind"] for row in rows]
    assert (kinds.count("epoch"), kinds.count("task")) == (4, 2)
    assert kinds.count("episode") > 20
    order = [("episode", "epoch", "task").index(kind) for kind in kinds]
    places = [(row["step"], at) for row, at in zip(rows, order, strict=True)]
    assert places == sorted(places)
    for row in rows:
        assert (row["epoch"], row["task"]) == ((row["step"] - 1) // (2 * STEPS), (row["step"] - 1) // (4 * STEPS))
        assert row["body"] == 7
        has = {name for name in ("return", "length", "entropy", "regret") if row[name] is not None}
        assert (
            has == {"episode": {"return", "length"}, "epoch": {"entropy"}, "task": {"entropy", "regret"}}[row["kind"]]
        )
        if row["kind"] == "episode":
            assert (row["return"], row["length"]) == (row["step"] * 0.5, row["step"] % 30)


def test_a_run_alone_has_the_rows_it_has_in_a_pack():
    packed = rollouts(RUNS)
    counts = {packed.table(k).num_rows for k in RUNS}
    assert len(counts) > 1, "each run has its own number of episodes"
    for k in RUNS:
        assert rollouts([k]).table(0).equals(packed.table(k))


def test_a_run_that_diverges_keeps_the_episodes_before_the_rollout_s_last_step():
    journal = rollouts(RUNS)
    assert journal.diverged.tolist() == [0, 6 * STEPS, 0, 0]  # its updates are not its steps
    steps = [row["step"] for row in journal.table(1).to_pylist()]
    assert 5 * STEPS < max(steps) < 6 * STEPS


def test_it_continues_bit_for_bit_from_any_rollout():
    whole, states = rollouts(RUNS), []
    rollouts(RUNS, lambda journal: states.append(saved(journal)))
    assert len(states) == len(CHUNKS)
    for state in states:
        resumed = Journal(len(RUNS), PLAYER)
        resumed.load(torch.load(io.BytesIO(state), weights_only=True))
        rollouts(RUNS, journal=resumed)
        assert all(resumed.table(k).equals(whole.table(k)) for k in RUNS)
        assert saved(resumed) == saved(whole)


def test_the_parts_of_a_table_have_each_row_once():
    journal, whole = rollouts(RUNS), rollouts(RUNS).table(3).to_pylist()
    for told in range(1, journal.events + 1):
        part = journal.table(3, told).to_pylist()
        ends = [row for row in whole if row["kind"] != "episode"][told:]
        epochs = {row["epoch"] for row in ends if row["kind"] == "epoch"}
        assert part == [row for row in whole if row in ends or (row["kind"] == "episode" and row["epoch"] in epochs)]


def updates(count, runs=1, value=0.5):
    return {"loss": np.full((count, runs), value), "entropy": np.full((count, runs), value)}


def test_a_divergence_is_dated_by_its_update_only_where_updates_are_steps():
    for count, at in ((10, 23), (4, 30), (11, 30)):
        journal = Journal(1, PLAYER)
        journal.add_chunk(Chunk(0, 0, 20, False), Rows(updates(20)))
        loss = updates(count)
        loss["loss"][2:] = np.inf
        journal.add_chunk(Chunk(0, 0, 10, False), Rows(loss))
        assert journal.diverged.tolist() == [at]


def test_an_epoch_without_updates_has_no_means_and_is_an_epoch_all_the_same():
    journal = Journal(1, PLAYER)
    journal.add_chunk(Chunk(0, 0, 10, False), Rows(updates(0)))
    with pytest.raises(ValueError, match="epoch 0"):
        journal.add_chunk(Chunk(0, 1, 10, True), Rows(updates(0)))
    with pytest.raises(ValueError, match="Task 0 cannot end"):
        journal.add_task(Task(0), {"regret": [0.0]})
    journal.add_chunk(Chunk(0, 0, 10, True), Rows(updates(0)))
    journal.add_chunk(Chunk(0, 1, 10, True), Rows(updates(5, value=0.25)))
    journal.add_task(Task(0), {"regret": [1.5]})
    assert journal.steps == 30
    assert [(row["kind"], row["step"], row["entropy"], row["regret"]) for row in journal.table(0).to_pylist()] == [
        ("epoch", 20, None, None),
        ("epoch", 30, 0.25, None),
        ("task", 30, 0.25, 1.5),
    ]


@pytest.mark.parametrize(("run", "step"), [(1, 5), (-1, 5), (0, 0), (0, 11)])
def test_an_episode_of_another_run_or_step_is_refused(run, step):
    values = {"score": np.ones(1), "length": np.ones(1)}
    with pytest.raises(ValueError, match=r"0 to 0.*1 to 10"):
        Journal(1, PLAYER).add_chunk(
            Chunk(0, 0, 10, False), Rows(updates(1), Episodes(np.array([run]), np.array([step]), values))
        )


def test_a_state_of_other_measures_is_refused():
    from plasticity_lab.records.classifier import CLASSIFIER

    with pytest.raises(ValueError, match="measured"):
        Journal(4, CLASSIFIER).load(rollouts(RUNS).state())


def test_lately_has_the_means_of_the_last_epochs_episodes_and_no_number_that_is_not_finite():
    journal = rollouts(RUNS)
    ended = [row for k in range(4) for row in journal.table(k).to_pylist() if row["kind"] == "episode"]
    last = [row["return"] for row in ended if row["epoch"] == 3]
    lately = journal.lately()
    assert lately.keys() == {"return", "length"}
    # Run 1 diverged before: its later episodes are in no table, and still in what a pack measures.
    assert min(last) <= lately["return"] <= max(last)
    assert Journal(1, PLAYER).lately() == {}
    fresh = Journal(1, PLAYER)
    infinite = Episodes(np.array([0, 0]), np.array([3, 9]), {"score": np.array([np.inf, np.nan]), "length": np.ones(2)})
    fresh.add_chunk(Chunk(0, 0, STEPS, True), Rows({"loss": np.ones((1, 1)), "entropy": np.ones((1, 1))}, infinite))
    assert fresh.lately() == {"length": 1.0}
