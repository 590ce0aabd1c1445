"""One trial of an assay on K runs at the end of a task: builds the copies, and trains them step by step.

Legend: K runs, C copies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.assays.assay import BRANCHES, Assay
from plasticity_lab.assays.copies import Copies, parts_of_copies, repeated, seeds_of
from plasticity_lab.benchmarks.benchmark import Resource
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.networks.encoder import Encoder
from plasticity_lab.networks.model import Model

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Setup:
    """The parts of a trial that are the same for all tasks.

    parts: the components of the K runs, with their own agent. agent: that agent.
    """

    assay: Assay
    parts: Parts[Any]
    agent: Agent
    resource: Resource
    device: torch.device
    compiled: bool

    @cached_property
    def model(self) -> Model:
        """The model of the copies.  Raises ConfigError if the network does not fit."""
        return self.agent.model(repeated(self.parts, self.assay.repetitions * len(BRANCHES)), self.resource)

    @cached_property
    def names(self) -> list[str]:
        """The names of the network's parameters in files of weights."""
        return list(self.model.start([0], torch.device("cpu")))

    @cached_property
    def pixels(self) -> Pixels | None:
        """The scaling of a classifier's images; None for other inputs."""
        benchmark = self.parts.benchmark
        if not (isinstance(benchmark, LabelledBenchmark) and isinstance(self.resource, ImageSet)):
            return None
        last = self.device.type == "cpu" and self.parts.kernels and isinstance(self.model.network, Encoder)
        return Pixels(self.resource, benchmark.normalise, self.device, last)

    def begun(
        self,
        position: int,
        aged: Tensors,
        probe: Tensors,
        later: Tensors | None = None,
        moments: Mapping[str, Tensors] | None = None,
        counts: Sequence[int] = (),
    ) -> Copies:
        """The copies at the end of a task, ready to train; nothing is measured yet.  See `Copies` and `Given`."""
        assay, pixels, benchmark = self.assay, self.pixels, self.parts.benchmark
        seeds = seeds_of(assay, self.parts, position)
        body = benchmark.body_of(position) if isinstance(benchmark, BodyBenchmark) else None
        parts = parts_of_copies(assay, self.parts, seeds)
        copies = Copies(assay, parts, self.model, aged, seeds, self.device, body, moments, counts)
        given = copies.given(self.parts, self.resource, position, pixels, probe=probe, later=later)
        same = (parts.structure, *([] if pixels is None else pixels.structure_key))
        with torch.no_grad():
            problem = assay.problem(given)
        floats = problem.rows.dtype != torch.uint8
        copies.face(problem, None if floats else pixels, self.compiled, self.parts.kernels, same)
        return copies
