"""Runs that fail, in packs with runs that do not: who is at fault fails alone, and nobody else notices."""

import itertools
import os

import pytest

from launch.__main__ import main
from launch.command import run_command
from launch.packs import leases
from launch.packs.leases import Leases
from launch.packs.owner import Kills, Owner
from launch.work import training, worker
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.record import read_record
from tests.helpers.failing_activations import AT_FAULT, planted
from tests.helpers.sweeps import (
    SMOKE,
    after_looks,
    all_kept,
    ended_packs,
    never,
    planned,
    runs_of,
    said_last,
    trained,
    work,
)

pytestmark = pytest.mark.sample(1)

MATES = "0.01,0.02,0.03,0.04,0.05,0.06,0.07"
ONE_WORKER = "launch.workers=1"


@pytest.fixture
def path(tmp_path):
    return planted(tmp_path)


def slopes(values):
    return f"activation.negative_slope={values}"


def statuses(store, *words):
    return [read_record(store, run.id)["status"] for run in runs_of(*words)]


def vanish(store, pack, times):
    """That many workers of other hosts claim a pack in turn, and are not heard of again."""
    for number in range(times):
        lease = Leases(store, 100, Owner(f"node{number}", 1)).claim([pack.id])
        os.utime(store.lease(pack.id, lease.epoch), (1, 1))


@pytest.fixture
def memory_runs_out(monkeypatch):
    """The kernel counts one more kill each time that it is asked, as when each worker in turn was killed for memory."""
    kills = itertools.count(7)

    def prepare():
        monkeypatch.setattr(leases, "oom_kills", lambda: Kills("this machine", next(kills)))

    return prepare


def test_the_run_at_fault_fails_alone_and_its_mates_do_not_notice(store, path, undisturbed, caplog):
    caplog.set_level("INFO", logger="launch")
    words = (path, "activation=broken", ONE_WORKER)
    plan = planned(store, *words, slopes(f"{MATES},{AT_FAULT}"))
    assert [pack.width for pack in plan.packs] == [8]
    assert not work(store, plan.sweep, "cpu", never), "a run failed"
    (guilty,) = runs_of(*words, slopes(AT_FAULT))
    mates = runs_of(*words, slopes(MATES))
    assert all_kept(store, mates) == undisturbed(*words, slopes(MATES))
    record = read_record(store, guilty.id)
    assert record["status"] == "failed"
    assert "in fail\n" in record["error"], "the traceback"
    assert (record["provenance"]["width"], record["provenance"]["failures"]) == (1, 1)
    assert sorted(pack["status"] for pack in ended_packs(store)) == [*["divided"] * 3, *["done"] * 3, "failed"]
    assert sorted(run for pack in ended_packs(store) for run in pack["runs"]) == sorted(plan.asked), "each ended once"
    assert [line.message for line in caplog.records] == [
        "A pack of broken · permuted_digits is divided: RuntimeError: this formula is broken",
        "A run of broken · permuted_digits failed: RuntimeError: this formula is broken",
    ]
    assert list((store.root / "packs").iterdir()) == []
    assert list(store.leases_folder.iterdir()) == []


def test_what_one_runs_component_refuses_fails_that_run_alone(store, monkeypatch):
    really = worker.train_pack
    runs = runs_of("seed=range(3)")

    def train_pack(session):
        if runs[2].id in session.pack.runs:
            raise ConfigError("activation.negative_slope is wrong for seed 2.")
        really(session)

    monkeypatch.setattr(worker, "train_pack", train_pack)
    trained(store, "seed=range(3)", ONE_WORKER)
    assert statuses(store, "seed=range(3)") == ["done", "done", "failed"]
    assert read_record(store, runs[2].id)["error"] == "activation.negative_slope is wrong for seed 2."


