"""The launcher of one machine: plans a sweep, starts a worker for each core or GPU, and shows how far they are."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from launch.calibration import Calibration, calibration_of
from launch.device import compiler_there, devices, kind_of, memory_of, mode_of
from launch.leases import Leases
from launch.local_workers import run_workers
from launch.outstanding import Outstanding, Run, adopted, outstanding
from launch.owner import this_owner
from launch.plan_file import Plan, sweep_of, write_plan
from launch.plan_table import print_plan
from launch.planner import plan
from launch.settings import Settings
from launch.sizes import sizes
from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.sources import load_images
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store


class SweepFailed(PlasticityError):
    """Some runs of a sweep failed, or its workers ended before it did."""


@dataclass(frozen=True)
class Machine:
    """This machine as a plan sees it: its devices, one worker each (or several to share the CPU), and their kind."""

    devices: Sequence[str]
    workers: int
    kind: str
    calibration: Calibration
    compiler: bool

    @staticmethod
    def of(settings: Settings) -> "Machine":
        """What `device` and `launch.workers` make of this machine.  Raises ConfigError."""
        names = devices(settings.device)
        kind = kind_of(names[0])
        workers = settings.launch.workers or (len(os.sched_getaffinity(0)) if names == ["cpu"] else len(names))
        return Machine(names, workers, kind, calibration_of(kind), compiler_there())

    @property
    def memory(self) -> int:
        """Bytes one pack may use."""
        return memory_of(self.devices[0]) * len(self.devices) // max(self.workers, len(self.devices))


def train_here(runs: Sequence[Run], settings: Settings) -> None:
    """Trains the runs that are not finished yet with all of this machine, and leaves their records in the store.

    Raises SweepFailed naming what is left; KeyboardInterrupt once the workers have written their checkpoints.
    """
    store, machine = Store(settings.store), Machine.of(settings)
    if not settings.dry_run:
        store.prepare()
    todo = outstanding(store, runs, settings.rerun, dry=settings.dry_run)
    for name in todo.set_aside:
        _say(f"An unreadable record is set aside and its run trained again: {name}")
    planned = planned_here(store, todo, settings, machine)
    if settings.dry_run:
        print_plan(planned.packs, len(todo.finished), machine.workers, machine.calibration)
        return
    if not todo.left:
        _say(f"All {len(runs)} runs are finished already; rerun=true would train them again. Records: {store.root}")
        return
    write_plan(store, planned)
    _announce(planned, todo, machine, store)
    _wait_for(store, planned, machine)
    _report(store, runs)


def planned_here(store: Store, todo: Outstanding, settings: Settings, machine: Machine) -> Plan:
    """The plan of what is left: unfinished packs of earlier plans as they are, the rest in new packs."""
    leases = Leases(store, settings.launch.lease_seconds, this_owner())
    taken_on, known = adopted(store, todo.left, machine.kind, leases)
    rest = [run for run in todo.left if run["id"] not in known]
    packs = plan(
        rest,
        size_of=sizes(lambda source: load_images(source, data_folder(settings.data))),
        mode_of=lambda steps: mode_of(steps, settings.mode, machine.compiler),
        kind=machine.kind,
        calibration=machine.calibration,
        memory=machine.memory,
        workers=machine.workers,
        taken=lambda pack: store.done(pack).exists(),
    )
    return Plan(
        sweep=sweep_of([*todo.left, *({"id": run} for run in todo.finished)]),
        command=sys.orig_argv,
        asked=sorted([*todo.finished, *(run["id"] for run in todo.left)]),
        runs=known | {run["id"]: run for run in rest},
        packs=[*taken_on, *packs],
        settings={
            "data": None if settings.data is None else str(settings.data),
            "save_weights": settings.save_weights,
            "checkpoint_minutes": settings.checkpoint_minutes,
            "lease_seconds": settings.launch.lease_seconds,
        },
    )


def _announce(planned: Plan, todo: Outstanding, machine: Machine, store: Store) -> None:
    done = f", {len(todo.finished)} finished already" if todo.finished else ""
    _say(
        f"Sweep {planned.sweep}: {len(todo.left)} runs to train in {len(planned.packs)} packs{done}; "
        f"{machine.workers} worker{'s' if machine.workers > 1 else ''} on {machine.kind}; store {store.root}"
    )
    if not machine.compiler:
        _say("No C++ compiler is there: every run is computed eager, which is slower for long ones; g++ would do.")


def _wait_for(store: Store, planned: Plan, machine: Machine) -> None:
    needed = min(machine.workers, len(planned.packs))
    names = [machine.devices[at % len(machine.devices)] for at in range(needed)]
    run_workers(store, planned.sweep, planned.packs, names)


def _report(store: Store, runs: Sequence[Run]) -> None:
    """What became of the runs.  Raises SweepFailed if any is not finished."""
    records = {run["id"]: read_record(store, run["id"]) for run in runs}
    counts = {status: 0 for status in ("done", "diverged", "failed")}
    for record in records.values():
        if record is not None:
            counts[record["status"]] += 1
    missing = sum(record is None for record in records.values())
    words = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    if missing or counts["failed"]:
        errors = {record["error"].strip().splitlines()[-1] for record in records.values() if record and record["error"]}
        unfinished = f", {missing} not finished" if missing else ""
        raise SweepFailed(
            f"Of {len(runs)} runs: {words or 'none done'}{unfinished}. {' '.join(sorted(errors))}".strip()
        )
    _say(f"All {len(runs)} runs are finished: {words}. Records: {store.root}")


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
