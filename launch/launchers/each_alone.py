"""A job for each run, as Hydra's own launchers start them: one sweep, and each of its packs has one run.

The command plans the sweep. Each job trains the pack of its run, and adds no plan of its own.
"""

import sys
from collections.abc import Sequence

from launch.launchers.finished import SweepFailed, say_finished, say_next
from launch.launchers.prepare import prepared
from launch.launchers.report import announce, to_be_trained
from launch.plan.calibration import calibrated
from launch.plan.compiling import not_compiled_here
from launch.plan.device import devices, kind_of
from launch.plan.planner import Resources
from launch.wording import counted, say
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


def to_be_started(runs: Sequence[Run], settings: Settings, launcher: str) -> tuple[str, list[Run]]:
    """Plans each run as a pack.  Returns the sweep, and the runs that need a job; none if the plan is only shown.

    Jobs may run on other machines, so their memory is taken to suffice.  Raises as `prepared` and `to_be_trained`.
    """
    store, kind = Store(settings.store), kind_of(devices(settings.device)[0])
    calibration, damaged = calibrated(store, kind)
    alone = Resources(kind, calibration, not_compiled_here(), sys.maxsize, len(runs), damaged, known=False)
    ready = prepared(runs, settings, alone)
    jobs = counted(len(ready.todo.left), "job")
    train = to_be_trained(ready, len(runs))
    if settings.dry_run:
        say(f"hydra/launcher={launcher} would start {jobs}, one for each run.")
    if not train:
        return ready.plan.sweep, []
    announce(ready, f"{jobs} by hydra/launcher={launcher}, one for each run")
    return ready.plan.sweep, list(ready.todo.left)


def say_how_jobs_ended(runs: Sequence[Run], settings: Settings) -> None:
    """Says that all runs have records.  Raises SweepFailed if one has none."""
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
