"""Stop a sweep on Slurm: its workers write checkpoints and end, and none is started again.

What it has finished is kept, and `python -m launch resume` goes on from where it stopped.
"""

import argparse
import sys
from dataclasses import replace

from launch.launchers.slurm import cluster
from launch.launchers.slurm.jobs_file import jobs_there, write_jobs
from launch.packs.lookup import add_sweep, store_there, sweep_named
from launch.wording import counted
from plasticity_lab.records.plan import read_plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_sweep(parser)


def run(options: argparse.Namespace) -> int:
    """The command.  Raises StoreError, ConfigError, SlurmError."""
    store = store_there(options.store)
    plan = read_plan(store, sweep_named(store, options.sweep))
    jobs = jobs_there(store, plan.sweep)
    cluster.check_there()
    # First, so that a worker that is about to go back into the queue does not.
    write_jobs(store, plan.sweep, replace(jobs, cancelled=True))
    living = cluster.living(jobs.jobs)
    cluster.cancel(living)
    ended = f"{counted(living.total(), 'job')} cancelled" if living else "no job of it was left"
    print(f"Sweep {plan.sweep}: {ended}. `python -m launch resume {plan.sweep}` goes on.", file=sys.stderr)
    return 0
