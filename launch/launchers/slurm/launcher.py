"""The launcher for a Slurm cluster: plans a sweep, submits workers for it, and returns, or waits for their end."""

import shlex
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from launch.launchers.display import Watch, display
from launch.launchers.prepare import Prepared, prepared
from launch.launchers.report import announce, report, to_be_trained
from launch.launchers.slurm import cluster
from launch.launchers.slurm.job import JobWorker
from launch.launchers.slurm.own_jobs import Submitted, by_array, living, other_clusters, own_jobs, states_of_sweeps
from launch.launchers.slurm.parameters import check_submission, launcher_words, wants_gpu, workers_a_job
from launch.launchers.slurm.pickled import PickledWorker
from launch.launchers.slurm.signals import EARLY_SECONDS
from launch.launchers.slurm.submit_once import await_turn, jobs_needed, release_held, submit_once
from launch.packs.submissions import (
    Outcome,
    Submission,
    ask,
    cancellations,
    cancellations_before,
    decide,
    submissions_of,
)
from launch.plan.calibration import calibrations_in, resources_on
from launch.plan.device import allotted_cores, kind_of, memory_of
from launch.plan.planner import Resources
from launch.plan.speed import GPU
from launch.runs.settings import store_option
from launch.wording import counted, say
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import seconds_since_command
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.kinds import device_name, sort_of
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

LOOK_SECONDS = 2.0
"""The time between readings of the progress in the store."""
ASK_SECONDS = 30.0
"""The time between queries whether Slurm still has the jobs."""
PATIENCE_SECONDS = 20.0


def submit_runs(
    runs: Sequence[Run], settings: Settings, parameters: Mapping[str, Any], command: Sequence[str] | None = None
) -> None:
    """Submits workers for the runs that are not finished yet; returns at once, unless launch.wait is true.

    command: the words of the command that requests the runs; None: this process's command.

    Raises ConfigError and SlurmError before anything is queued; SweepCancelled if the sweep is cancelled during the
    submission; SweepFailed after waiting.
    """
    store, wanted = Store(settings.store), settings.launch.workers
    check_submission(parameters, settings)
    resources = resources_of(store, settings, parameters, command)
    ready = prepared(runs, settings, resources, command)
    sweep = ready.plan.sweep
    if not to_be_trained(
        ready, workers_a_job(parameters) * jobs_needed(ready.plan.packs, wanted, parameters, sys.maxsize)
    ):
        return
    folder = parameters["submitit_folder"]  # relative to this folder; `resume` and `logs` may run in another one
    parameters = {**parameters, "submitit_folder": folder and str(Path(folder).absolute())}
    packs = ready.packs_for_workers()
    # A cancellation after the start of this command also applies to it.
    before = cancellations_before(store, sweep, seconds_since_command())
    asked = ask(store, sweep, parameters, ready.settings, before, cluster.this_cluster())
    try:
        arrays = _workers(store, asked, packs)
    except BaseException as error:
        decide(store, sweep, asked.number, Outcome(None, why=str(error) or type(error).__name__))
        raise
    _announce(ready, parameters, arrays, command)
    if settings.launch.wait:
        report(ready, runs, _wait(store, ready.plan))
        return
    say(f"How far it is: python -m launch status {sweep}{store_option(store)}")
    say(f"To stop it:    python -m launch cancel {sweep}{store_option(store)}")


def _announce(
    ready: Prepared, parameters: Mapping[str, Any], arrays: Counter[str], command: Sequence[str] | None
) -> None:
    """Prints which runs are to be trained, and how to measure a device that was not measured.

    arrays: array → the number of its jobs.
    """
    kind = ready.resources.kind
    workers = counted(arrays.total() * workers_a_job(parameters), "worker")
    place = f"partition {parameters['partition']}" if parameters["partition"] else "the default partition"
    announce(ready, f"{workers} in {place}, job {', '.join(arrays)}, on {sort_of(kind)}")
    if ready.resources.calibration is GPU:
        say(
            f"Widths and times of packs are {GPU.basis}. This measures {device_name(kind)} in a short job: "
            f"{_calibrating(ready.store, command)}"
        )


def _calibrating(store: Store, command: Sequence[str] | None) -> str:
    """The command that measures a node's device into the store, by a job with the parameters of a command's workers.

    command: the words of that command; None: this process's command.
    """
    words = launcher_words(command or sys.orig_argv) or ["hydra/launcher=NAME"]  # a preset may name the launcher
    return f"python -m launch calibrate {shlex.join(words)}{store_option(store)} --wait"


def resources_of(
    store: Store, settings: Settings, parameters: Mapping[str, Any], command: Sequence[str] | None = None
) -> Resources:
    """The resources of the jobs. Their device need not be on this machine.

    command: as for `_calibrating`.  Raises ConfigError.
    """
    gpu = wants_gpu(parameters, settings.device)
    kind = parameters["device_kind"] or (_gpu_kind(store, settings.dry_run, command) if gpu else kind_of("cpu"))
    host = int(0.9 * (parameters["mem_gb"] or 0) * 2**30) // max(1, parameters["tasks_per_node"]) or sys.maxsize
    if parameters["memory_gb"]:
        memory = int(parameters["memory_gb"] * 2**30)
    elif gpu:
        memory = sys.maxsize  # a pack that turns out too large is planned again at half its width
    elif parameters["mem_gb"]:
        memory = host
    else:
        memory = memory_of("cpu") // allotted_cores()
    return resources_on(store, kind, memory, settings.launch.workers or 1, known=False, host_memory=host)