def test_a_diverging_run_beside_the_one_at_fault_is_a_result(store, path):
    words = (path, "activation=broken", slopes(f"0.01,{AT_FAULT}"), "optimizer.lr=1e30,0.001", ONE_WORKER)
    trained(store, *words)
    found = {
        (run.science["activation"]["negative_slope"], run.science["optimizer"]["lr"]): status
        for run, status in zip(runs_of(*words), statuses(store, *words), strict=True)
    }
    assert found == {
        (0.01, 1e30): "diverged",
        (0.01, 0.001): "done",
        (AT_FAULT, 1e30): "failed",  # before its divergence was noticed
        (AT_FAULT, 0.001): "failed",
    }
    again = [run for pack in planned(store, *words).packs for run in pack.runs]
    assert [read_record(store, run)["status"] for run in again] == ["failed", "failed"]


def test_what_fails_every_run_is_noticed_after_a_few(store, path, monkeypatch, caplog):
    caplog.set_level("INFO", logger="launch")
    begun = []
    really = worker.train_pack
    monkeypatch.setattr(worker, "train_pack", lambda session: begun.append(session.pack.width) or really(session))
    words = (path, "activation=all_broken", "seed=range(16)", ONE_WORKER)
    plan = planned(store, *words)
    work(store, plan.sweep, "cpu", never)
    assert statuses(store, *words) == ["failed"] * 16
    assert len(begun) < 20
    assert begun.count(1) < 6
    assert len(caplog.records) == 2, "once that packs are divided, once that runs failed"
    errors = [read_record(store, run.id)["error"] for run in runs_of(*words)]
    assert all("RuntimeError: this formula is broken for all" in error for error in errors)
    assert sum("was not divided to find the runs at fault" in error for error in errors) > 8


def test_a_pack_that_lacks_memory_is_divided_until_it_fits(store, path):
    plain = planned(store, path, "activation=hungry", "seed=range(5)", ONE_WORKER)
    assert [pack.width for pack in plain.packs] == [5]
    assert work(store, plain.sweep, "cpu", never), "nothing failed"
    assert sorted(len(pack["runs"]) for pack in ended_packs(store) if pack["status"] == "done") == [1, 2, 2]
    assert statuses(store, path, "activation=hungry", "seed=range(5)") == ["done"] * 5


def test_halves_are_adopted_by_later_plans_and_shared_with_other_sweeps(store, path):
    words = (path, "activation=hungry", ONE_WORKER)
    first = planned(store, *words, "seed=range(4)")
    work(store, first.sweep, "cpu", stop=lambda: bool(ended_packs(store)))
    second = planned(store, *words, "seed=range(5)")
    assert sorted(pack.width for pack in second.packs) == [1, 2, 2]
    work(store, second.sweep, "cpu", never)
    assert work(store, first.sweep, "cpu", never)
    assert statuses(store, *words, "seed=range(5)") == ["done"] * 5


def test_a_pack_whose_workers_vanish_is_divided(store):
    plan = planned(store, "seed=0,1,2", ONE_WORKER)
    (pack,) = plan.packs
    vanish(store, pack, 2)
    one, two = pack.halves()
    vanish(store, one, 2)
    vanish(store, two, 2)
    assert {one.width, two.width} == {1, 2}
    assert work(store, plan.sweep, "cpu", never)
    assert statuses(store, "seed=0,1,2") == ["done"] * 3


@pytest.mark.parametrize(
    ("times", "evidence", "status"),
    [(9, None, "done"), (10, None, "failed"), (3, "kernel", "failed"), (3, "slurm", "failed")],
)
def test_workers_that_vanish_make_a_run_fail_if_memory_ran_out_or_after_ten(
    store, memory_runs_out, times, evidence, status
):
    """Administrators, other users and lost nodes kill some; ten, all before the first checkpoint, are no accident."""
    asked, known = [], {}
    if evidence == "kernel":
        memory_runs_out()
    if evidence == "slurm":
        known["died_of_memory"] = lambda owner: not asked.append(owner.host)
    plan = planned(store, "seed=7")
    vanish(store, plan.packs[0], times)
    assert work(store, plan.sweep, "cpu", never, **known) == (status == "done")
    record = read_record(store, plan.asked[0])
    assert record["status"] == status
    assert status == "done" or record["error"].startswith(f"{times} workers")
    assert asked == (["node2", "node1", "node0"] if evidence == "slurm" else [])


