"""The launcher of a Slurm cluster: plans a sweep, submits workers for it, and leaves, or waits for their end."""

import shlex
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from launch.launchers.display import display
from launch.launchers.prepare import Resources, calibrated, prepared
from launch.launchers.report import announce, report, say_planned, settled, show_plan
from launch.launchers.slurm import cluster
from launch.launchers.slurm.cancellation import cancellations, cancellations_before
from launch.launchers.slurm.job import JobWorker
from launch.launchers.slurm.job_array import jobs_needed
from launch.launchers.slurm.own_jobs import Submitted, by_array, living, on_another, own_jobs, states_of_sweeps
from launch.launchers.slurm.parameters import check_parameters, launcher_words, wants_gpu, workers_a_job
from launch.launchers.slurm.pickled import PickledWorker
from launch.launchers.slurm.signals import EARLY_SECONDS
from launch.launchers.slurm.submissions import Outcome, Submission, ask, decide, submissions_of
from launch.launchers.slurm.submit_once import await_turn, release_held, submit_once
from launch.packs.watch import Watch
from launch.plan.calibration import read_calibration
from launch.plan.compiling import not_compiled_here
from launch.plan.device import allotted_cores, kind_of, memory_of
from launch.plan.figures import GPU
from launch.runs.settings import store_option
from launch.wording import counted, say
from plasticity_lab.errors import ConfigError, PlanError
from plasticity_lab.process.exits import seconds_since_command
from plasticity_lab.records.damage import DamagedFile, is_aside
from plasticity_lab.records.files import names
from plasticity_lab.records.kinds import device_name, sort_of
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

LOOK_SECONDS = 2.0
ASK_SECONDS = 30.0
PATIENCE_SECONDS = 20.0
"""How often Slurm is asked whether the jobs are still there; the store, which shows how far they are, more often."""


def submit_runs(
    runs: Sequence[Run], settings: Settings, parameters: Mapping[str, Any], command: Sequence[str] | None = None
) -> None:
    """Submits workers for the runs that are not finished yet; returns at once, unless launch.wait is true.

    command: by which the runs were asked for, where that is not this process's own.

    Raises ConfigError and SlurmError before anything is queued; SweepCancelled if somebody cancels the sweep meanwhile;
    SweepFailed after waiting.
    """
    store = Store(settings.store)
    check_parameters(parameters)
    resources, gpu = resources_of(store, settings, parameters, command)
    ready = prepared(runs, settings, resources, command)
    planned, wanted = ready.plan, settings.launch.workers
    if settings.dry_run or settings.plan_only:
        show_plan(ready, workers_a_job(parameters) * jobs_needed(planned.packs, wanted, parameters, sys.maxsize))
        if not settings.dry_run and settled(ready):
            say_planned(ready)
        return
    cluster.check_there()
    cluster.check_partition(parameters["partition"])
    if not settled(ready):
        return
    folder = parameters["submitit_folder"]  # `resume` and `logs` may be given in another one
    parameters = {**parameters, "submitit_folder": folder and str(Path(folder).absolute())}
    packs = [pack for pack in planned.packs if sort_of(pack.kind) == sort_of(resources.kind)]
    if not packs:
        kinds = ", ".join(sorted({pack.kind for pack in planned.packs}))
        raise PlanError(f"Workers on {kinds} train all that is left, and it goes on only there: wait for them.")
    # A cancellation since the command was given holds for it too.
    before = cancellations_before(store, planned.sweep, seconds_since_command())
    asked = ask(store, planned.sweep, parameters, ready.settings, before, cluster.this_cluster())
    try:
        there = _workers(store, asked, packs, gpu)
    except BaseException as error:
        decide(store, planned.sweep, asked.number, Outcome(None, why=str(error) or type(error).__name__))
        raise
    workers = counted(there.total() * workers_a_job(parameters), "worker")
    place = f"partition {parameters['partition']}" if parameters["partition"] else "the default partition"
    announce(ready, f"{workers} in {place}, job {', '.join(there)}, on {sort_of(resources.kind)}")
    if resources.calibration is GPU.calibration:
        say(
            f"Widths and times of packs are {GPU.calibration.basis}. This measures {device_name(resources.kind)} in a "
            f"short job: {calibrating(store, command)}"
        )
    if settings.launch.wait:
        report(ready, runs, _wait(store, planned))
        return
    say(f"How far it is: python -m launch status {planned.sweep}{store_option(store)}")
    say(f"To stop it:    python -m launch cancel {planned.sweep}{store_option(store)}")


def calibrating(store: Store, command: Sequence[str] | None) -> str:
    """The command that measures a node's device into the store, by a job as a command's workers get.

    command: its words; None: this process's.
    """
    words = launcher_words(command or sys.orig_argv) or ["hydra/launcher=NAME"]  # a preset may name one, too
    return f"python -m launch calibrate {shlex.join(words)}{store_option(store)} --wait"


