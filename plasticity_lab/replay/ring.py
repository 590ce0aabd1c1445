"""The last steps of a pack of runs, stored on the host in a ring buffer that holds each frame once.

Legend: K runs, N environments per run, L rows of the ring, C the first axis of a frame, F frames per observation,
B requested steps.

A row is one step of all environments of the pack: the newest frame of each observation, the action, the reward and the
flags. Steps are numbered from the first one added; step t is in row t modulo L.
"""

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body
from plasticity_lab.kernels import replay as kernel
from plasticity_lab.records.bulk import Bulk, Entries
from plasticity_lab.records.packed_entries import PackedEntries
from plasticity_lab.replay.packing import bytes_of_frame, packed_bytes

Array = NDArray[Any]
REWARD = np.float32
FLAGS = ("terminated", "truncated", "life_lost", "first")


class EmptyMemory(ValueError):
    """The ring has no usable step: too few steps were added since it was new, or since it lost its content."""


class Index(NamedTuple):
    """Indices of steps.  step: (K, B), step numbers. environment: (K, B), 0 … N − 1."""

    step: NDArray[np.int64]
    environment: NDArray[np.int64]


class Ring:
    """A ring buffer for K runs with `environments` environments each.

    capacity: steps per run, summed over its environments; rounded down to a multiple of `environments`. A new ring is
    empty. A ring is also empty if `load` found no stored frames; `lost` counts these cases. No step can be sampled from
    an empty ring. The operating system allocates memory when a row is first written. Raises ValueError if the capacity
    is below one step per environment. packs: whether frames are held compressed, which changes no value; `packed` is
    then their ring, and `arrays` has no frames. threads: the number of threads that unpack them.
    """

    def __init__(
        self, body: Body, runs: int, environments: int, capacity: int, packs: bool = False, threads: int = 1
    ) -> None:
        self.body, self.runs, self.environments = body, runs, environments
        self.rows = capacity // environments
        if self.rows < 1:
            raise ValueError(f"A ring of {capacity} steps has no row for {environments} environments.")
        there = (self.rows, runs, environments)
        self.packed = PackedEntries(self.rows, (*there[1:], *body.frame), body.dtype, threads) if packs else None
        self.arrays: dict[str, Array] = {
            **({} if packs else {"frame": np.zeros((*there, *body.frame), body.dtype)}),
            "action": np.zeros((*there, *body.action), _action_type(body)),
            "reward": np.zeros(there, REWARD),
            **{flag: np.zeros(there, np.bool_) for flag in FLAGS},
        }
        """The stored values, name → (L, K, N, ...). Rows come first, so consecutive steps are adjacent in memory."""
        self.end = 0
        """The number of steps added since the ring was new or lost its content; also the number of the next step."""
        self.held = 0
        """The number of latest steps that the ring holds, at most L."""
        self.lost = 0
        """The number of times that `load` continued without the stored content."""

    @property
    def oldest(self) -> int:
        """The number of the oldest step that the ring holds."""
        return self.end - self.held

    @property
    def empty(self) -> bool:
        """Whether the ring holds no step."""
        return self.held == 0

    def add(
        self,
        frame: Array,
        action: Array,
        reward: Array,
        terminated: Array,
        truncated: Array,
        life_lost: Array,
        first: Array,
    ) -> None:
        """Adds one step of every environment; a full ring overwrites its oldest step.

        frame: the newest frame of the observation before the step, (K, N, C, ...), see `Body.newest`. action: (K, N) or
        (K, N, A). reward and the flags, (K, N): the result of the step, as in `Outcome`. first: whether the observation
        was the first of an episode (`Environments.first`). It also marks the end of an interrupted episode, which has
        no flag of its end.
        """
        row = self.end % self.rows
        values = (action, reward, terminated, truncated, life_lost, first)
        if self.packed is None:
            self.arrays["frame"][row] = frame
        else:
            self.packed.put(self.end, frame)
        for name, value in zip(("action", "reward", *FLAGS), values, strict=True):
            self.arrays[name][row] = value
        self.end += 1
        self.held = min(self.held + 1, self.rows)

    def clear(self) -> None:
        """Removes all steps; `end` continues to count."""
        self.held = 0

    def of(self, name: str, index: Index | int) -> Array:
        """The values of one array at these steps, (K, B, ...); arbitrary values for steps that the ring lacks.

        index: the number of a step gives its values in every environment, (K, N): a view; not for frames.
        """
        if isinstance(index, int):
            return self.arrays[name][index % self.rows]
        if name == "frame":
            return self._frames(index.step, index.environment)
        return self.arrays[name][index.step % self.rows, self._runs(index.step), index.environment]

    def observations(self, index: Index, out: Array | None = None) -> Array:
        """The observations at these steps, (K, B, F·C, ...): restacked frames, 0 before an episode's first frame.

        out: a contiguous array for the result; None: a new one.
        """
        stack, frame = self.body.stack, self.body.frame
        if kernel.is_used() and self.packed is None:
            found = np.empty((*index.step.shape, stack * frame[0], *frame[1:]), self.body.dtype) if out is None else out
            frames, first = self.arrays["frame"], self.arrays["first"]
            kernel.observations(frames, first, index.step, index.environment, stack, found)
            return found
        found = self.of("frame", index) if stack == 1 else self._stacked(index)
        if out is None:
            return found
        out[...] = found
        return out

    def places(self, index: Index) -> NDArray[np.int64]:
        """The places of these observations' frames, (K, B, F): numbers below L·K·N, in the order of the arrays.

        Before an episode's first frame the place is L·K·N: a frame of zeros.
        """
        step, environment, before = self._members(index)
        found = (step % self.rows * self.runs + self._runs(step)) * self.environments + environment
        found[before] = self.places_of_frames
        return found

    @property
    def places_of_frames(self) -> int:
        """L·K·N."""
        return self.rows * self.runs * self.environments

    def frames_at(self, places: NDArray[np.int64], out: Array) -> None:
        """Writes the frames at these places (R,) into a contiguous array (R, C, ...); none of them is L·K·N."""
        if self.packed is None:
            frames = self.arrays["frame"].reshape(-1, *self.body.frame)
            if kernel.is_used():
                kernel.gather([frames], np.array([len(places)]), places, np.arange(len(places)), out)
            else:
                np.take(frames, places, axis=0, out=out, mode="clip")
            return
        rows, columns = np.divmod(places, self.runs * self.environments)
        steps = self.oldest + (rows - self.oldest) % self.rows
        self.packed.of(steps, columns, out, kernel.gather if kernel.is_used() else None)

    def frames_of(self, steps: range) -> Array:
        """The newest frames at consecutive steps, (steps, K, N, C, ...)."""
        if self.packed is not None:
            return self.packed.values_of(steps)
        return self.arrays["frame"][np.arange(steps.start, steps.stop) % self.rows]

    def _members(self, index: Index) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """The step of each frame of these observations, (K, B, F), its environment, (K, B, 1), and whether it is zeros.

        A frame is zeros, (K, B, F), if it is older than its episode.
        """
        back = np.arange(self.body.stack - 1, -1, -1)
        step, environment = index.step[..., None] - back, index.environment[..., None]
        first = self.arrays["first"][step % self.rows, self._runs(step), environment]
        # An older frame belongs to the stack if no episode begins after it, up to the step itself.
        before = np.zeros(step.shape, np.bool_)
        before[..., :-1] = np.logical_or.accumulate(first[..., :0:-1], axis=-1)[..., ::-1]
        return step, environment, before

    def _stacked(self, index: Index) -> Array:
        """The same by NumPy, for stacks of frames."""
        step, environment, before = self._members(index)
        frames = self._frames(step, environment)
        frames[before] = 0
        return frames.reshape(*index.step.shape, self.body.stack * self.body.frame[0], *self.body.frame[1:])

    def whole(self, index: Index) -> NDArray[np.bool_]:
        """Whether the ring holds these steps and all frames of their observations, (K, B)."""
        here = (index.step >= self.oldest) & (index.step < self.end)
        goes_back = ~self.of("first", index)
        for back in range(1, self.body.stack):
            before = Index(index.step - back, index.environment)
            here &= ~goes_back | (before.step >= self.oldest)
            goes_back &= ~self.of("first", before)
        return here

    def since(self, step: int) -> list[slice]:
        """The rows of all steps from `step` on, oldest first: at most two slices, valid for each of the `arrays`.

        Steps that were overwritten or lost are left out; compare `step` with `oldest` to detect them.
        """
        first = max(step, self.oldest)
        if first >= self.end:
            return []
        begin, end = first % self.rows, (self.end - 1) % self.rows + 1
        return [slice(begin, end)] if begin < end else [slice(begin, self.rows), slice(0, end)]

    def state(self) -> dict[str, int]:
        """The counters; `bulk` returns the content."""
        return {"end": self.end, "held": self.held, "lost": self.lost}

    def bulk(self) -> Bulk:
        """The content, name → its entries: views of the ring's arrays."""
        packed = {} if self.packed is None else {"frame": self.packed}
        return {**{name: Entries(array, self.end) for name, array in self.arrays.items()}, **packed}

    def load(self, state: Mapping[str, int], bulk: Bulk) -> None:
        """Restores the ring from the results of `state` and `bulk`; keeps no reference to them.

        bulk: the arrays of this ring, already filled, or arrays of another ring, which are copied; {} if the content is
        lost. Without content the ring is empty, as if new; `lost` increases by 1 if the ring had held steps. Raises
        ValueError if the bulk has entries of another shape or number, or lacks some.
        """
        end, held, lost = (int(state[name]) for name in ("end", "held", "lost"))
        if held and bulk:
            for name, own in self.bulk().items():
                other = bulk.get(name)
                if other is None or (other.shape, other.capacity) != (own.shape, own.capacity) or other.added != end:
                    there = "is missing" if other is None else f"has {other.added} steps of shape {other.shape}"
                    raise ValueError(f"{name} {there} in a ring of {self.body.name}; it must have {end} steps of "
                                     f"shape {own.shape}, and {own.capacity} rows.")  # fmt: skip
            for name, own in self.bulk().items():
                _copy(bulk[name], own)
        else:
            if held:
                end, held, lost = 0, 0, lost + 1
            if self.packed is not None:
                self.packed.clear()
        self.end, self.held, self.lost = end, held, lost

    def _frames(self, step: Array, environment: Array) -> Array:
        """The newest frames at these steps, (K, B, ..., C, ...)."""
        runs = self._runs(step)
        if self.packed is None:
            return self.arrays["frame"][step % self.rows, runs, environment]
        found = np.empty((step.size, *self.body.frame), self.body.dtype)
        columns = np.broadcast_to(runs * self.environments + environment, step.shape)
        gather = kernel.gather if kernel.is_used() else None
        self.packed.of(step.reshape(-1), columns.reshape(-1), found, gather)
        return found.reshape(*step.shape, *self.body.frame)

    def _runs(self, like: Array) -> Array:
        """The index of each run, shaped (K, 1, ...) to broadcast against an array (K, ...)."""
        return np.arange(self.runs).reshape(-1, *(1,) * (like.ndim - 1))


def _copy(there: Entries | PackedEntries, here: Entries | PackedEntries) -> None:
    """Copies the entries of another ring; does nothing if it is this one."""
    if isinstance(here, PackedEntries):
        if there is not here:
            here.with_rows(there.in_rows(), there.added)
    elif isinstance(there, PackedEntries) or not np.may_share_memory(there.values, here.values):
        here.with_rows(there.in_rows(), there.added)


def bytes_of_step(body: Body, is_packed: bool = False) -> int:
    """The size in bytes of one step of one environment in a ring.  is_packed: whether frames are held compressed."""
    frame = packed_bytes(body) if is_packed else bytes_of_frame(body)
    return frame + prod(body.action) * _action_type(body).itemsize + np.dtype(REWARD).itemsize + len(FLAGS)


def _action_type(body: Body) -> np.dtype[Any]:
    return np.dtype(np.int64 if body.discrete else np.float32)
