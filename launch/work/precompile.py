"""Compiles the graphs of later packs while workers train their first packs.

    python -m launch.work.precompile --store STORE --sweep SWEEP --workers 2 --parent PID

It begins each such pack in memory, once for all packs with the same graphs, and stores only the graphs (see
`plasticity_lab.agents.graphs`). A worker that begins such a pack earlier compiles the graphs itself.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from launch.work.patience import StopSignal
from launch.work.process import prepare_compiling, prepare_process
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.data.folder import data_folder
from plasticity_lab.records.plan import Pack, Plan, read_plan
from plasticity_lab.records.rows import Position
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

NICENESS = 10


def compile_graphs(
    runs: Sequence[Run], resource: Resource, kernels: bool, stop: Callable[[], bool] = lambda: False
) -> None:
    """Compiles the graphs of a pack of these runs: its first chunks, up to the first update, and an evaluation.

    stop: asked after each chunk; if true, the missing graphs are not compiled.
    """
    stream, learner = assembled(runs, resource, torch.device("cpu"), compiled=True, kernels=kernels)
    beginning = Position(0, 0)
    task = next(iter(stream.tasks(after=beginning)))
    learner.begin(task, fresh=True)
    for chunk in task.chunks(after=beginning):
        learned = learner.advance(chunk).updates
        if stop():
            return
        if any(len(of_updates) for of_updates in learned.values()):  # none while a memory is filled
            break
    learner.evaluate(task)


def packs_to_precompile(plan: Plan, packs: Sequence[Pack], workers: int) -> list[Pack]:
    """One compiled pack for each structure, mode and width, without the packs that the workers begin with."""
    first: dict[tuple[str, str, int], int] = {}
    for place, pack in enumerate(packs):
        if pack.compiled and pack.kind.startswith("cpu"):
            first.setdefault((plan.runs_of(pack)[0].structure(), pack.mode, pack.width), place)
    return [packs[place] for place in first.values() if place >= workers]


def main(arguments: list[str] | None = None) -> int:
    """The command.  Returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m launch.work.precompile", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--store", type=Path, required=True, help="the folder of records; required")
    parser.add_argument("--sweep", required=True, help="the sweep's id; required")
    parser.add_argument("--workers", type=int, required=True, help="they begin with the first packs; required")
    parser.add_argument("--parent", type=int, help="stop when this process is gone")
    options = parser.parse_args(arguments)
    stop = StopSignal(options.parent)
    os.nice(NICENESS)
    prepare_process()
    prepare_compiling()
    plan = read_plan(Store(options.store), options.sweep)
    resource_of = resources(data_folder(plan.settings.data))
    for pack in packs_to_precompile(plan, plan.packs, options.workers):
        if stop():
            break
        with contextlib.suppress(Exception):  # the worker that trains the pack reports it
            runs = plan.runs_of(pack)
            compile_graphs(runs, resource_of(runs[0]), pack.kernels, stop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
