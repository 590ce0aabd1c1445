"""Batches on their way from the host to a GPU, in pinned memory.

A copy from pinned memory runs while the host goes on, and at the full speed of the bus. Other memory is first copied by
the driver, and the host waits.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SETS = 2
"""Batches in memory at once: the device copies one while the host writes the next."""


class Copied(Protocol):
    """Marks a point in a device's work."""

    def record(self) -> None:
        """Sets the mark behind all work so far."""

    def synchronize(self) -> None:
        """Waits until the device has reached the mark; returns at once if none was set."""


class Mark:
    """Marks a point in the work of a GPU, also if the process's current GPU is another one.

    `torch.cuda.Event` alone marks the work of the current GPU, and so it would wait for nothing.
    """

    def __init__(self, device: torch.device) -> None:
        self._device, self._event = device, torch.cuda.Event()

    def record(self) -> None:
        """Sets the mark behind all work so far."""
        self._event.record(torch.cuda.current_stream(self._device))

    def synchronize(self) -> None:
        """Waits until the device has reached the mark; returns at once if none was set."""
        self._event.synchronize()


def pinned(count: int) -> Tensor:
    """Bytes of the host that a GPU can copy by itself."""
    return torch.empty(count, dtype=torch.uint8, pin_memory=True)


class Crossing:
    """Memory of the host for batches, sent to a device.

    allocate: number of bytes → a tensor of bytes. mark: makes a mark for a device.
    """

    def __init__(
        self,
        device: torch.device,
        allocate: Callable[[int], Tensor] = pinned,
        mark: Callable[[torch.device], Copied] = Mark,
    ) -> None:
        self.device, self._allocate = device, allocate
        self._memory: list[dict[str, Tensor]] = [{} for _ in range(SETS)]
        self._copied = [mark(device) for _ in range(SETS)]
        self._now = 0

    def begin(self) -> None:
        """Begins a batch: waits until the device has copied the batch that had this memory before."""
        self._now = (self._now + 1) % SETS
        self._copied[self._now].synchronize()

    def array(self, name: str, shape: Sequence[int], dtype: Any) -> NDArray[Any]:
        """An array for that entry of the batch; it is valid until the memory's next batch begins."""
        count, memory = prod(shape) * np.dtype(dtype).itemsize, self._memory[self._now]
        if name not in memory or memory[name].numel() < count:
            memory[name] = self._allocate(count)
        return memory[name][:count].numpy().view(dtype).reshape(shape)

    def sent(self, batch: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
        """The batch on the device. Entries in other memory are copied into pinned memory first."""
        found = {}
        for name, values in batch.items():
            array = self.array(name, values.shape, values.dtype)
            if not (np.may_share_memory(array, values) and values.flags.c_contiguous):
                array[...] = values
            found[name] = torch.from_numpy(array).to(self.device, non_blocking=True)
        self._copied[self._now].record()
        return found

    def copy(self, values: NDArray[Any], to: Tensor) -> None:
        """Copies an array of this memory into a tensor of the device; ends the batch, like `sent`."""
        to.copy_(torch.from_numpy(values), non_blocking=True)
        self._copied[self._now].record()
