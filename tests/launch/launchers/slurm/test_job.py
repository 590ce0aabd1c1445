"""A worker in a Slurm job, without Slurm: what it answers to signals, and when it claims no more."""

import dataclasses
import pickle
import pickletools
import signal
import subprocess
from dataclasses import asdict

import pytest

from launch.launchers.slurm import cluster, job
from launch.launchers.slurm.cluster import JobState
from launch.launchers.slurm.job import JobWorker
from launch.launchers.slurm.own_jobs import OwnJob
from launch.launchers.slurm.pickled import PickledWorker
from launch.packs import submissions
from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.packs.submissions import Outcome, add_cancellation, ask, cancellations, decide, outcome_of
from launch.work import claiming, worker
from launch.work.worker import OutOfTime, Superseded
from plasticity_lab.records.checkpoint import load_checkpoint, save_checkpoint
from plasticity_lab.records.plan import write_plan
from plasticity_lab.records.store import Store
from tests.helpers.signals import send
from tests.helpers.slurm_files import PARAMETERS, given_to_slurm, in_accounting
from tests.helpers.stand_ins import put_on_path, tells
from tests.helpers.stores import SETTINGS
from tests.helpers.sweeps import ended_packs, never, planned, work

pytestmark = pytest.mark.sample(8)

FIRST = Owner("node1", 1, job="60", task="3")


@pytest.fixture(autouse=True)
def _signals(signals_as_before):
    """Each test begins without a job's."""


@pytest.fixture
def in_job(store, monkeypatch):
    """Runs a worker as job 60_3 → how it left: "back" into the queue, or it "waits" to be killed; its exit status."""
    for name, value in {"SLURM_JOB_ID": "61", "SLURM_ARRAY_JOB_ID": "60", "SLURM_ARRAY_TASK_ID": "3"}.items():
        monkeypatch.setenv(name, value)
    told = []

    def leave(name, restart, back, cancelled):
        told.append(f"{'back' if back() else 'waits'} {name} {restart}")
        return 1

    monkeypatch.setattr(cluster, "seconds_left", lambda name: None)
    monkeypatch.setattr(job, "leave", leave)

    def run(plan, kind="cpu", starts=100, store=store, submission=1, cancellations=0):
        with pytest.raises(SystemExit) as left:
            JobWorker(str(store.root), plan.sweep, False, kind, 180, starts, submission, cancellations)()
        return told, left.value.code

    return run


@pytest.fixture
def when_training(monkeypatch):
    """Does something just before the first pack is trained."""

    def prepare(happens):
        really = worker.train_pack

        def train_pack(*given):
            happens()
            return really(*given)

        monkeypatch.setattr(worker, "train_pack", train_pack)

    return prepare


@pytest.mark.parametrize(
    ("number", "left"), [(signal.SIGUSR1, "back"), (signal.SIGUSR2, "back"), (signal.SIGTERM, "waits")]
)
def test_a_worker_that_must_go_leaves_a_checkpoint(store, in_job, when_training, number, left):
    """After SIGTERM it waits: only Slurm knows whether the job is preempted, and comes back, or is cancelled."""
    plan = planned(store, "seed=0")
    when_training(lambda: send(number))
    assert in_job(plan) == ([f"{left} 60_3 0"], 1)
    assert load_checkpoint(store, plan.packs[0].id) is not None
    assert ended_packs(store) == []
    assert not Leases(store, 100, Owner("elsewhere", 1)).state([plan.packs[0].id])[plan.packs[0].id].held