def resources_of(
    store: Store, settings: Settings, parameters: Mapping[str, Any], command: Sequence[str] | None = None
) -> tuple[Resources, bool]:
    """What the jobs will have, and whether that is a GPU; it need not be on this machine.

    command: as in `calibrating`.  Raises ConfigError.
    """
    gpu = wants_gpu(parameters, settings.device)
    kind = parameters["device_kind"] or (_gpu_kind(store, settings.dry_run, command) if gpu else kind_of("cpu"))
    own = int(0.9 * (parameters["mem_gb"] or 0) * 2**30) // max(1, parameters["tasks_per_node"]) or sys.maxsize
    if parameters["memory_gb"]:
        memory = int(parameters["memory_gb"] * 2**30)
    elif gpu:
        memory = sys.maxsize  # a pack that turns out too large is planned again at half its width
    elif parameters["mem_gb"]:
        memory = own
    else:
        memory = memory_of("cpu") // allotted_cores()
    workers = settings.launch.workers or 1
    calibration, damaged = calibrated(store, kind)
    return Resources(
        kind, calibration, not_compiled_here(), memory, workers, damaged, known=False, host_memory=own
    ), gpu


def _gpu_kind(store: Store, only_shown: bool, command: Sequence[str] | None) -> str:
    """The kind of GPU that the store has a calibration of; for a plan that is only shown, any will do."""
    kinds, damaged = [], ""
    for name in names(store.root / "calibration"):
        try:
            value = None if is_aside(name) else read_calibration(store.root / "calibration" / name)
        except DamagedFile as error:
            damaged = f"{error} "
        else:
            kinds += [] if value is None or value["kind"].startswith("cpu") else [value["kind"]]
    if len(kinds) == 1:
        return kinds[0]
    words = f"{damaged}Packs are planned for one kind of GPU, and the store "
    if kinds:
        named = " or ".join(f"hydra.launcher.device_kind='{kind}'" for kind in sorted(kinds))
        raise ConfigError(f"{words}has calibrations of {len(kinds)}: say {named}.")
    words += (
        "has no calibration of one. A short job measures it, by this command; then give yours again: "
        f"{calibrating(store, command)} (Or name the GPU, as `nvidia-smi --query-gpu=name --format=csv` does on a "
        "node: hydra.launcher.device_kind='...')"
    )
    if only_shown:
        say(f"{words} The plan below is {GPU.calibration.basis}.")
        return "GPU"
    raise ConfigError(words)


def _workers(store: Store, asked: Submission, packs: Sequence[Pack], gpu: bool) -> Counter[str]:
    """Submits as many workers as the packs need and are not there yet, when it is this command's turn.

    packs: of one device kind, which is a GPU or not. Returns array → how many of its jobs wait or run.

    Raises SlurmError, SweepCancelled, StoreError.
    """
    parameters, wanted = asked.launcher, asked.settings.launch.workers
    await_turn(store, asked)
    # Workers that are there already look at the new plan when they have done the old one.
    there = _workers_there(store, asked)
    largest = cluster.largest_array()
    needed = jobs_needed(packs, wanted, parameters, largest)
    if wanted and needed < jobs_needed(packs, wanted, parameters, sys.maxsize):
        say(f"This cluster lets an array have {largest:,} jobs: launch.workers={wanted:,} is more.")
    missing = needed - there.total()
    if missing <= 0:
        decide(store, asked.sweep, asked.number, Outcome(None, why="there were enough workers"))
        return there
    worker = JobWorker(
        store=str(store.root),
        sweep=asked.sweep,
        gpu=gpu,
        kind=packs[0].kind,
        warning_seconds=parameters["signal_delay_s"] + EARLY_SECONDS,
        starts=parameters["max_num_timeout"],
        submission=asked.number,
        cancellations=asked.cancellations,
    )
    there[submit_once(store, asked, PickledWorker(asdict(worker)), missing)] = missing
    return there


def _workers_there(store: Store, asked: Submission) -> Counter[str]:
    """Array → how many of its jobs wait or run for the sweep; those that are held are released.

    Those that were cancelled are not counted.  Raises SlurmError, also where a job cannot be released; StoreError.
    """
    sweep = asked.sweep
    often, submitted = cancellations(store, sweep), submissions_of(store, sweep, [])
    if elsewhere := {each.cluster for each in submitted if each.job and on_another(each, asked.cluster)}:
        say(f"Workers of this sweep on cluster {', '.join(map(str, elsewhere))} cannot be seen from here; none counts.")
    there = [job for job in living(own_jobs(store, {sweep: submitted})[sweep]) if job.wanted(often)]
    release_held(sweep, there)
    return by_array(there)


def _wait(store: Store, planned: Plan) -> list[str]:
    """Shows the progress until all packs have ended, or no job is left: then it returns how the jobs ended."""
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
    """A sentence for each job that ended early, as far as Slurm says."""
    try:
        found, _ = states_of_sweeps(store, submitted, cluster.this_cluster(), cluster.PATIENCE_SECONDS)
    except cluster.SlurmError:
        return []
    states = [state for states in found.values() for state in states.values()]
    return [f"Job {each.job} {each}, on {each.nodes}." for each in states if each.ended_early]
