"""Pinned memory where there is no GPU: ordinary memory, and marks that are notes."""

from dataclasses import dataclass, field

import torch

from plasticity_lab.agents.acting.crossing import Crossing
from plasticity_lab.agents.acting.frames import DeviceRing, DistinctFrames
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.sending import SETTLED, Sender
from tests.helpers.packs import CPU

NOTES = list[str]()


@dataclass
class Noted:
    """A mark that notes its calls, and its number."""

    number: int = field(default_factory=lambda: sum(note == "made" for note in NOTES))

    def __post_init__(self):
        NOTES.append("made")

    def record(self):
        NOTES.append(f"recorded {self.number}")

    def synchronize(self):
        NOTES.append(f"waited for {self.number}")


def noted_crossing(device: torch.device = CPU) -> Crossing:
    """Its transfers are copies on this machine."""
    return Crossing(device, lambda count: torch.empty(count, dtype=torch.uint8), lambda _: Noted())


WAYS = ("whole", "ring", "distinct")


def send(memory: Memory, way: str, device: torch.device = CPU) -> None:
    """From now on this memory's batches are sent in that way, as if to a GPU; "" for none: as usual on a CPU."""
    memory._sender = None
    if way:
        ring, n_step = memory.ring, memory.n_step.n
        memory._weight_there = memory._weight.to(device)
        memory._sender = Sender(ring, n_step, memory.padded, device, crossing=noted_crossing)
        memory._sender._batches = SETTLED  # the way is as asked for
        frames = {
            "ring": lambda: DeviceRing(ring, device, noted_crossing),
            "distinct": lambda: DistinctFrames(ring, n_step),
        }
        memory._sender.frames = frames[way]() if way in frames else None
