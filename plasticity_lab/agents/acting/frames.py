"""Frames of a replay memory on a GPU: each crosses to it once, and observations are stacked there.

A batch on the host has whole stacks, although most frames of a stack are also in the next one. Here the host sends the
places of the frames (`Ring.places`), and the device gathers them. The observations have the same bits.

Legend: K runs, N environments of each, L rows of the ring, P rows of a padded batch, F frames of an observation,
S numbers of a frame.
"""

from collections.abc import Callable, Collection, Mapping
from math import prod
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.crossing import Crossing
from plasticity_lab.agents.cost import frames_fit
from plasticity_lab.agents.observations import torch_type
from plasticity_lab.replay.ring import Ring

FRAMES = "frames"
"""The name of the frames that cross with a batch."""
USABLE = 0.9
"""The share of a GPU's memory that all processes may use together, as in plans."""
WORDS = (torch.int64, torch.int32, torch.int16, torch.uint8)
STAGED = 8
"""The most steps that wait on the host until they are copied together: as many as a compressed block has."""


class Frames(Protocol):
    """Makes observations on the device from the places of their frames."""

    def add(self, frame: NDArray[Any]) -> None:
        """Takes the frames (K, N, ...) of the step that was last added to the ring."""
        ...

    def forget(self) -> None:
        """Keeps nothing of the ring's content, since the ring was loaded."""
        ...

    def entries(self, places: Mapping[str, NDArray[np.int64]], crossing: Crossing) -> dict[str, NDArray[Any]]:
        """The arrays to send for these observations.  places: name → (K, P, F)."""
        ...

    def stacked(self, sent: Mapping[str, Tensor], names: Collection[str]) -> dict[str, Tensor]:
        """All that was sent, with the observations (K, P, F·S) of these names in place of the arrays of `entries`."""
        ...


