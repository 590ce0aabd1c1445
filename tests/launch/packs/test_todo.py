"""What a command has left to do, over and over in one store: skipped, adopted, trained again."""

import os
from dataclasses import replace

import pytest

from launch.packs.leases import Leases
from launch.packs.owner import Owner, this_owner
from launch.packs.todo import adopted, outstanding
from launch.plan.device import kind_of
from launch.work import worker
from plasticity_lab.records.checkpoint import save_checkpoint
from plasticity_lab.records.plan import write_plan
from plasticity_lab.records.record import read_record
from tests.helpers.sweeps import after_looks, all_kept, ended_packs, planned, runs_of, trained

pytestmark = pytest.mark.sample(3)

TWO = ("activation=relu,leaky_relu", "seed=0")


def on_another_device(store, *words):
    """A plan made for a GPU."""
    plan = planned(store, *words)
    plan = replace(plan, packs=[replace(pack, kind="Some GPU") for pack in plan.packs])
    write_plan(store, plan)
    return plan


def test_finished_runs_are_skipped_and_learn_their_new_names(store):
    trained(store, "seed=0")
    plan = planned(store, "seed=0,1", "hyperparams=best")
    ((new,),) = [pack.runs for pack in plan.packs]
    (old,) = set(plan.asked) - {new}
    assert [asked["hyperparams"] for asked in read_record(store, old)["asked_as"]] == ["default", "best"]


def test_unfinished_packs_are_adopted_whole_with_id_and_mode(store):
    first = planned(store, "seed=0,1,2", "mode=compiled", "launch.workers=1")
    plan = planned(store, "seed=1,7", "mode=eager")
    assert plan.packs[0] == first.packs[0]
    assert [pack.mode for pack in plan.packs] == ["compiled", "eager"]
    assert [pack.width for pack in plan.packs] == [3, 1]
    assert set(plan.runs) == {run for pack in plan.packs for run in pack.runs}


@pytest.mark.parametrize("begun", ["no", "a checkpoint", "a live lease", "a dead lease"])
def test_a_pack_of_another_sort_of_device_stays_there_only_while_a_worker_holds_it(store, begun):
    """Begun or not: this machine's workers cannot go on with it, and nothing waits for ever."""
    (pack,) = on_another_device(store, "seed=0,1", "launch.workers=1").packs
    if begun == "a checkpoint":
        save_checkpoint(store, pack.id, 0, {"kind": "Some GPU", "mode": "eager"})
    if "lease" in begun:
        elsewhere = Owner("elsewhere", 1) if begun == "a live lease" else replace(this_owner(), started="earlier")
        assert Leases(store, 100, elsewhere).claim([pack.id])
    (now,) = planned(store, "seed=0,1", "launch.workers=1").packs
    assert now.kind == ("Some GPU" if begun == "a live lease" else kind_of("cpu"))
    assert (now.id == pack.id) == (begun != "a checkpoint")
    ended = [each["status"] for each in ended_packs(store)]
    assert ended == (["replaced"] if begun == "a checkpoint" else [])


def test_a_run_is_never_in_two_packs_that_are_left(store):
    (theirs,) = on_another_device(store, "seed=1,2", "launch.workers=1").packs
    (ours,) = planned(store, "seed=0,1", "launch.workers=1").packs
    assert set(ours.runs) & set(theirs.runs)
    save_checkpoint(store, ours.id, 0, {})
    packs, runs = adopted(store, runs_of("seed=0,1,2"), "Some GPU", 100, [])
    assert packs == [ours]
    assert sorted(runs) == sorted(ours.runs)


def test_a_rerun_is_another_attempt_with_the_same_numbers(store):
    runs = runs_of(*TWO)
    trained(store, *TWO, "hyperparams=best")
    trained(store, *TWO)
    before = all_kept(store, runs)
    assert planned(store, *TWO).packs == []
    plan = trained(store, *TWO, "rerun=true")
    assert [pack.attempt for pack in plan.packs] == [1, 1]
    assert all_kept(store, runs) == before
    for run in runs:
        record = read_record(store, run.id)
        assert record["provenance"]["attempt"] == 1
    names = [asked["hyperparams"] for run in runs for asked in read_record(store, run.id)["asked_as"]]
    assert names.count("default") == 2, "names under which it was asked for stay"
    assert names.count("best") >= 1


