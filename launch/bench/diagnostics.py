"""The cost of diagnostics, as a share of the training that they measure, within one process.

    python -m launch.bench.diagnostics [--situations permuted_mnist,ppo] [--width 5] [--epochs 3] [--out FOLDER]

Each set of diagnostics measures after each of a few epochs. Its CPU time is divided by the CPU time of the epoch's
updates, or of a whole task's updates for sets that measure when tasks end. Images are noise in the number and shape of
the published ones, so that no data are needed. On a CPU our own kernels compute the updates if they are available.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from launch.bench.choices import parsed, parser_of, write_result
from launch.command import resolve
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.records.rows import Position

SITUATIONS: Mapping[str, tuple[str, ...]] = {
    "permuted_mnist": ("benchmark=permuted_mnist",),
    "cifar51": ("benchmark=cifar51", "protocol=clean"),
    "split_cifar100": ("benchmark=split_cifar100", "agent=no_replay"),
    "ppo": ("benchmark=classic_cycle",),
    "dqn": ("benchmark=catch",),
}
"""Words of a command, all with Leaky-ReLU."""
SETS = {"cheap": (), "gradients": (), "curvature": (), "curvature of all": ("diagnostics.block=all",)}
"""Sets, each with further words. The first measures after each epoch, the others when tasks end."""


def measured(words: tuple[str, ...], width: int, epochs: int) -> dict[str, float]:
    """CPU milliseconds of an epoch's updates, a task's updates, and each set's measurement; medians over the epochs."""
    import torch

    from plasticity_lab.assembly import assembled, model_of, resources_or_outlines
    from plasticity_lab.diagnostics.chosen import diagnostics_of
    from plasticity_lab.kernels.build import missing

    common = ("activation=leaky_relu", f"seed=range(0,{width})", "tracking=store")
    runs = resolve([*words, *common]).runs
    resource = noise(resources_or_outlines(Path("nowhere"), lambda said: None)(runs[0]))
    stream, learner = assembled(runs, resource, torch.device("cpu"), False, kernels=missing() is None, observed=True)
    sets = {}
    for name, more in SETS.items():
        chosen = diagnostics_of(resolve([*words, *common, f"diagnostics={name.split()[0]}", *more]).runs[0])
        model = model_of(runs, resource)
        sets[name] = {of: each for of, each in chosen.items() if each.applies_to(model)}
    task = stream.task(0)
    learner.begin(task, fresh=True)
    ends = sum(chunk.ends_epoch for chunk in task.chunks(Position(0, 0)))
    taken = _seconds(learner, task, sets, epochs)
    milliseconds = {name: median(times[1:] or times) * 1000 for name, times in taken.items()}
    return {**milliseconds, "task": milliseconds["epoch"] * ends}


def _seconds(learner: Any, task: Any, sets: Mapping[str, Mapping[str, Any]], epochs: int) -> dict[str, list[float]]:
    """CPU seconds of each epoch's updates, and of each set's measurement after it; the first epoch warms up."""
    states = {name: each.start(learner.view(task)) for members in sets.values() for name, each in members.items()}
    taken: dict[str, list[float]] = {name: [] for name in ("epoch", *sets)}
    since = 0.0
    for chunk in task.chunks(Position(0, 0)):
        began = time.process_time()
        learner.advance(chunk)
        since += time.process_time() - began
        if not chunk.ends_epoch:
            continue
        if learner.view(task).probe:
            taken["epoch"].append(since)
            for name, members in sets.items():
                began = time.process_time()
                view = replace(learner.view(task), epoch=0)
                for member, diagnostic in members.items():
                    diagnostic.look(replace(view, state=states[member]))
                taken[name].append(time.process_time() - began)
        since = 0.0
        if len(taken["epoch"]) > epochs:
            break
    return taken


def noise(resource: Any) -> Any:
    """An image set with noise in place of its images, which may be black; other resources unchanged."""
    import numpy as np

    if not hasattr(resource, "train_images"):
        return resource
    draw = np.random.default_rng(0)
    parts = {}
    for part in ("train", "test"):
        shape = getattr(resource, f"{part}_images").shape
        parts[f"{part}_images"] = draw.integers(0, resource.white + 1, shape).astype(np.uint8)
        parts[f"{part}_labels"] = np.arange(len(parts[f"{part}_images"])) % resource.classes
    return replace(resource, **parts)


def main() -> None:
    """The command."""
    parser = parser_of("diagnostics", __doc__)
    parser.add_argument("--situations", default=",".join(SITUATIONS), help="some of them, by their names")
    parser.add_argument("--width", type=int, default=5, help="runs of a pack")
    parser.add_argument("--epochs", type=int, default=3, help="epochs that count")
    options = parsed(parser, "diagnostics")
    from launch.work.process import prepare_process

    prepare_process()
    by_situation = {}
    for name in options.situations.split(","):
        by_situation[name] = ms = measured(SITUATIONS[name], options.width, options.epochs)
        print(f"{name}, a pack of {options.width}: {ms['epoch']:.0f} ms an epoch, {ms['task']:,.0f} ms a task")
        for at, of_set in enumerate(SETS):
            whole, of = ("epoch", "an epoch") if at == 0 else ("task", "a task")
            print(f"  {of_set}: {ms[of_set]:.0f} ms a measurement, {ms[of_set] / ms[whole]:.1%} of {of}", flush=True)
    write_result(options.out, "diagnostics", {"milliseconds": by_situation, "width": options.width})


if __name__ == "__main__":
    leave(status_of(main))