class DeviceRing:
    """All frames of a ring, on a device too: a frame is sent once, when it is added or before the next batch.

    It is never saved: whatever it lacks, as after a resume, comes from the ring on the host.
    """

    def __init__(
        self, ring: Ring, device: torch.device, crossing: Callable[[torch.device], Crossing] = Crossing
    ) -> None:
        self.ring, self.numbers = ring, prod(ring.body.frame)
        columns = ring.runs * ring.environments
        self._frames = torch.empty(
            ring.places_of_frames + 1, self.numbers, dtype=torch_type(ring.body.dtype), device=device
        )
        self._frames[-1].zero_()
        self._rows = self._frames[:-1].view(ring.rows, columns, self.numbers)
        self._crossing, self._shape = crossing(device), (STAGED, columns, self.numbers)
        self.forget()

    def forget(self) -> None:
        """Takes all steps from the host again."""
        self._end = self._staged = 0

    def add(self, frame: NDArray[Any]) -> None:
        """Sends them, at once or with the next ones."""
        if self._end == self.ring.end - 1:
            self._stage(frame)

    def entries(self, places: Mapping[str, NDArray[np.int64]], crossing: Crossing) -> dict[str, NDArray[Any]]:
        """The places; all frames are on the device from now on."""
        self._follow()
        return dict(places)

    def stacked(self, sent: Mapping[str, Tensor], names: Collection[str]) -> dict[str, Tensor]:
        """See `Frames`."""
        return {name: _gathered(self._frames, value) if name in names else value for name, value in sent.items()}

    def _follow(self) -> None:
        """Sends the steps that are not on the device."""
        ring = self.ring
        if self._end < ring.oldest:
            self._flush()
            self._end = ring.oldest
        while self._end < ring.end:
            steps = range(self._end, min(ring.end, (self._end // STAGED + 1) * STAGED))
            for frame in ring.frames_of(steps):
                self._stage(frame)
        self._flush()

    def _stage(self, frame: NDArray[Any]) -> None:
        if not self._staged:
            self._crossing.begin()
            self._array = self._crossing.array(FRAMES, self._shape, self.ring.body.dtype)
        self._array[self._staged] = frame.reshape(self._shape[1:])
        self._staged += 1
        self._end += 1
        if self._staged == STAGED or self._end % self.ring.rows == 0:
            self._flush()

    def _flush(self) -> None:
        if self._staged:
            row = (self._end - self._staged) % self.ring.rows
            self._crossing.copy(self._array[: self._staged], self._rows[row : row + self._staged])
            self._staged = 0


class DistinctFrames:
    """The frames of a batch, sent with it: each once, however many stacks have it.

    n_step: steps between the two observations of a step.
    """

    def __init__(self, ring: Ring, n_step: int) -> None:
        self.ring, self.n_step = ring, n_step

    def add(self, frame: NDArray[Any]) -> None:
        """Does nothing: frames cross with their batches."""

    def forget(self) -> None:
        """Does nothing, likewise."""

    def entries(self, places: Mapping[str, NDArray[np.int64]], crossing: Crossing) -> dict[str, NDArray[Any]]:
        """The distinct frames, and for each frame of a stack its number among them."""
        ring, body = self.ring, self.ring.body
        every = np.concatenate([each.reshape(-1) for each in places.values()])
        distinct, numbers = np.unique(every, return_inverse=True)
        count = len(distinct) - int(distinct[-1] == ring.places_of_frames)  # without the frame of zeros, the last one
        crossing.array(FRAMES, (self._most(places), *body.frame), body.dtype)  # large enough for each later batch
        frames = crossing.array(FRAMES, (len(distinct), *body.frame), body.dtype)
        ring.frames_at(distinct[:count], frames[:count])
        frames[count:] = 0
        ends = np.cumsum([each.size for each in places.values()])[:-1]
        parts = zip(places.items(), np.split(numbers.reshape(-1), ends), strict=True)
        found = {name: part.reshape(each.shape) for (name, each), part in parts}
        return {**found, FRAMES: frames.reshape(len(distinct), -1)}

    def stacked(self, sent: Mapping[str, Tensor], names: Collection[str]) -> dict[str, Tensor]:
        """See `Frames`."""
        frames = sent[FRAMES]
        rest = {name: value for name, value in sent.items() if name != FRAMES}
        return {name: _gathered(frames, value) if name in names else value for name, value in rest.items()}

    def _most(self, places: Mapping[str, NDArray[np.int64]]) -> int:
        """The most distinct frames of these observations: those after n steps share all but n frames with the first."""
        count, stack = next(iter(places.values())).size, self.ring.body.stack
        return count + (len(places) - 1) * count // stack * min(self.n_step, stack) + 1


def frames_for(ring: Ring, n_step: int, device: torch.device, free: int) -> DeviceRing | DistinctFrames | None:
    """How the frames of a memory reach a GPU; None: whole stacks are sent.

    A ring of pixels lives there if it fits (`frames_fit`). Otherwise distinct frames are sent if the two observations
    of a step have frames in common. n_step: steps between the two. free: bytes that the process may use on the device.
    """
    if ring.body.dtype != "uint8":
        return None
    if frames_fit(ring.places_of_frames * prod(ring.body.frame), free):
        try:
            return DeviceRing(ring, device)
        except torch.OutOfMemoryError:  # another process took the memory since it was counted
            pass
    return DistinctFrames(ring, n_step) if n_step < ring.body.stack else None


def free_on(device: torch.device, sharing: int) -> int:
    """Bytes of a GPU's memory that this process has not needed so far, if that many processes share the GPU.

    Its need is the peak since `Sender` was made. Kept memory of earlier packs is freed first.
    """
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device)
    needed = max(held, torch.cuda.max_memory_allocated(device))
    return min(free + held, int(USABLE * total) // sharing) - needed


def _gathered(frames: Tensor, places: Tensor) -> Tensor:
    """Frames (M, S) at these places (K, P, F): (K, P, F·S).

    They are copied in the widest words that they consist of: a GPU copies a number at a time.
    """
    bytes_of_frame = frames.shape[1] * frames.element_size()
    word = next(word for word in WORDS if bytes_of_frame % word.itemsize == 0)
    found = frames.view(word).index_select(0, places.reshape(-1))
    return found.view(frames.dtype).view(*places.shape[:2], -1)
