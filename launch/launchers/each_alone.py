"""A job for each run, as launchers of Hydra's own start them: one sweep, whose packs have one run each.

The command plans the sweep; each job trains the pack of its run, and adds no plan of its own.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

from launch.launchers.finished import SweepFailed
from launch.launchers.prepare import Prepared, Resources, calibrated, prepared
from launch.launchers.report import announce, say_planned, settled, show_plan
from launch.plan.compiling import not_compiled_here
from launch.plan.device import devices, kind_of
from launch.runs.settings import store_option
from launch.wording import counted, say
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


def to_be_started(runs: Sequence[Run], settings: Settings, launcher: str) -> tuple[str, list[Run]]:
    """Plans the runs as packs of one → the sweep, and the runs that need a job: none where the plan is only shown.

    Jobs may run on other machines, so that memory is taken to suffice.  Raises what `prepared` and `settled` raise.
    """
    store, kind = Store(settings.store), kind_of(devices(settings.device)[0])
    calibration, damaged = calibrated(store, kind)
    alone = Resources(kind, calibration, not_compiled_here(), sys.maxsize, len(runs), damaged, known=False)
    ready = prepared(runs, settings, alone)
    jobs = counted(len(ready.todo.left), "job")
    if settings.dry_run or settings.plan_only:
        show_plan(ready, len(runs))
    if settings.dry_run:
        say(f"hydra/launcher={launcher} would start {jobs}, one for each run.")
        return ready.plan.sweep, []
    if not settled(ready):
        return ready.plan.sweep, []
    if settings.plan_only:
        say_planned(ready)
        return ready.plan.sweep, []
    announce(ready, f"{jobs} by hydra/launcher={launcher}, one for each run")
    return ready.plan.sweep, list(ready.todo.left)


def part_of(ready: Prepared, sweep: str) -> Prepared:
    """What a job has prepared as a part of its sweep; as it is where that has other packs, as of another device."""
    known = {pack.id for pack in read_plan(ready.store, sweep).packs}
    if not ready.plan.packs or not known.issuperset(pack.id for pack in ready.plan.packs):
        return ready
    return replace(ready, plan=replace(ready.plan, sweep=sweep), of_another=True)


def say_how_jobs_ended(runs: Sequence[Run], settings: Settings) -> None:
    """Says that all runs have records.  Raises SweepFailed where one has none."""
    store = Store(settings.store)
    index = RunIndex(store)
    without = [run.id for run in runs if index.of(run.id) is None]
    if without:
        raise SweepFailed(
            f"Of {counted(len(runs), 'run')} {len(without):,} not finished: their jobs have left no records; the same "
            "command goes on."
        )
    finished = f"All {len(runs):,} runs are" if len(runs) > 1 else "The run is"
    say(f"{finished} finished. Records: {store.root}")
    say(f"Their table: python -m analysis table{store_option(store)}")
