"""The launcher of one machine: plans a sweep, starts a worker for each core or GPU, and shows their progress.

Also used with Hydra's standard launchers, which start one job for each run. The command plans one sweep, and each pack
of the sweep has one run. Each job trains the pack of its run and adds no plan.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from launch.launchers.finished import SweepFailed, say_finished, say_next
from launch.launchers.local_workers import run_workers
from launch.launchers.prepare import Prepared, prepared
from launch.launchers.report import announce, report, to_be_trained
from launch.packs.begun_otherwise import binding_of
from launch.plan.calibration import resources_on
from launch.plan.device import (
    cores,
    devices,
    kind_of,
    limited_memory,
    memory_here,
    memory_of,
    most_workers,
    workers_to_share,
)
from launch.plan.planner import Resources, TooLarge
from launch.wording import counted, in_bytes, say
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.component import load
from plasticity_lab.errors import ConfigError, PlanError
from plasticity_lab.records.plan import Pack, read_plan
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


@dataclass(frozen=True)
class Machine:
    """This machine.  devices: one a worker, or the CPU once for all workers. resources: its workers, for a plan."""

    devices: Sequence[str]
    resources: Resources

    @staticmethod
    def of(settings: Settings, workers: int | None = None, acting: bool = False) -> "Machine":
        """This machine with the settings `device` and `launch.workers`.

        workers: replaces `launch.workers`. acting: whether the runs step environments, which keeps a worker's core busy
        and a GPU waiting; several workers then share a GPU.  Raises ConfigError; StoreError.
        """
        names = devices(settings.device)
        kind = kind_of(names[0])
        usual = cores() if names == ["cpu"] else len(names) * (workers_to_share(len(names)) if acting else 1)
        workers = workers or settings.launch.workers or usual
        if workers > (most := most_workers()):
            raise ConfigError(
                f"launch.workers is {workers:,}; this machine has {counted(cores(), 'core')}, and may have {most:,} "
                "workers at most: more would only wait for one another."
            )
        host = memory_here(workers)
        memory = host if names == ["cpu"] else memory_of(names[0]) * len(names) // max(workers, len(names))
        return Machine(names, resources_on(Store(settings.store), kind, memory, workers, host_memory=host))


def train_here(runs: Sequence[Run], settings: Settings, of: str | None = None) -> None:
    """Trains the runs that are not finished yet, with all workers of this machine, and writes their records.

    of: the sweep that `to_be_started` has planned these runs in; None: the runs are a separate sweep.
    Raises SweepFailed that names the runs left; KeyboardInterrupt after the workers have written checkpoints.
    """
    machine, ready = _prepared(runs, settings)
    ready = ready if of is None else _part_of(ready, of)
    if not to_be_trained(ready, machine.resources.workers):
        return
    packs = ready.packs_for_workers()
    _check_computed(ready, packs)
    needed = min(machine.resources.workers, len(packs))
    announce(ready, f"{counted(needed, 'worker')} on {machine.resources.kind}")
    names = [machine.devices[at % len(machine.devices)] for at in range(needed)]
    only = [pack.id for pack in packs] if ready.of_another else []
    report(ready, runs, run_workers(ready.store, ready.plan, packs, names, only))


def _prepared(runs: Sequence[Run], settings: Settings) -> tuple[Machine, Prepared]:
    """This machine, and the runs planned for it. If a run needs more memory, there are fewer workers than cores.

    Raises the errors of `prepared`.
    """
    benchmarks = {run.targets["benchmark"] for run in runs}
    machine = Machine.of(settings, acting=all(issubclass(load(each), BodyBenchmark) for each in benchmarks))
    while True:
        try:
            return machine, prepared(runs, settings, machine.resources)
        except TooLarge as error:
            fewer = machine.resources.workers - 1
            if settings.launch.workers is not None or fewer < len(machine.devices):
                raise PlanError(" ".join([str(error), *_why_no_more(machine, error)])) from error
            machine = Machine.of(settings, fewer)


def _part_of(ready: Prepared, sweep: str) -> Prepared:
    """The job's plan as part of its sweep's plan; unchanged if the sweep has other packs, as for another device."""
    known = {pack.id for pack in read_plan(ready.store, sweep).packs}
    if not ready.plan.packs or not known.issuperset(pack.id for pack in ready.plan.packs):
        return ready
    return replace(ready, plan=replace(ready.plan, sweep=sweep), of_another=True)


def _why_no_more(machine: Machine, error: TooLarge) -> list[str]:
    """The reasons why a worker cannot have more of this machine's memory."""
    workers, why = machine.resources.workers, []
    if len(machine.devices) < workers and error.bytes <= workers * error.most:
        why.append(f"({workers} workers share this machine's memory; with fewer launch.workers each has more.)")
    if (limit := limited_memory()) is not None:
        why.append(f"(All processes together may use {in_bytes(limit)} here.)")
    return why


def _check_computed(ready: Prepared, packs: Sequence[Pack]) -> None:
    """Raises PlanError if packs were begun in a mode that cannot be computed here; StoreError.

    Without this check, a worker would begin such packs again.
    """
    if (uncompiled := ready.resources.uncompiled) is None:
        return
    bound = [binding for pack in packs if (binding := binding_of(ready.store, pack)) and binding.mode != "eager"]
    if bound:
        runs = sum(binding.width for binding in bound)
        raise PlanError(
            f"{counted(runs, 'run')} {'was' if runs == 1 else 'were'} begun in mode {bound[0].mode} and must end in "
            f"it, but {uncompiled.sentence}. The training so far is kept."
        )


def to_be_started(runs: Sequence[Run], settings: Settings, launcher: str) -> tuple[str, list[Run]]:
    """Plans each run as a pack.  Returns the sweep, and the runs that need a job; no runs if the plan is only shown.

    Jobs may run on other machines, so their memory is assumed to suffice.
    Raises the errors of `prepared` and `to_be_trained`.
    """
    store, kind = Store(settings.store), kind_of(devices(settings.device)[0])
    ready = prepared(runs, settings, resources_on(store, kind, sys.maxsize, len(runs), known=False))
    jobs = counted(len(ready.todo.left), "job")
    train = to_be_trained(ready, len(runs))
    if settings.dry_run:
        say(f"hydra/launcher={launcher} would start {jobs}, one for each run.")
    if not train:
        return ready.plan.sweep, []
    announce(ready, f"{jobs} by hydra/launcher={launcher}, one for each run")
    return ready.plan.sweep, list(ready.todo.left)


def say_how_jobs_ended(runs: Sequence[Run], settings: Settings) -> None:
    """Prints that all runs have records.  Raises SweepFailed if a run has none."""
    store = Store(settings.store)
    index = RunIndex(store)
    without = [run.id for run in runs if index.of(run.id) is None]
    if without:
        raise SweepFailed(
            f"Of {counted(len(runs), 'run')} {len(without):,} not finished: their jobs have left no records; the same "
            "command goes on."
        )
    say_finished(store, len(runs), "")
    say_next(store, [run.id for run in runs])
