"""`launch assay`: the numbers that a run's own assays have, in its record; refusals name the reason."""

import pytest

from launch.__main__ import main
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from tests.assays.test_equation import SHORT
from tests.helpers.sweeps import trained

KEEPS = ("save_weights=tasks", "benchmark.steps=20")


def assay(store, *words):
    return main(["assay", "--store", str(store.root), "device=cpu", "mode=eager", "launch.workers=1", *words])


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "kept")


def test_the_numbers_are_those_of_runs_that_were_tried_while_they_learned(store, tmp_path, capfd):
    seen = Store(tmp_path / "seen")
    chosen = ("assay=[fresh_labels,next_task]", *SHORT, "assay.next_task.optimizer=own", "assay.next_task.moments=kept")
    runs = list(trained(seen, "seed=0,1", *KEEPS, *chosen).runs)
    trained(store, "seed=0,1", *KEEPS, "save_moments=true")
    before = {run: read_metrics(store, run) for run in runs}
    assert assay(store, *chosen) == 0
    for run in runs:
        now, expected = read_metrics(store, run), read_metrics(seen, run)
        assert now.select(before[run].column_names).equals(before[run])
        new = [name for name in now.column_names if name not in before[run].column_names]
        assert set(new) == set(expected.column_names) - set(before[run].column_names)
        tried = [row["next_task_undefined"] for row in now.to_pylist() if row["kind"] == "task"]
        assert tried == [0, 0, None], "the last task has no next one"
        for name in new:
            values = zip(now[name].to_pylist(), expected[name].to_pylist(), now["task"].to_pylist(), strict=True)
            if name.startswith("next_task"):
                values = [each for each in values if each[2] != 2]
            assert all(repr(mine) == repr(theirs) for mine, theirs, _ in values), name
        assert [each["name"] for each in read_record(store, run)["observed"]] == ["fresh_labels", "next_task"]
    told = capfd.readouterr().err
    assert f"{runs[0]}: fresh_labels at the end of task 3" in told
    assert assay(store, *chosen) == 0
    assert len(read_record(store, runs[0])["observed"]) == 2, "nothing is added twice"


def test_a_run_with_a_matrix_of_tasks_is_tried_too(store):
    (run,) = trained(store, "benchmark=split_digits", "agent=experience_replay", "seed=0", "save_weights=tasks").runs
    assert assay(store, "assay=fresh_labels", *SHORT, "--tasks", "2") == 0
    rows = [row for row in read_metrics(store, run).to_pylist() if row["kind"] == "task"]
    assert [row["fresh_labels_loss_gap"] is None for row in rows[:3]] == [True, False, True]


def test_refusals_name_the_reason(store, capfd):
    (run,) = trained(store, "seed=0", *KEEPS).runs
    bare = Store(store.root.parent / "bare")
    trained(bare, "seed=0", "benchmark.steps=20")
    for where, words, reason in [
        (store, ["assay=cloning"], "an agent that acts"),
        (store, ["assay=fresh_labels", "assay.optimizer=own", "assay.moments=kept"], "save_moments=true"),
        (store, ["assay=fresh_labels", "seed=1"], "seed=1 is about the training"),
        (store, ["assay=fresh_labels", "--tasks", "9"], "at the end of task 9"),
        (store, ["assay=fresh_labels", "--tasks", "0"], "numbers from 1"),
        (store, [], "assay=fresh_labels"),
        (bare, ["assay=fresh_labels"], "save_weights=tasks"),
    ]:
        assert assay(where, *words) == 1, words
        assert reason in capfd.readouterr().err, words
    assert not read_record(store, run).get("observed")


def test_moments_are_kept_if_asked_and_change_the_assay(store):
    (run,) = trained(store, "seed=0", *KEEPS, "save_moments=true").runs
    words = ("assay=fresh_labels", "assay.optimizer=own", "assay.moments=kept", *SHORT)
    assert assay(store, *words, "--tasks", "1,3") == 0
    kept = read_metrics(store, run)["fresh_labels_aged_loss"].to_pylist()
    assert [value is None for value in kept] == [True, False, True, True, True, False]
    assert assay(store, "assay=fresh_labels", "assay.optimizer=own", *SHORT, "--tasks", "1,3") == 0
    new = read_metrics(store, run)["fresh_labels_aged_loss"].to_pylist()
    assert new[1] != kept[1]