@pytest.mark.parametrize("number", [None, signal.SIGUSR2, signal.SIGTERM])
def test_what_is_cancelled_leaves_a_checkpoint_and_does_not_come_back(
    store, in_job, when_training, monkeypatch, number
):
    """Whatever Slurm says, or where it says nothing: its controller may be away."""
    monkeypatch.setattr(submissions, "LOOK_SECONDS", 0.0)
    plan = planned(store, "seed=0")

    def cancelled():
        if cancellations(store, plan.sweep):
            return
        add_cancellation(store, plan.sweep)
        if number is not None:
            send(number)

    when_training(cancelled)
    assert in_job(plan) == ([], 0)
    assert load_checkpoint(store, plan.packs[0].id) is not None
    assert ended_packs(store) == []
    assert in_job(plan) == ([], 0), "started all the same, it leaves at once"
    assert ended_packs(store) == []
    assert in_job(plan, cancellations=1) == ([], 0)
    assert len(ended_packs(store)) == 1, "submitted after the cancellation, it trains"


def test_a_worker_trains_unless_its_submission_counts_as_lost(store, in_job):
    """If the command was killed before it could write its job, the first worker does so."""
    plan = planned(store, "seed=0")
    lost, asked = (ask(store, plan.sweep, PARAMETERS, SETTINGS, 0, None) for _ in range(2))
    decide(store, plan.sweep, lost.number, Outcome(None, why="its command was killed"))
    assert in_job(plan, submission=lost.number) == ([], 0)
    assert ended_packs(store) == []
    assert in_job(plan, submission=asked.number) == ([], 0)
    assert outcome_of(store, plan.sweep, asked.number) == Outcome("60", 1)
    assert len(ended_packs(store)) == 1


def test_it_starts_anew_only_so_often(store, in_job, when_training, monkeypatch):
    plan = planned(store, "seed=0")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    when_training(lambda: send(signal.SIGUSR2))
    assert in_job(plan, starts=2) == ([], 1)


def test_a_failed_run_makes_a_failed_job(store, in_job, when_training):
    plan = planned(store, "activation=relu,tanh", "launch.workers=1")
    fails = iter([True, False])

    def fail():
        if next(fails):
            raise ZeroDivisionError

    when_training(fail)
    assert in_job(plan) == ([], 1)
    assert sorted(pack["status"] for pack in ended_packs(store)) == ["done", "failed"]


def test_a_store_that_the_node_does_not_see_is_said_first_and_not_made(store, in_job, tmp_path, caplog):
    plan = planned(store, "seed=0")
    store.root.rename(tmp_path / "moved")
    assert in_job(plan) == ([], 1)
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith(f"Worker of sweep {plan.sweep} in job 60_3 on ")
    assert second.startswith(f"This node does not see sweep {plan.sweep} in {store.root}: ")
    assert not store.root.exists()


def test_a_store_that_stays_read_only_puts_the_job_back_into_the_queue(small_disk, in_job, caplog, monkeypatch):
    monkeypatch.setattr("launch.work.patience.LONGEST_FAULT_SECONDS", 0.5)
    store = Store(small_disk / "store")
    plan = planned(store, "seed=0")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert in_job(plan, store=store) == (["back 60_3 0"], 1)
    assert "the disk is mounted read-only; have it mounted writable" in caplog.text


@pytest.mark.parametrize(("state", "ended"), [("PENDING|Resources", []), ("RUNNING|None", ["replaced", "done"])])
def test_what_was_begun_on_another_kind_is_left_while_a_job_is_to_start(store, in_job, monkeypatch, state, ended):
    """It may get such a node; where none is to start, nobody else will come."""
    monkeypatch.setattr(claiming, "FREE_SECONDS", 0.0)
    monkeypatch.setattr(job, "PATIENCE_IN_LEASES", 0.01)
    plan = planned(store, "seed=0", "launch.lease_seconds=2")
    (pack,) = plan.packs
    save_checkpoint(store, pack.id, 0, {"kind": "cpu-default-00000a", "mode": "eager", "journal": {"steps": 90}})
    given_to_slurm(store, plan.sweep, {"60": 2})
    states = [OwnJob("60", JobState("60_1", *state.split("|")), "me", None)]
    monkeypatch.setattr(job, "own_jobs", lambda store, submitted: dict.fromkeys(submitted, states))
    assert in_job(plan) == ([], 0)
    assert sorted(pack["status"] for pack in ended_packs(store)) == sorted(ended)


