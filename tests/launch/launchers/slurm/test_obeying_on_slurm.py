"""Sweeps on a real Slurm that are cancelled, or submitted twice, while its controller or their clients are killed."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from launch.__main__ import main
from launch.packs.lease_files import LeaseFiles
from launch.packs.submissions import submissions_of
from plasticity_lab.records.plan import read_plan, sweeps_of
from tests.helpers.slurm_jobs import (
    LONG,
    announce,
    checkpoints,
    ended,
    field,
    jobs_in,
    jobs_of,
    let_train,
    log_of,
    order,
    processes_of_steps,
    resume_drained,
    standing,
    submitted,
)
from tests.helpers.stand_ins import put_on_path
from tests.helpers.sweeps import PATIENCE, all_kept, command, ended_packs, runs_of, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.slow]
ON_SLURM = ("hydra/launcher=packed_slurm", *LONG)
ENDLESS = ("benchmark.tasks=20000", "checkpoint_minutes=60", "launch.lease_seconds=30", "activation=relu,tanh")


@pytest.fixture
def without_controller(slurm):
    """Ends slurmctld; it is back after the test, or when the function that this gives is called.

    It may save what it knows first: killed outright it forgets the jobs of its last seconds, and gives their numbers to
    the next, which nodes then refuse to start. That is chaos's matter.
    """
    file = Path(os.environ["SLURM_CONF"]).parents[1] / "pid" / "slurmctld.pid"

    def back():
        if not file.exists():
            order("slurmctld")
            wait_until(lambda: subprocess.run(["scontrol", "ping"], capture_output=True).returncode == 0)

    def end():
        process = int(file.read_text())
        os.kill(process, signal.SIGTERM)
        wait_until(lambda: not Path(f"/proc/{process}").exists())
        file.unlink(missing_ok=True)
        return back

    yield end
    back()


def trains_nobody(store):
    """Whether no pack of the store's one sweep is held."""
    (sweep,) = sweeps_of(store)
    packs = [pack.id for pack in read_plan(store, sweep).packs]
    return not any(state.held for state in LeaseFiles(store).states(packs, 30).values())


def test_a_command_given_twice_at_once_starts_one_array_and_cancel_ends_it(slurm, store, capsys, tmp_path):
    words = ("hydra/launcher=packed_slurm", *ENDLESS, "launch.workers=2")
    with command(store, *words) as first, command(store, *words) as second:
        said = [process.communicate(timeout=PATIENCE)[1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), said
    assert len(jobs_of(store)) == 1, said
    let_train(store)
    assert main(["cancel", "--store", str(store.root)]) == 0
    assert "2 jobs cancelled" in capsys.readouterr().err
    assert trains_nobody(store)
    assert checkpoints(store)
    assert not jobs_in(tmp_path)


def test_a_cancelled_sweep_stops_without_the_controller(store, without_controller, capsys):
    job = submitted(store, *ENDLESS, "launch.workers=2")
    let_train(store)
    back = without_controller()
    assert main(["cancel", "--store", str(store.root)]) == 1
    assert "no worker trains now" in capsys.readouterr().err, log_of(store)
    assert trains_nobody(store)
    assert checkpoints(store)
    back()
    assert main(["cancel", "--store", str(store.root)]) == 0
    assert ended(job) in ("COMPLETED", "CANCELLED")


def test_a_client_killed_while_it_submits_leaves_a_sweep_that_is_trained_and_known(
    slurm, store, undisturbed, tmp_path, monkeypatch
):
    # Where nobody reads its stderr any more, a first line of complaint (the controller is busy) would end sbatch.
    answer = tmp_path / "sbatch.err"
    sbatch = f'touch {tmp_path}/called; sleep 1; exec /usr/bin/sbatch "$@" 2> {answer}'
    put_on_path(monkeypatch, tmp_path / "bin", sbatch=sbatch)
    with command(store, *ON_SLURM) as process:
        wait_until((tmp_path / "called").exists)
        process.kill()

    def begun():
        resume_drained()  # the test before this may have left nodes that Slurm drains only now
        return bool(jobs_of(store))

    wait_until(begun, explained=lambda: f"{answer.read_text()} {standing()} {log_of(store)}")
    (job,) = jobs_of(store)
    assert ended(job) == "COMPLETED", log_of(store)
    assert all_kept(store, runs_of(*LONG)) == undisturbed(*LONG)


def test_an_announcement_just_after_the_start_is_a_place_in_the_queue(slurm, store, undisturbed):
    """Python is still starting, and cannot answer, or on a busy machine just can.

    What Slurm is asked to send between a step's beginning and its process's is lost, or comes when Python can answer.
    """
    job = submitted(store, *LONG)
    wait_until(lambda: bool(processes_of_steps(store)))
    announce(store)
    assert ended(job) == "COMPLETED", log_of(store)
    assert int(field(job, "Restarts")) == 1
    assert all_kept(store, runs_of(*LONG)) == undisturbed(*LONG)


def test_an_announcement_while_the_controller_is_away_is_a_place_in_the_queue(store, without_controller, undisturbed):
    job = submitted(store, *LONG)
    let_train(store)
    back = without_controller()
    announce(store)
    wait_until(lambda: "the job asks again" in log_of(store))
    back()
    assert ended(job) == "COMPLETED", log_of(store)
    assert int(field(job, "Restarts")) == 1
    assert all_kept(store, runs_of(*LONG)) == undisturbed(*LONG)


def test_held_jobs_are_released_by_resume(slurm, store):
    job = submitted(store, *LONG)
    wait_until(lambda: field(job, "JobState") == "RUNNING")  # one that waits cannot be requeued
    order("scontrol", "requeuehold", job)
    wait_until(lambda: field(job, "JobState") == "PENDING")
    assert main(["resume", "--store", str(store.root)]) == 0
    assert ended(job) == "COMPLETED", log_of(store)
    assert len(ended_packs(store)) == 1
    (sweep,) = sweeps_of(store)
    assert {each.job for each in submissions_of(store, sweep, [])} == {job, None}
