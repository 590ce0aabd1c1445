"""The workloads by which a device is measured for classifiers, and the packed engine as one that can be timed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.supervised.workload import Workload
from plasticity_lab.records.rows import Rows


class Packed:
    """A pack of `width` runs at its first task; a burst is one chunk, tables and measurements included.

    updates: of each run in a burst; run_steps: of all of them.
    """

    def __init__(self, workload: Workload, width: int, mode: str, device: str) -> None:
        runs, own = workload.runs(width), mode == "kernels"
        stream, self.learner = workload.assembled(runs, torch.device(device), mode == "compiled" or own, own)
        self.task, self.chunk = workload.first_task(stream)
        self.learner.begin(self.task, fresh=True)
        self.updates = self.chunk.steps
        self.run_steps = width * self.updates

    def burst(self) -> Rows:
        """The chunk's steps: "loss" and "accuracy", (S, K).  On a GPU it returns when all is computed."""
        return self.learner.advance(self.chunk)


@dataclass(frozen=True)
class WorkloadYardstick:
    """A workload under the name by which plans know it (see `agents.yardstick.Yardstick`)."""

    name: str
    workload: Workload

    @property
    def description(self) -> str:
        """The network."""
        return self.workload.network

    @property
    def cost(self) -> Cost:
        """Of one run."""
        return self.workload.cost

    @property
    def widths(self) -> Mapping[str, Sequence[int]]:
        """Those of the network's setting."""
        return self.workload.setting.widths

    def shortened(self, updates: int) -> "WorkloadYardstick":
        """With fewer images: a task is one burst."""
        return WorkloadYardstick(self.name, replace(self.workload, steps=updates))

    def pack(self, width: int, mode: str, device: str) -> Packed:
        """The packed engine."""
        return Packed(self.workload, width, mode, device)

    def peak(self, width: int, device: str) -> None:
        """A chunk, and the evaluation of its task."""
        pack = self.pack(width, "eager", device)
        pack.burst()
        pack.learner.evaluate(pack.task)


YARDSTICKS = (WorkloadYardstick("dense", Workload("mlp")), WorkloadYardstick("convolving", Workload("cnn")))
"""Networks of matrix products alone, and those with convolutions."""