def _gpu_kind(store: Store, only_shown: bool, command: Sequence[str] | None) -> str:
    """The only kind of GPU with a calibration in the store.

    "GPU" if the store has no such calibration and the plan is only shown.  Raises ConfigError if it has several, or
    none and the plan is for training.
    """
    damaged: list[DamagedFile] = []
    kinds = [each.kind for each in calibrations_in(store, damaged) if not each.kind.startswith("cpu")]
    if len(kinds) == 1:
        return kinds[0]
    words = " ".join([*map(str, damaged), "Packs are planned for one kind of GPU, and the store "])
    if kinds:
        named = " or ".join(f"hydra.launcher.device_kind='{kind}'" for kind in sorted(kinds))
        raise ConfigError(f"{words}has calibrations of {len(kinds)}: say {named}.")
    words += (
        "has no calibration of one. A short job measures it, by this command; then give yours again: "
        f"{_calibrating(store, command)} (Or name the GPU, as `nvidia-smi --query-gpu=name --format=csv` does on a "
        "node: hydra.launcher.device_kind='...')"
    )
    if only_shown:
        say(f"{words} The plan below is {GPU.basis}.")
        return "GPU"
    raise ConfigError(words)


def _workers(store: Store, asked: Submission, packs: Sequence[Pack]) -> Counter[str]:
    """Waits for this command's turn, then submits the workers that the packs need in addition to the present workers.

    packs: all for one kind of device. Returns array → the number of its jobs that wait or run.

    Raises SlurmError, SweepCancelled, StoreError.
    """
    parameters, wanted = asked.launcher, asked.settings.launch.workers
    await_turn(store, asked)
    # Present workers read the new plan when they have finished the old one.
    arrays = _present_workers(store, asked)
    largest = cluster.largest_array()
    needed = jobs_needed(packs, wanted, parameters, largest)
    if wanted and needed < jobs_needed(packs, wanted, parameters, sys.maxsize):
        say(f"This cluster allows arrays of {largest:,} jobs: launch.workers={wanted:,} is more.")
    missing = needed - arrays.total()
    if missing <= 0:
        decide(store, asked.sweep, asked.number, Outcome(None, why="there were enough workers"))
        return arrays
    worker = JobWorker(
        store=str(store.root),
        sweep=asked.sweep,
        gpu=wants_gpu(parameters, asked.settings.device),
        kind=packs[0].kind,
        warning_seconds=parameters["signal_delay_s"] + EARLY_SECONDS,
        starts=parameters["max_num_timeout"],
        submission=asked.number,
        cancellations=asked.cancellations,
    )
    arrays[submit_once(store, asked, PickledWorker(asdict(worker)), missing)] = missing
    return arrays


def _present_workers(store: Store, asked: Submission) -> Counter[str]:
    """Array → the number of its jobs that wait or run for the sweep, without cancelled jobs. Releases held jobs.

    Raises SlurmError, also if a job cannot be released; StoreError.
    """
    sweep = asked.sweep
    often, submitted = cancellations(store, sweep), submissions_of(store, sweep, [])
    if others := other_clusters(submitted, asked.cluster):
        say(f"Workers of this sweep on cluster {', '.join(others)} cannot be seen from here; none counts.")
    present = [job for job in living(own_jobs(store, {sweep: submitted})[sweep]) if job.wanted(often)]
    release_held(sweep, present)
    return by_array(present)


def _wait(store: Store, planned: Plan) -> list[str]:
    """Shows the progress until all packs have ended, or no job is left.

    Returns how the jobs ended if no job is left; otherwise an empty list.
    """
    watch, shown, asked = Watch(store, planned.packs), display(), time.monotonic()
    submitted = {planned.sweep: submissions_of(store, planned.sweep, [])}
    said = False
    try:
        while not watch.over:
            shown.show(watch.look())
            time.sleep(LOOK_SECONDS)
            if time.monotonic() - asked > ASK_SECONDS:
                asked = time.monotonic()
                try:
                    over = not living(own_jobs(store, submitted, PATIENCE_SECONDS)[planned.sweep])
                except cluster.SlurmError as error:
                    over = False
                    if not said:
                        shown.say(f"Slurm does not answer; this command goes on waiting: {error}")
                    said = True
                if over:
                    watch.look()
                    return _how_jobs_ended(store, submitted)
    except KeyboardInterrupt:
        shown.say("The jobs go on without this command; `python -m launch cancel` stops them.")
        raise
    finally:
        shown.close()
    return []


def _how_jobs_ended(store: Store, submitted: Submitted) -> list[str]:
    """A sentence for each job that ended early, as far as Slurm reports."""
    try:
        by_sweep, _ = states_of_sweeps(store, submitted, cluster.this_cluster(), cluster.PATIENCE_SECONDS)
    except cluster.SlurmError:
        return []
    states = [state for states in by_sweep.values() for state in states.values()]
    return [f"Job {state.job} {state}, on {state.nodes}." for state in states if state.ended_early]
