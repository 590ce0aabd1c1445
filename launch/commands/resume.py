"""Resume a sweep on Slurm: plan failed and interrupted runs again, and start the same workers again.

If all runs are finished or already in training, it says so and starts no workers: it can be given at any time.
"""

import argparse

from launch.packs.lookup import add_config_dir, add_sweep, store_there, sweep_named
from launch.packs.submissions import last_submission
from launch.packs.sweep import in_words
from launch.packs.todo import outstanding
from plasticity_lab.errors import StoreError
from plasticity_lab.named_code import name_again
from plasticity_lab.records.plan import Plan, read_plan
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import CorruptRecord, ended_for
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import run_of
from plasticity_lab.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_sweep(parser)
    add_config_dir(parser)


def run(options: argparse.Namespace) -> None:
    """The command.  Raises StoreError, ConfigError, DataError, PlanError, SlurmError, OwnClassError; SweepFailed after
    waiting.
    """
    store = store_there(options.store)
    plan = read_plan(store, sweep_named(store, options.sweep))
    last = last_submission(store, plan)
    name_again(last.code)  # archives hold no submissions: a command here made this one and named the code
    # A plan holds the runs that were unfinished when it was made; for the others the id suffices.
    runs = [plan.runs.get(run, Run(run, {}, {})) for run in plan.asked]
    settings = last.settings.model_copy(update={"store": store.root})
    todo = outstanding(store, runs, settings.rerun, settings.launch.retries, ended_for(settings))
    again = {run.id: _recorded(store, plan, run.id) for run in todo.left if run.id not in plan.runs}
    from launch.launchers.slurm.launcher import submit_runs  # torch: an unknown sweep is named before

    submit_runs([again.get(run.id, run) for run in runs], settings, last.launcher, plan.command)


def _recorded(store: Store, plan: Plan, run: str) -> Run:
    """A run from its record, since the plan has only its id; its metrics or weights are damaged.

    Raises StoreError if the record lacks something.
    """
    why = f"The record of run {run} existed when the sweep was planned and is gone now."
    try:
        record = read_record(store, run)
        if record is not None:
            recorded, assumed = run_of(record)
            if not assumed:
                return recorded
            why = f"Files of run {run} are damaged, and its record is of a version that did not keep all about a run."
    except CorruptRecord as error:
        why = str(error)
    raise StoreError(f"{why} Only the command itself can train it again: {in_words(plan.command)}")
