"""The packed engine as a contender."""

import torch
from launch.plan.yardstick.workload import Workload

from plasticity_lab.agents.agent import Rows
from plasticity_lab.assembly import assembled


class Packed:
    """A pack of `width` runs at its first task; a burst is one chunk, tables and measurements included."""

    def __init__(self, workload: Workload, width: int, mode: str, device: str) -> None:
        runs = workload.runs(width)
        stream, self.agent = assembled(runs, workload.image_set, torch.device(device), mode == "compiled")
        self.task, self.chunk = workload.first_task(stream)
        self.agent.begin(self.task)
        self.run_steps = width * self.chunk.steps

    def burst(self) -> Rows:
        """The chunk's steps: "loss" and "accuracy", (S, K).  On a GPU it returns when all is computed."""
        return self.agent.advance(self.chunk)