def test_a_pack_for_which_there_is_no_time_is_left_unless_it_is_the_first(store):
    plan = planned(store, "activation=relu,tanh", "launch.workers=1")
    with pytest.raises(OutOfTime) as out:
        work(store, plan.sweep, "cpu", never, time_for=lambda seconds: False)
    assert out.value.well
    assert len(ended_packs(store)) == 1
    held = Leases(store, 100, Owner("elsewhere", 1))
    assert held.claim([pack.id for pack in plan.packs]) is not None
    asked = iter([True])
    done = {pack["runs"][0] for pack in ended_packs(store)}
    assert len(done) == 1
    assert work(store, plan.sweep, "cpu", never, lambda seconds: next(asked), patience=0.1), "held by others: no hurry"


def test_a_plan_made_while_it_worked_is_worked_on_too(store, when_training):
    plan = planned(store, "activation=relu,tanh", "launch.workers=1")
    whole = store.plan(plan.sweep).read_bytes()
    write_plan(store, dataclasses.replace(plan, packs=plan.packs[:1]))
    when_training(lambda: store.plan(plan.sweep).write_bytes(whole))
    assert work(store, plan.sweep, "cpu", never)
    assert len(ended_packs(store)) == 2


def test_a_ghost_stops_when_its_heir_has_taken_its_pack(store, monkeypatch, when_training):
    plan = planned(store, "activation=relu,tanh", "seed=0", "launch.workers=1")
    monkeypatch.setattr(worker, "this_owner", lambda: FIRST)
    heir = Leases(store, 100, dataclasses.replace(FIRST, host="node2", restart=1))
    taken = []

    def inherit():
        lease = heir.claim([plan.packs[0].id])
        assert lease.epoch == 1
        taken.append(lease)

    when_training(inherit)
    with pytest.raises(Superseded):
        work(store, plan.sweep, "cpu", never)
    assert ended_packs(store) == []
    assert len(taken) == 1
    assert taken[0].finish({"status": "done"})
    assert Leases(store, 100, FIRST).inherited(plan.packs[0].id)
    assert not heir.inherited(plan.packs[0].id)


def test_what_is_pickled_into_a_job_names_one_module_alone(monkeypatch):
    """The job may start after the code was updated: what else it needs is looked up then."""
    began = []
    monkeypatch.setattr(JobWorker, "__call__", lambda worker, signals: began.append(worker))
    worker = JobWorker("store", "sweep", False, "cpu", 180.0, 3, 1, 0)
    content = pickle.dumps(PickledWorker(asdict(worker)))
    modules = {
        word for _, word, _ in pickletools.genops(content) if isinstance(word, str) and word.startswith("launch")
    }
    assert modules == {"launch.launchers.slurm.pickled"}
    pickle.loads(content)()
    assert began == [worker]


def test_a_node_of_another_kind_is_a_sentence(store, in_job, caplog):
    assert in_job(planned(store, "seed=0"), kind="NVIDIA H200") == ([], 1)
    assert "The packs are planned for NVIDIA H200, and job 60_3 was given a cpu" in caplog.text


def test_slurm_is_asked_whether_memory_ran_out(store, tmp_path, monkeypatch):
    """Of a job of the same number that this store has not submitted nothing follows."""
    monkeypatch.setattr(job, "this_owner", lambda: FIRST)
    (asked,) = given_to_slurm(store, planned(store, "seed=0").sweep, {"60": 5})

    def died(owner, **other):
        ended = in_accounting(asked, "60_3|OUT_OF_MEMORY|0:125|n1", "60_4|NODE_FAIL|0:0|n1", **other)
        put_on_path(monkeypatch, tmp_path / "bin", squeue="", sacct=tells(*ended), scontrol="")
        return job._died_of_memory(store, owner)

    assert died(FIRST)
    assert not died(dataclasses.replace(FIRST, task="4"))
    assert not died(Owner("node1", 1))
    assert not died(FIRST, line="sbatch train.sh")
