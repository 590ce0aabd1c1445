"""Assays tried by hand on made-up images and networks."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assays.assay import Assay
from plasticity_lab.assays.copies import Copies, seeds_of
from plasticity_lab.assays.trial import Setup
from plasticity_lab.assembly import agent_of
from tests.helpers.packs import CPU, images, run

DIGITS = images(8, 61, 33)
FEW = {"steps": 12, "batch_size": 8, "examples": 30, "repetitions": 2, "points": 4}


def setup(assay: Assay, seeds: tuple[int, ...] = (0, 1), kernels: bool = False, compiled: bool = False, **own: Any):
    """The setup of runs of an MLP of width 13 on made-up digits.  own: further arguments of `packs.run`."""
    own = {"images": 61, "tasks": 3, "network": {"width": 13}} | own
    runs = [run(seed, **own) for seed in seeds]
    return Setup(assay, parts_of(runs, kernels=kernels), agent_of(runs[0]), DIGITS, CPU, compiled)


def aged(setup: Setup) -> dict[str, Tensor]:
    """Parameters of the K runs that no training made: another start, each number changed by its place."""
    runs = len(setup.parts.init_seeds)
    copies = 2 * setup.assay.repetitions
    start = setup.model.start([7 + at for at in range(runs * copies)], CPU)
    return {
        name: value[::copies] + torch.linspace(-0.2, 0.3, value[0].numel()).view(value[0].shape)
        if name not in setup.model.statistics
        else value[::copies]
        for name, value in start.items()
    }


def begun(setup: Setup, parameters: dict[str, Tensor] | None = None, position: int = 1, **more: Any) -> Copies:
    """The copies after task 2, before their first step."""
    copies = setup.begun(position, aged(setup) if parameters is None else parameters, {}, **more)
    copies.measure()
    return copies


def learned(copies: Copies) -> dict[str, np.ndarray]:
    """The curves and the last parameters of copies that are trained to the end."""
    after = [step for step in copies.assay.measured_after() if step > copies.taken]
    for step in after:
        copies.train(step - copies.taken)
        copies.measure()
    curves = {name: np.array(points) for name, points in copies.curves.items()}
    return curves | {name: value.numpy()[None] for name, value in copies.network.weights().items()}


def own_fresh(setup: Setup, position: int = 1) -> dict[str, Tensor]:
    """For one repetition: the parameters of the fresh networks themselves, (K, ...)."""
    seeds = seeds_of(setup.assay, setup.parts, position)
    each = [seed for seed in seeds for _ in range(2)]
    return {name: value[1::2] for name, value in setup.model.start(each, CPU).items()}
