"""Estimate the cost of the rest of a stored sweep: packs, hours and store size, on this machine or another kind.

    python -m launch estimate 3f2a --device "NVIDIA H200" --workers 4

It prints the same table as `dry_run=true`, for the runs of a plan that are not finished yet. Each run is counted from
its first step, on any device; `python -m launch status` shows the progress of running packs.
"""

import argparse
import sys

from launch.packs.lookup import add_config_dir, add_sweep, store_there, sweep_named
from launch.packs.todo import outstanding
from launch.plan.calibration import resources_on
from launch.plan.device import cores, devices, kind_of, memory_here, memory_of
from launch.plan.planner import Resources, plan
from launch.wording import say
from plasticity_lab.agents.cost import Cost
from plasticity_lab.component import check
from plasticity_lab.records.kinds import device_name
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.record_facts import ended_for
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_sweep(parser)
    add_config_dir(parser)
    parser.add_argument(
        "--device",
        default="auto",
        help="auto: this machine's; cpu; or a GPU by its name, as `calibrate` has measured it into the store",
    )
    parser.add_argument(
        "--workers", type=int, help="how many train at once; by default all of this machine, 1 for another kind"
    )


def run(options: argparse.Namespace) -> None:
    """The command.  Raises StoreError, PlanError, DataError, ConfigError."""
    from launch.launchers.prepare import costs_to_show  # torch: --help need not wait for it
    from launch.plan.table import print_plan

    store = store_there(options.store)
    stored = read_plan(store, sweep_named(store, options.sweep))
    resources = _resources(store, options.device, options.workers)
    runs = [stored.runs[run] for run in stored.asked if run in stored.runs]
    todo = outstanding(store, runs, False, stored.settings.launch.retries, ended_for(stored.settings))
    say(*todo.corrupt, *resources.damaged)
    prices = costs_to_show(stored.settings)
    planned = {run: pack.mode for pack in stored.packs if pack.kind == resources.kind for run in pack.runs}

    def mode(run: Run, cost: Cost) -> str:
        return planned.get(run.id) or resources.choice(cost, stored.settings.mode).mode

    packs = plan(todo.left, resources, prices, mode, todo.widest)
    finished = len(stored.asked) - sum(pack.width for pack in packs)
    say(f"Sweep {stored.sweep} on {resources.kind}:")
    print_plan(packs, stored.runs, finished, resources, resources.workers, stored.settings, prices)


def _resources(store: Store, named: str, workers: int | None) -> Resources:
    """A kind of device, by name, and workers on it; for another machine, the memory is assumed to suffice."""
    here = ["cpu"] if named == "cpu" else devices("auto")
    kind, memory, host_memory, usual = named, sys.maxsize, sys.maxsize, 1
    if named in ("auto", "cpu", kind_of(here[0]), device_name(kind_of(here[0]))):
        usual = cores() if here == ["cpu"] else len(here)
        kind, host_memory = kind_of(here[0]), memory_here(usual)
        memory = host_memory if here == ["cpu"] else memory_of(here[0]) * len(here) // usual
    count = check("--workers", usual if workers is None else workers, at_least=1)
    return resources_on(store, kind, memory, count, host_memory=host_memory)
