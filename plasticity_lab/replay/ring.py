"""The last steps of a pack of runs, kept on the host in a ring in which every frame is stored once.

Legend: K runs, N environments of each, L rows of the ring, C the first axis of a frame, F frames of an observation,
B steps that are asked for at once.

A row is a step of all environments of the pack: the newest frame of what each showed, what was done there, and what
that led to. Rows are named by the step that they hold, counted from the first that was added: step t lies at place t
modulo L.
"""

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body

Array = NDArray[Any]
REWARD = np.float32
FLAGS = ("terminated", "truncated", "life_lost", "first")


class EmptyMemory(ValueError):
    """Nothing can be drawn: too few steps have been added since the ring was new, or has lost what it held."""


class Index(NamedTuple):
    """Which steps are meant.  step, environment: (K, B) each, a step's number and 0 … N − 1."""

    step: NDArray[np.int64]
    environment: NDArray[np.int64]


class Ring:
    """K runs in `environments` environments of a body each; `capacity` steps of a run, all its environments together.

    A capacity that the environments do not divide is rounded down. A new ring is empty, and so is one whose frames were
    not there when it went on (`load`): nothing can be drawn from it then, and `lost` counts that. Memory is taken as
    rows are first written. Raises ValueError for a capacity below one step of each environment.
    """

    def __init__(self, body: Body, runs: int, environments: int, capacity: int) -> None:
        self.body, self.runs, self.environments = body, runs, environments
        self.rows = capacity // environments
        if self.rows < 1:
            raise ValueError(f"A ring of {capacity} steps has no row for {environments} environments.")
        there = (self.rows, runs, environments)
        self.arrays: dict[str, Array] = {
            "frame": np.zeros((*there, *body.frame), body.dtype),
            "action": np.zeros((*there, *body.action), _action_type(body)),
            "reward": np.zeros(there, REWARD),
            **{flag: np.zeros(there, np.bool_) for flag in FLAGS},
        }
        """What it holds, name → (L, K, N, ...): place by place, so that steps which follow one another lie together."""
        self.end = 0
        """Steps that were added since it was new, or lost what it held: the number of the next one."""
        self.held = 0
        """Of these, how many of the last it holds: at most L."""
        self.lost = 0
        """How often it went on without what it had held."""

    @property
    def oldest(self) -> int:
        """The first step that it holds."""
        return self.end - self.held

    @property
    def empty(self) -> bool:
        """Whether it holds nothing."""
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
        """A step of every environment, in the place of the oldest where there is no room.

        frame: the newest frame of what each showed before it, (K, N, C, ...), see `Body.newest`. action: (K, N) or
        (K, N, A). reward and the flags, (K, N): what the step led to, as `Outcome` has it. first: whether what was
        shown was the first observation of an episode (`Environments.first`), wherever the one before it ended: an
        episode that was broken off has no flag that says so.
        """
        row = self.end % self.rows
        values = (frame, action, reward, terminated, truncated, life_lost, first)
        for array, value in zip(self.arrays.values(), values, strict=True):
            array[row] = value
        self.end += 1
        self.held = min(self.held + 1, self.rows)

    def clear(self) -> None:
        """Forgets what it holds; steps are counted on."""
        self.held = 0

    def of(self, name: str, index: Index) -> Array:
        """What it holds under a name at these steps, (K, B, ...); of steps that are not there, anything."""
        return self.arrays[name][index.step % self.rows, self._runs(index.step), index.environment]

    def observations(self, index: Index) -> Array:
        """What was shown at these steps, (K, B, F·C, ...): stacks made anew, 0 before an episode's first frame."""
        stack = self.body.stack
        if stack == 1:
            return self.of("frame", index)
        back = np.arange(stack - 1, -1, -1)
        step, environment = index.step[..., None] - back, index.environment[..., None]
        run = self._runs(step)
        frames = self.arrays["frame"][step % self.rows, run, environment]
        first = self.arrays["first"][step % self.rows, run, environment]
        # A frame belongs where no episode begins behind it, up to the step itself.
        begins_behind = np.logical_or.accumulate(first[..., :0:-1], axis=-1)[..., ::-1]
        frames[:, :, :-1][begins_behind] = 0
        return frames.reshape(*index.step.shape, stack * self.body.frame[0], *self.body.frame[1:])

    def whole(self, index: Index) -> NDArray[np.bool_]:
        """Whether it holds these steps and all frames of what was shown then, (K, B)."""
        here = (index.step >= self.oldest) & (index.step < self.end)
        goes_back = ~self.of("first", index)
        for back in range(1, self.body.stack):
            before = Index(index.step - back, index.environment)
            here &= ~goes_back | (before.step >= self.oldest)
            goes_back &= ~self.of("first", before)
        return here

    def since(self, step: int) -> list[slice]:
        """The places of the steps from that one on, in their order: none, one or two slices of each of the `arrays`.

        Of steps that are overwritten already, or lost, nothing is said: compare `step` with `oldest`.
        """
        first = max(step, self.oldest)
        if first >= self.end:
            return []
        begin, end = first % self.rows, (self.end - 1) % self.rows + 1
        return [slice(begin, end)] if begin < end else [slice(begin, self.rows), slice(0, end)]

    def state(self) -> dict[str, int]:
        """The counters; what they count is in `arrays`."""
        return {"end": self.end, "held": self.held, "lost": self.lost}

    def bulk(self) -> dict[str, Array]:
        """What it holds, name → the first rows (L or fewer, K, N, ...): the ring's own arrays, not copied; {} where it
        holds nothing.
        """
        if self.empty:
            return {}
        written = min(self.end, self.rows)
        return {name: array[:written] for name, array in self.arrays.items()}

    def load(self, state: Mapping[str, int], bulk: Mapping[str, Array]) -> None:
        """Goes back to what `state` and `bulk` gave, and keeps neither.

        bulk: its own arrays, filled already, or another's, which are copied; {} where it is gone. Then the ring is
        empty as a new one, so that nothing of its rows is taken for steps, and `lost` is one more, unless it was empty
        before. Raises ValueError where the bulk is another kind of ring's.
        """
        end, held, lost = (int(state[name]) for name in ("end", "held", "lost"))
        if held and bulk:
            written = min(end, self.rows)
            for name, array in self.arrays.items():
                if name not in bulk or bulk[name].shape != (written, *array.shape[1:]):
                    there = f"has shape {bulk[name].shape}" if name in bulk else "is missing"
                    raise ValueError(f"{name} {there} in a ring of {self.body.name}; it must have {written} rows of "
                                     f"shape {array.shape[1:]}.")  # fmt: skip
            for name, array in self.arrays.items():
                if not np.may_share_memory(array, bulk[name]):
                    array[:written] = bulk[name]
        elif held:
            end, held, lost = 0, 0, lost + 1
        self.end, self.held, self.lost = end, held, lost

    def _runs(self, like: Array) -> Array:
        """The number of the run at each place of something (K, ...)."""
        return np.arange(self.runs).reshape(-1, *(1,) * (like.ndim - 1))


def bytes_of_step(body: Body) -> int:
    """What a step of one environment takes in a ring."""
    numbers = prod(body.frame) * np.dtype(body.dtype).itemsize + prod(body.action) * _action_type(body).itemsize
    return numbers + np.dtype(REWARD).itemsize + len(FLAGS)


def _action_type(body: Body) -> np.dtype[Any]:
    return np.dtype(np.int64 if body.discrete else np.float32)