def test_a_begun_pack_is_not_divided_for_workers_that_vanish(store, memory_runs_out):
    """It would lose its checkpoint."""
    begun = trained(store, "seed=0,1", ONE_WORKER, stop=after_looks(4))
    vanish(store, begun.packs[0], 5)
    assert work(store, begun.sweep, "cpu", never)
    assert [pack["status"] for pack in ended_packs(store)] == ["done"]
    memory_runs_out()
    begun = trained(store, "seed=2,3", ONE_WORKER, stop=after_looks(4))
    vanish(store, begun.packs[0], 2)
    assert work(store, begun.sweep, "cpu", never)
    assert "divided" in {pack["status"] for pack in ended_packs(store)}


def test_the_first_checkpoint_comes_soon_and_the_next_at_the_usual_pace(store, monkeypatch):
    """So that workers which vanish later are seen not to have died of the pack's beginning."""
    saved = []
    monkeypatch.setattr(training, "FIRST_CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(training, "save_checkpoint", lambda store, pack, epoch, payload: saved.append(payload))
    trained(store, "seed=0", "checkpoint_minutes=60")
    assert len(saved) == 1
    assert saved[0]["journal"]["steps"] == 90, "after the first task's only chunk"


def test_workers_that_vanish_are_no_evidence_where_something_else_explains_it(store):
    """One only, and one that gave the pack back; a checkpoint between; jobs that Slurm has started anew."""
    (given_back,) = planned(store, "seed=0,1", ONE_WORKER).packs
    vanish(store, given_back, 1)
    Leases(store, 100, Owner("other", 1)).claim([given_back.id]).release()
    (further,) = planned(store, "seed=2,3", ONE_WORKER).packs
    vanish(store, further, 1)
    work(store, sweep_id(further.runs), "cpu", after_looks(4))
    assert latest_epoch(store, further.id) >= 0
    vanish(store, further, 2)
    (restarted,) = planned(store, "seed=4,5", ONE_WORKER).packs
    for restart in range(4):
        lease = Leases(store, 100, Owner("node", 1, job="7", restart=restart)).claim([restarted.id])
        os.utime(store.lease(restarted.id, lease.epoch), (1, 1))
    plan = planned(store, "seed=range(6)", ONE_WORKER)
    work(store, plan.sweep, "cpu", never)
    assert {pack["status"] for pack in ended_packs(store)} == {"done"}


def test_a_pack_that_a_worker_vanished_from_is_left_for_last(store):
    plan = planned(store, "activation=relu,tanh,sigmoid", "seed=0", ONE_WORKER)
    vanish(store, plan.packs[0], 1)
    claimed = [Leases(store, 100, Owner("node", 1)).claim([pack.id for pack in plan.packs]).pack for _ in plan.packs]
    assert claimed == [pack.id for pack in [*plan.packs[1:], plan.packs[0]]]


def test_a_run_is_retried_so_often_and_then_stays_failed(store, path, undisturbed, capsys):
    words = (path, "activation=broken", slopes(f"0.01,{AT_FAULT}"), ONE_WORKER, "launch.retries=1")
    for often in (1, 2):
        plan = trained(store, *words)
        (guilty,) = runs_of(*words[:2], slopes(AT_FAULT))
        assert read_record(store, guilty.id)["provenance"]["failures"] == often
    assert [pack.runs for pack in plan.packs] == [(guilty.id,)]
    assert planned(store, *words).packs == []
    assert main(["status", "--store", str(store.root)]) == 0
    told = capsys.readouterr().out
    assert run_command(said_last(*SMOKE, f"store={store.root}", *words)) == 1
    for said in (told, capsys.readouterr().err):
        assert all(key in said for key in ("1 run failed 2 times", "launch.retries=2", "rerun=true"))
    more = (*words[:2], slopes(f"0.01,0.02,0.03,{AT_FAULT}"), ONE_WORKER)
    assert sorted(pack.width for pack in planned(store, *more).packs) == [1, 2], "it stays alone"
    assert len(planned(store, *words, "rerun=true").packs) > 0
    mate = (*words[:2], slopes("0.01"))
    assert all_kept(store, runs_of(*mate)) == undisturbed(*mate)
