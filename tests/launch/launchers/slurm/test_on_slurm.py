"""Sweeps on a real Slurm: what becomes of them when it takes their nodes away."""

import os
import signal
import time

import pytest

from launch.__main__ import main
from plasticity_lab.records.record import read_record
from tests.helpers.failing_activations import AT_FAULT, planted
from tests.helpers.slurm_jobs import (
    LONG,
    announce,
    bring_back,
    checkpoints,
    ended,
    field,
    jobs_of,
    let_train,
    log_of,
    lose,
    order,
    processes_of_steps,
    push_out,
    submitted,
)
from tests.helpers.sweeps import all_kept, command, ended_packs, runs_of, said, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


def test_every_activation_comes_to_the_local_launchers_numbers_each_run_once(slurm, store, undisturbed):
    words = ("activation=glob(*,exclude=[aid,hadamard])", "seed=0,1,2")
    options = ("launch.workers=3", "launch.wait=true", "checkpoint_minutes=5", "launch.lease_seconds=60")
    status, err = said(store, "hydra/launcher=packed_slurm", "hydra.launcher.partition=cpu", *options, *words)
    assert status == 0, err
    assert "3 workers in partition cpu" in err
    assert "All 57 runs are finished: 57 done" in err
    assert all_kept(store, runs_of(*words)) == undisturbed(*words)
    packs = ended_packs(store)
    assert sorted(run for pack in packs for run in pack["runs"]) == sorted(run.id for run in runs_of(*words))
    assert {pack["owner"]["task"] for pack in packs} <= {"0", "1", "2"}


@pytest.mark.parametrize("how", ["announced_twice", "requeued", "preempted", "preempted_with_grace"])
def test_a_worker_that_must_go_leaves_a_checkpoint_and_comes_back(slurm, store, undisturbed, tmp_path, how):
    partition = {"preempted": "preempt", "preempted_with_grace": "preempt_grace"}.get(how, "cpu")
    # Where it has no grace time it is writing just then, whenever that is.
    writes = 0.0001 if how == "preempted" else 60
    words = (*LONG, f"checkpoint_minutes={writes}")
    job = submitted(store, f"hydra.launcher.partition={partition}", *words)
    let_train(store)
    if how == "announced_twice":
        # Not by scancel, which asks again for half a minute, and so meets the next start.
        announce(store)
        time.sleep(0.3)  # while the first one is answered
        announce(store)
    elif how == "requeued":
        order("scontrol", "requeue", job)
    else:
        push_out(tmp_path, "--nodes=2")
    wait_until(lambda: bool(checkpoints(store)))
    assert ended(job) == "COMPLETED", log_of(store)
    assert int(field(job, "Restarts")) == 1
    (pack,) = ended_packs(store)
    assert (pack["epoch"], pack["owner"]["restart"]) == (1, 1)
    assert ("Back into the queue" in log_of(store)) is (how == "announced_twice")
    assert all_kept(store, runs_of(*LONG)) == undisturbed(*LONG)


def test_what_a_person_cancels_as_its_end_is_announced_stays_cancelled(slurm, store):
    """As long as a cancelled job's processes end, Slurm would take an order to put it back into the queue."""
    job = submitted(store, *LONG)
    let_train(store)
    order("scancel", "--signal=USR2", job)
    order("scancel", job)
    assert ended(job) == "CANCELLED", log_of(store)
    assert int(field(job, "Restarts")) == 0
    assert len(checkpoints(store)) == 1


def test_what_was_cancelled_stays_cancelled_until_the_command_is_given_again(slurm, store, undisturbed):
    job = submitted(store, *LONG)
    let_train(store)
    order("scancel", job)
    assert ended(job) == "CANCELLED"
    assert checkpoints(store) == ["checkpoint.0"]
    again = submitted(store, *LONG)
    assert again != job
    assert ended(again) == "COMPLETED", log_of(store)
    assert all_kept(store, runs_of(*LONG)) == undisturbed(*LONG)


def test_a_killed_worker_is_replaced_by_its_mate(slurm, store):
    words = (*LONG, "activation=relu,tanh", "launch.workers=2", "checkpoint_minutes=0.002")
    job = submitted(store, *words)
    let_train(store)
    order("scancel", "--signal=KILL", f"{job}_0")
    assert ended(f"{job}_1") == "COMPLETED", log_of(store)
    assert {pack["owner"]["task"] for pack in ended_packs(store)} == {"1"}
    assert len(all_kept(store, runs_of(*words))) == 2


