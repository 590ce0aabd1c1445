"""The launcher of one machine: plans a sweep, starts a worker for each core or GPU, and shows how far they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from launch.launchers.each_alone import part_of
from launch.launchers.local_workers import Uploads, run_workers
from launch.launchers.prepare import Prepared, Resources, calibrated, prepared
from launch.launchers.report import announce, report, say_planned, settled, show_plan
from launch.packs.bindings import binding_of
from launch.plan.compiling import not_compiled_here
from launch.plan.device import cores, devices, kind_of, limited_memory, memory_here, memory_of, most_workers
from launch.plan.planner import TooLarge
from launch.wording import counted, in_bytes
from plasticity_lab.errors import ConfigError, PlanError
from plasticity_lab.records.kinds import sort_of
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


@dataclass(frozen=True)
class Machine:
    """This machine: its devices, one worker each (or several to share the CPU), and what a plan must know of them."""

    devices: Sequence[str]
    resources: Resources

    @staticmethod
    def of(settings: Settings, workers: int | None = None) -> "Machine":
        """What `device` and `launch.workers` make of this machine.  workers: instead of them.

        Raises ConfigError; StoreError.
        """
        names = devices(settings.device)
        kind = kind_of(names[0])
        workers = workers or settings.launch.workers or (cores() if names == ["cpu"] else len(names))
        if workers > (most := most_workers()):
            raise ConfigError(
                f"launch.workers is {workers:,}; this machine has {counted(cores(), 'core')}, and may have {most:,} "
                "workers at most: more would only wait for one another."
            )
        host = memory_here(workers)
        memory = host if names == ["cpu"] else memory_of(names[0]) * len(names) // max(workers, len(names))
        calibration, damaged = calibrated(Store(settings.store), kind)
        return Machine(
            names, Resources(kind, calibration, not_compiled_here(), memory, workers, damaged, host_memory=host)
        )


def train_here(runs: Sequence[Run], settings: Settings, of: str | None = None) -> None:
    """Trains the runs that are not finished yet with all of this machine, and leaves their records in the store.

    of: the sweep in which they are planned already, by `each_alone`; None: they are a sweep of their own.
    Raises SweepFailed naming what is left; KeyboardInterrupt once the workers have written their checkpoints.
    """
    machine, ready = _prepared(runs, settings)
    resources = machine.resources
    ready = ready if of is None else part_of(ready, of)
    if settings.dry_run or settings.plan_only:
        show_plan(ready, resources.workers)
    if settings.dry_run or not settled(ready):
        return
    if settings.plan_only:
        say_planned(ready)
        return
    ours = [pack for pack in ready.plan.packs if sort_of(pack.kind) == sort_of(resources.kind)]
    if not ours:
        kinds = ", ".join(sorted({pack.kind for pack in ready.plan.packs}))
        raise PlanError(f"Workers on {kinds} train all that is left, and it goes on only there: wait for them.")
    _check_computed(ready, ours)
    needed = min(resources.workers, len(ours))
    announce(ready, f"{counted(needed, 'worker')} on {resources.kind}")
    names = [machine.devices[at % len(machine.devices)] for at in range(needed)]
    uploads = Uploads(ready.store, ready.settings.tracking)
    only = [pack.id for pack in ours] if ready.of_another else []
    seconds = settings.launch.lease_seconds
    report(ready, runs, run_workers(ready.store, ready.plan, ours, names, uploads, seconds, only))


def _prepared(runs: Sequence[Run], settings: Settings) -> tuple[Machine, Prepared]:
    """This machine, and the runs planned for it: with fewer workers than cores where each has too little memory else.

    Raises what `prepared` raises.
    """
    machine = Machine.of(settings)
    while True:
        try:
            return machine, prepared(runs, settings, machine.resources)
        except TooLarge as error:
            fewer = machine.resources.workers - 1
            if settings.launch.workers is not None or fewer < len(machine.devices):
                raise PlanError(" ".join([str(error), *_why_no_more(machine, error)])) from error
            machine = Machine.of(settings, fewer)


def _why_no_more(machine: Machine, error: TooLarge) -> list[str]:
    """What keeps a worker from having more of this machine's memory."""
    workers, why = machine.resources.workers, []
    if len(machine.devices) < workers and error.bytes <= workers * error.most:
        why.append(f"({workers} workers share this machine's memory; with fewer launch.workers each has more.)")
    if (limit := limited_memory()) is not None:
        why.append(f"(All processes together may use {in_bytes(limit)} here.)")
    return why


def _check_computed(ready: Prepared, packs: Sequence[Pack]) -> None:
    """Raises PlanError for packs that were begun in a mode that cannot be computed here, before work of them is lost.

    A worker that found them would begin them anew. StoreError.
    """
    if (uncompiled := ready.resources.uncompiled) is None:
        return
    bound = [binding for pack in packs if (binding := binding_of(ready.store, pack)) and binding.mode != "eager"]
    if bound:
        runs = sum(binding.width for binding in bound)
        raise PlanError(
            f"{counted(runs, 'run')} {'was' if runs == 1 else 'were'} begun in mode {bound[0].mode}, which is kept to "
            f"the end, but {uncompiled.sentence}. What is trained so far is kept."
        )
