"""The launcher of one machine: plans a sweep, starts a worker for each core or GPU, and shows how far they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from launch.launchers.local_workers import run_workers
from launch.launchers.prepare import Resources, images_of, images_to_plan_with, planned_for
from launch.launchers.report import announce, report, settled, show_plan
from launch.packs.todo import outstanding
from launch.plan.calibration import calibration_of
from launch.plan.cost import store_bytes
from launch.plan.device import compiler_there, cores, devices, kind_of, memory_of
from launch.plan.planner import TooLarge
from launch.tracking.choice import decided
from launch.wording import counted, say
from plasticity_lab.errors import ConfigError, PlanError
from plasticity_lab.records.plan import write_plan
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

WORKERS_A_CORE, FEWEST = 4, 16
"""How many workers a machine may have: some for each core, where packs wait for data or a GPU; a few on any machine."""


@dataclass(frozen=True)
class Machine:
    """This machine: its devices, one worker each (or several to share the CPU), and what a plan must know of them."""

    devices: Sequence[str]
    resources: Resources

    @staticmethod
    def of(settings: Settings) -> "Machine":
        """What `device` and `launch.workers` make of this machine.  Raises ConfigError."""
        names = devices(settings.device)
        kind = kind_of(names[0])
        workers = settings.launch.workers or (cores() if names == ["cpu"] else len(names))
        most = max(FEWEST, WORKERS_A_CORE * cores())
        if workers > most:
            raise ConfigError(
                f"launch.workers is {workers:,}; this machine has {counted(cores(), 'core')}, and may have {most:,} "
                "workers at most: more would only wait for one another."
            )
        memory = memory_of(names[0]) * len(names) // max(workers, len(names))
        calibration = calibration_of(kind, Store(settings.store))
        return Machine(names, Resources(kind, calibration, compiler_there(), memory, workers))


def train_here(runs: Sequence[Run], settings: Settings) -> None:
    """Trains the runs that are not finished yet with all of this machine, and leaves their records in the store.

    Raises SweepFailed naming what is left; KeyboardInterrupt once the workers have written their checkpoints.
    """
    store, machine = Store(settings.store), Machine.of(settings)
    resources = machine.resources
    tracking, where = decided(settings.tracking)
    settings = settings.model_copy(update={"tracking": tracking})
    todo = outstanding(store, runs, settings.rerun, settings.launch.retries)
    images = (images_to_plan_with if settings.dry_run else images_of)(settings.data)
    try:
        planned = planned_for(store, todo, settings, resources, images)
    except TooLarge as error:
        if resources.workers <= len(machine.devices) or error.bytes > resources.workers * resources.memory:
            raise
        shared = f"{resources.workers} workers share this machine's memory; with fewer launch.workers each has more"
        raise PlanError(f"{error} ({shared}.)") from error
    if where and todo.left:
        say(where)
    if settings.dry_run:
        stored = store_bytes(planned.packs, planned.runs, settings.save_weights, images)
        show_plan(planned, todo, resources.workers, resources, stored)
        return
    if not settled(store, todo):
        return
    write_plan(store, planned)
    workers = counted(min(resources.workers, len(planned.packs)), "worker")
    announce(planned, todo, resources, store, f"{workers} on {resources.kind}")
    ours = [pack for pack in planned.packs if pack.kind == resources.kind]
    needed = min(resources.workers, len(ours))
    names = [machine.devices[at % len(machine.devices)] for at in range(needed)]
    reasons = run_workers(store, planned.sweep, ours, names)
    report(store, runs, planned.sweep, resources.kind, reasons)