def test_the_time_limit_is_met_by_going_back_into_the_queue(slurm, store):
    """Slurm looks at time limits every half minute: the run has to last longer, on a fast machine too."""
    words = (*LONG, "benchmark.tasks=20000")
    job = submitted(store, "hydra.launcher.timeout_min=2", "hydra.launcher.signal_delay_s=58", *words)
    let_train(store)
    order("scontrol", "update", f"JobId={job}", "TimeLimit=1")  # the shortest that Slurm has
    wait_until(lambda: int(field(job, "Restarts")) >= 1)
    order("scontrol", "update", f"JobId={job}", "TimeLimit=10")
    assert checkpoints(store) == ["checkpoint.0"]
    wait_until(lambda: "start 2" in log_of(store))
    assert "Back into the queue" in log_of(store)


def test_the_submitting_process_can_be_killed_once_it_has_submitted(slurm, store, undisturbed):
    with command(store, "hydra/launcher=packed_slurm", "launch.wait=true", *LONG) as process:
        wait_until(lambda: bool(jobs_of(store)))
        process.kill()
    (job,) = jobs_of(store)
    assert ended(job) == "COMPLETED", log_of(store)
    assert all_kept(store, runs_of(*LONG)) == undisturbed(*LONG)


def test_cancel_stops_and_resume_goes_on_once(slurm, store, undisturbed, capsys):
    words = (*LONG, "activation=relu,tanh", "launch.workers=1")
    job = submitted(store, *words)
    let_train(store)
    assert main(["cancel", "--store", str(store.root)]) == 0
    assert "1 job cancelled" in capsys.readouterr().err
    assert ended(job) in ("CANCELLED", "COMPLETED"), "the worker may have seen it in the store first"
    assert checkpoints(store) == ["checkpoint.0"]
    for _ in range(2):
        assert main(["resume", "--store", str(store.root)]) == 0
    first, *others = jobs_of(store)
    assert (first, len(others)) == (job, 1), "resumed twice, and started once"
    assert ended(others[0]) == "COMPLETED", log_of(store)
    assert all_kept(store, runs_of(*words)) == undisturbed(*words)
    assert main(["resume", "--store", str(store.root)]) == 0
    assert "All 2 runs are finished already" in capsys.readouterr().err


def test_a_node_lost_with_its_worker_alive_harms_nothing(slurm, store, undisturbed):
    """slurmd is killed: the node counts as lost, and its job starts anew elsewhere; then the first worker trains on."""
    words = (*LONG, "checkpoint_minutes=0.05")
    job = submitted(store, *words)
    let_train(store)
    node = field(job, "NodeList")
    alive = processes_of_steps(store)
    lose(node)
    for process in alive:
        os.kill(process, signal.SIGSTOP)  # it would be done before the node counts as lost
    try:
        wait_until(lambda: any(path.suffix == ".1" for path in store.leases_folder.iterdir()))
    finally:
        for process in alive:
            os.kill(process, signal.SIGCONT)
    try:
        assert ended(job) == "COMPLETED", log_of(store)
        assert field(job, "NodeList") != node
    finally:
        bring_back(node)
    (pack,) = ended_packs(store)
    assert (pack["epoch"], pack["owner"]["restart"]) == (1, 1)
    assert all_kept(store, runs_of(*LONG)) == undisturbed(*LONG)
    wait_until(lambda: "this process of it ends" in log_of(store))


def test_a_run_whose_workers_are_killed_each_time_fails_in_the_end(slurm, store, undisturbed, tmp_path):
    mates = "activation.negative_slope=0.01,0.02,0.03"
    words = (planted(tmp_path), "activation=killed")
    once = ("launch.workers=1", "hydra.launcher.partition=cpu", "launch.lease_seconds=30", "checkpoint_minutes=60")
    job = submitted(store, *words, f"{mates},{AT_FAULT}", *once)
    assert ended(job) == "FAILED", log_of(store)
    (guilty,) = runs_of(*words, f"activation.negative_slope={AT_FAULT}")
    for _ in range(15):  # two workers for packs of 4 and of 2, ten for it alone, and one that says so
        assert main(["resume", "--store", str(store.root)]) == 0
        ended(jobs_of(store)[-1])
        record = read_record(store, guilty.id)
        if record is not None:
            break
    assert record["status"] == "failed"
    assert "10 workers in turn have vanished" in record["error"]
    assert all_kept(store, runs_of(*words, mates)) == undisturbed(*words, mates)
