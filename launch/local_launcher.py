"""The launcher of one machine: plans a sweep, starts a worker for each core or GPU, and shows how far they are."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from launch.calibration import Calibration, calibration_of
from launch.device import compiler_there, cores, devices, kind_of, memory_of, mode_of
from launch.endings import ending_of
from launch.leases import Leases
from launch.local_workers import run_workers
from launch.outstanding import Outstanding, Run, adopted, outstanding, settle
from launch.owner import this_owner
from launch.plan_file import Plan, sweep_of, write_plan
from launch.plan_table import counted, print_plan
from launch.planner import plan
from launch.settings import Settings
from launch.sizes import sizes
from launch.store_size import store_bytes
from launch.tracking_choice import decided
from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.sources import load_images, source_named
from plasticity_lab.errors import DataError, PlasticityError
from plasticity_lab.records.record import STATUSES, add_asked_as, read_record
from plasticity_lab.records.store import Store

ImagesOf = Callable[[str], ImageSet]
"""From the name of a source to its images."""


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
        workers = settings.launch.workers or (cores() if names == ["cpu"] else len(names))
        return Machine(names, workers, kind, calibration_of(kind, Store(settings.store)), compiler_there())

    @property
    def memory(self) -> int:
        """Bytes one pack may use."""
        return memory_of(self.devices[0]) * len(self.devices) // max(self.workers, len(self.devices))


def train_here(runs: Sequence[Run], settings: Settings) -> None:
    """Trains the runs that are not finished yet with all of this machine, and leaves their records in the store.

    Raises SweepFailed naming what is left; KeyboardInterrupt once the workers have written their checkpoints.
    """
    store, machine = Store(settings.store), Machine.of(settings)
    tracking, where = decided(settings.tracking)
    settings = settings.model_copy(update={"tracking": tracking})
    todo = outstanding(store, runs, settings.rerun)
    images = (images_to_plan_with if settings.dry_run else images_of)(settings.data)
    planned = planned_here(store, todo, settings, machine, images)
    if where and todo.left:
        _say(where)
    if settings.dry_run:
        for error in todo.corrupt:
            _say(str(error))
        stored = store_bytes(planned.packs, planned.runs, settings.save_weights, images)
        print_plan(planned.packs, len(todo.finished), machine.workers, machine.calibration, stored)
        return
    if todo.left or todo.renamed:
        store.prepare()
    for words in settle(store, todo):
        _say(words)
    if not todo.left:
        _say(f"{_all(len(runs))} finished already; rerun=true trains again. Records: {store.root}")
        return
    write_plan(store, planned)
    _announce(planned, todo, machine, store)
    ours = [pack for pack in planned.packs if pack.kind == machine.kind]
    needed = min(machine.workers, len(ours))
    names = [machine.devices[at % len(machine.devices)] for at in range(needed)]
    reasons = run_workers(store, planned.sweep, ours, names)
    _report(store, runs, planned, machine, reasons)


def planned_here(store: Store, todo: Outstanding, settings: Settings, machine: Machine, images: ImagesOf) -> Plan:
    """The plan of what is left: unfinished packs of earlier plans as they are, the rest in new packs."""
    leases = Leases(store, settings.launch.lease_seconds, this_owner())
    taken_on, known = adopted(store, todo.left, machine.kind, leases)
    rest = [run for run in todo.left if run["id"] not in known]
    packs = plan(
        rest,
        size_of=sizes(images),
        mode_of=lambda steps: mode_of(steps, settings.mode, machine.compiler),
        kind=machine.kind,
        calibration=machine.calibration,
        memory=machine.memory,
        workers=machine.workers,
        taken=lambda pack: store.done(pack).exists(),
        widest=todo.widest,
    )
    asked = sorted([*todo.finished, *(run["id"] for run in todo.left)])
    return Plan(
        sweep=sweep_of([{"id": run} for run in asked]),
        command=sys.orig_argv,
        asked=asked,
        runs=known | {run["id"]: run for run in rest},
        packs=[*taken_on, *packs],
        settings={
            "data": None if settings.data is None else str(settings.data),
            "save_weights": settings.save_weights,
            "checkpoint_minutes": settings.checkpoint_minutes,
            "lease_seconds": settings.launch.lease_seconds,
            "rerun": settings.rerun,
            "tracking": settings.tracking.model_dump(),
        },
    )


def images_of(data: Path | None) -> ImagesOf:
    """A function that loads image sets from a folder of data sets.  It raises DataError where one is missing."""
    return lambda source: load_images(source, data_folder(data))


def images_to_plan_with(data: Path | None) -> ImagesOf:
    """The same for plans that are only shown: where a set is missing, it says so once and takes an outline of it."""

    def images(source: str) -> ImageSet:
        try:
            return load_images(source, data_folder(data))
        except DataError as error:
            outline = source_named(source).outline
            if outline is None:
                raise
            _say(f"{error} The plan below is for the set as published.")
            return outline()

    return cache(images)


def _announce(planned: Plan, todo: Outstanding, machine: Machine, store: Store) -> None:
    mates = len(planned.runs.keys() - set(planned.asked))
    along = f" (with {mates:,} of other sweeps that share their packs)" if mates else ""
    done = f", {len(todo.finished):,} finished already" if todo.finished else ""
    workers = counted(min(machine.workers, len(planned.packs)), "worker")
    _say(
        f"Sweep {planned.sweep}: {counted(len(todo.left), 'run')}{along} to train in "
        f"{counted(len(planned.packs), 'pack')}{done}; {workers} on {machine.kind}; store {store.root}"
    )
    for label, width in sorted({(pack.label, pack.width) for pack in planned.packs if pack.narrowed}):
        _say(f"Packs of {label} are {counted(width, 'run')} wide: more do not fit into memory.")
    if not machine.compiler:
        _say("No C++ compiler is there: every run is computed eager, which is slower for long ones; g++ would do.")


def _report(store: Store, runs: Sequence[Run], planned: Plan, machine: Machine, reasons: Sequence[str]) -> None:
    """What became of the runs.  Raises SweepFailed if any is not finished, with the reason that weighs most."""
    asked = {run["id"]: run for run in runs}
    failed: set[str] = set()
    waiting: set[str] = set()
    errors, elsewhere = [], []
    for pack in planned.packs:
        ending = ending_of(store, pack.id)
        if ending is None:
            waiting |= asked.keys() & pack.runs
            elsewhere += [pack.kind] if pack.kind != machine.kind else []
        elif ending.failed:
            failed |= asked.keys() & pack.runs
            errors.append(ending.error)
    counts = dict.fromkeys(STATUSES, 0) | {"failed": len(failed)}
    for run in asked.keys() - failed - waiting:
        record = read_record(store, run)
        if record is None:
            waiting.add(run)
            continue
        counts[record["status"]] += 1
        add_asked_as(store, run, asked[run]["asked_as"])
    words = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    if not failed and not waiting:
        _say(f"{_all(len(runs))} finished: {words}. Records: {store.root}")
        return
    if waiting:
        words += f"{', ' if words else ''}{len(waiting):,} not finished"
    why = [*dict.fromkeys(errors), *reasons[:1]]
    if elsewhere:
        why.append(f"Some were begun on {', '.join(sorted(set(elsewhere)))}; there the same command continues them.")
    reason = " ".join(why) or "the workers ended early; the same command goes on."
    raise SweepFailed(f"Of {counted(len(runs), 'run')} {words}: {reason}")


def _all(runs: int) -> str:
    return "The run is" if runs == 1 else f"All {runs:,} runs are"


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