def test_an_interrupted_rerun_goes_on_and_a_finished_one_begins_anew(store):
    trained(store, *TWO)
    begun = trained(store, *TWO, "rerun=true", stop=after_looks(8))
    assert sorted(pack["status"] for pack in ended_packs(store)) == ["done"] * 3, "one of the rerun's two"
    assert outstanding(store, runs_of(*TWO), rerun=False, retries=2).left == [], "a plain command has nothing to do"
    (left,) = planned(store, *TWO, "rerun=true").packs
    assert left == begun.packs[1]
    trained(store, *TWO, "rerun=true")
    assert [pack.attempt for pack in planned(store, *TWO, "rerun=true").packs] == [2, 2]


def test_a_failed_run_is_planned_again(store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(worker, "train_pack", raising(ZeroDivisionError("by nought")))
        trained(store, "seed=0")
    (run,) = runs_of("seed=0")
    failed = read_record(store, run.id)
    assert failed["status"] == "failed"
    assert "Traceback" in failed["error"]
    assert "by nought" in failed["error"]
    plan = trained(store, "seed=0")
    assert plan.packs[0].attempt == 1
    assert read_record(store, run.id)["status"] == "done"


def test_a_rerun_that_fails_leaves_the_finished_record_and_is_planned_again(store, monkeypatch):
    runs = runs_of(*TWO)
    trained(store, *TWO)
    before = all_kept(store, runs)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "train_pack", raising(ZeroDivisionError("by nought"), times=1))
        again = trained(store, *TWO, "rerun=true")
    assert all_kept(store, runs) == before
    assert sorted(pack["status"] for pack in ended_packs(store)) == ["done", "done", "done", "failed"]
    (left,) = planned(store, *TWO, "rerun=true").packs
    assert (left.runs, left.attempt) == (again.packs[0].runs, 2)


@pytest.mark.walk(1)
def test_a_run_is_tried_again_as_often_as_retries_says_and_no_more(store, monkeypatch):
    monkeypatch.setattr(worker, "train_pack", raising(ZeroDivisionError("by nought")))
    (run,) = runs_of("seed=0")
    for failed in (1, 2, 3):
        trained(store, "seed=0", "launch.retries=9")
        again = outstanding(store, [run], rerun=False, retries=failed)
        assert (again.left, again.given_up) == ([run], {})
        enough = outstanding(store, [run], rerun=False, retries=failed - 1)
        assert (enough.left, enough.given_up) == ([], {run.id: failed})


def test_a_pack_killed_after_its_last_record_is_marked_as_ended_by_the_next_command(store, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    words = ("seed=0,1", "launch.workers=1", "checkpoint_minutes=0.0001")
    with monkeypatch.context() as patch:
        patch.setattr("launch.work.training.end_pack", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(store, *words)
    (pack,) = store.root.glob("packs/*")
    planned(store, *words)
    assert ended_packs(store) == [], "its worker may be alive"
    os.utime(store.lease(pack.name, 0), (1, 1))
    assert planned(store, *words).packs == []
    (ended,) = ended_packs(store)
    assert sorted(ended["runs"]) == sorted(run.id for run in runs_of(*words))
    assert not pack.exists()
    assert [*store.leases_folder.iterdir(), *store.claims_folder.iterdir()] == []


def raising(error, times=100):
    """A train_pack that fails that many times."""
    left = [error] * times

    def train_pack(*arguments):
        if left:
            raise left.pop()
        really(*arguments)

    really = worker.train_pack
    return train_pack


@pytest.mark.parametrize("alone", [True, False])
def test_a_record_deleted_by_hand_is_trained_again_though_its_pack_is_done(store, alone):
    words = ["seed=0"] if alone else ["seed=0,1", "launch.workers=1"]
    runs = runs_of(*words)
    trained(store, *words)
    before = all_kept(store, runs)
    store.record(runs[0].id).unlink()
    (pack,) = trained(store, *words).packs
    assert pack.runs == (runs[0].id,)
    assert pack.attempt == (1 if alone else 0)
    assert all_kept(store, runs) == before
