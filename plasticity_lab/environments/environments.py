"""Environments of one kind for all runs of a pack, stepped together on the host.

Legend: K runs, N environments of each, M = K·N environments run after run, D an observation's shape, C the first axis
of a frame, E episodes that ended in a step. Environment n of run k is number k·N + n of the M.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plasticity_lab.environments.body import Body, Saved
from plasticity_lab.environments.processes.in_processes import InProcesses
from plasticity_lab.errors import ConfigError, PlasticityError
from plasticity_lab.randomness.host import host_stream

OF_SIMULATION = "simulation."
"""Prefix in `Environments.state` of the names that the simulation saves."""


@dataclass(frozen=True)
class Ended:
    """The episodes that ended in one step, by run and then by environment.

    run (E,): the run of each, 0 … K − 1. returns (E,): the sum of its rewards. lengths (E,): its number of steps.
    """

    run: NDArray[np.int64]
    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]


NONE_ENDED = Ended(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Outcome:
    """The results of one step.

    rewards (K, N). terminated (K, N): whether the environment's rules ended the episode, so that nothing follows.
    truncated (K, N): whether only the limit on steps ended it, so that the value of `last` still counts; never true
    together with terminated. broken (K, N): whether the environment failed: its simulation did, or the reward or an
    observation is not finite. A broken one counts as terminated, its reward and the episode's return are NaN, and
    `last` may hold anything. life_lost (K, N): whether a life was lost, whether or not the episode ended with it; False
    without lives. last (K, N, D): the observation after the step. If an episode ended, `Environments.observations` has
    the next episode's first observation instead; otherwise the two are equal. ended: the episodes that ended.
    """

    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    broken: NDArray[np.bool_]
    life_lost: NDArray[np.bool_]
    last: NDArray[Any]
    ended: Ended


class Environments:
    """`count` environments of one kind for each of K runs.  Each behaves as if alone, bit for bit, for any K.

    If an episode ends, the next one begins in the same step. Its start is a function of the run's stream seed (K of
    them), the purpose, the task, the environment's name and number, and the episode: no generator is kept.
    purpose: evaluations use a different one, so their starts differ from training. friction: factor on the friction of
    each environment, (K, N) or a shape that broadcasts to it; None: unchanged. processes: number of processes that step
    them, including this one; the bits are the same. If an observation is a stack of frames, frames before the first one
    of an episode are 0, as in Dopamine (Castro et al. 2018). Raises PlasticityError if an observation's shape differs
    from the table, ConfigError for impossible friction, and in any method HelperLost if a process has ended.
    """

    def __init__(
        self,
        body: Body,
        seeds: Sequence[int],
        count: int,
        task: int,
        purpose: str = "reset",
        friction: ArrayLike | None = None,
        processes: int = 1,
    ) -> None:
        self.body, self.task, self.purpose = body, task, purpose
        self._seeds, self._count = seeds, count
        there = len(seeds) * count
        self._simulation: Any = body.simulation(there)
        if processes > 1:
            self._simulation = InProcesses(body, there, processes)
        if friction is not None:
            if not body.has_friction:
                raise ConfigError(f"The body {body.name} has no friction that could be changed.")
            self._simulation.scale_friction(np.broadcast_to(friction, (len(seeds), count)).astype(float).reshape(there))
        self._episode = np.zeros(there, np.int64)  # how many have ended before it
        self._length = np.zeros(there, np.int64)  # number of steps of the running episode so far
        self._return = np.zeros(there)
        frames = self._started(np.arange(there))
        if frames.shape[1:] != body.frame or frames.dtype != body.dtype:
            raise PlasticityError(
                f"The body {body.name} {body.version} shows observations of shape {frames.shape[1:]} in "
                f"{frames.dtype}; its table says {body.frame} in {body.dtype}."
            )
        self._observations = self._begun(frames)
        self._pixels = frames.dtype == np.uint8  # always finite
        self._none = self._by_run(np.zeros(there, np.bool_))
        self._none.flags.writeable = False  # each step of a body without lives gives it

    @property
    def observations(self) -> NDArray[Any]:
        """The present observation of every environment, (K, N, D). Read only; no later step changes it."""
        return self._by_run(self._observations)

    @property
    def first(self) -> NDArray[np.bool_]:
        """Whether that is the first observation of an episode, (K, N)."""
        return self._by_run(self._length == 0)

    def pictures(self) -> NDArray[Any]:
        """The present state of every environment as a picture, (K, N, C, H, W): drawn, or the newest frame.

        For environments in one process.  Raises ConfigError if this machine cannot draw it.
        """
        body = self.body
        return self._by_run(self._simulation.pictures()) if body.is_drawn else body.newest(self.observations)

    def step(self, actions: NDArray[Any]) -> Outcome:
        """One step of every environment.

        actions: (K, N) whole numbers if discrete, (K, N, A) numbers if continuous; they are not clipped here. Raises
        ValueError for others.
        """
        frames, rewards, terminated = self._simulation.step(self._checked(actions))
        broken = np.zeros(len(rewards), np.bool_)
        if not (np.isfinite(rewards).all() and (self._pixels or np.isfinite(frames).all())):
            broken = ~(np.isfinite(rewards) & np.isfinite(frames.reshape(len(rewards), -1)).all(axis=1))
            rewards, terminated = np.where(broken, np.nan, rewards), terminated | broken
        reached = frames
        if self.body.stack > 1:
            reached = np.concatenate([self._observations[:, frames.shape[1] :], frames], axis=1)
        self._length += 1
        self._return += rewards
        truncated = (self._length >= self.body.max_steps) & ~terminated
        over = np.flatnonzero(terminated | truncated)
        ended = NONE_ENDED
        self._observations = reached
        if len(over):
            ended = Ended(over // self._count, self._return[over], self._length[over])
            self._episode[over] += 1
            self._length[over] = 0
            self._return[over] = 0.0
            self._observations = reached.copy()
            self._observations[over] = self._begun(self._started(over))
        by_run = self._by_run
        life_lost = by_run(self._simulation.life_lost()) if self.body.has_lives else self._none
        return Outcome(
            by_run(rewards), by_run(terminated), by_run(truncated), by_run(broken), life_lost, by_run(reached), ended
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """The complete state that `load` needs to continue bit for bit, name → (K, N, ...): copies.

        It has "episode", "length" and "return" of the running episodes so far; "observations", which not every
        simulation can compute from its state; and the simulation's entries. An entry of bytes is saved as two arrays:
        all bytes one after another, and their lengths (K, N).
        """
        return self._saved(self._simulation.state())

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restores a state of environments with the same settings, without changing it.  Raises ValueError for
        others.
        """
        own = self._simulation.state()
        opaque = [name for name, value in own.items() if isinstance(value, list)]
        any_length = {f"{OF_SIMULATION}{name}{BYTES}" for name in opaque}
        flat = {}
        for name, now in self._saved(own).items():
            if name not in state or (state[name].shape != now.shape and name not in any_length):
                there = f"has shape {state[name].shape}" if name in state else "is missing"
                raise ValueError(f"{name} {there} in a state of {self.body.name}; it must have shape {now.shape}.")
            flat[name] = np.array(state[name], now.dtype)
            if name not in any_length:
                flat[name] = flat[name].reshape(-1, *now.shape[2:])
        simulation: dict[str, Any] = {}
        for name in own:
            key = f"{OF_SIMULATION}{name}"
            simulation[name] = (
                from_arrays(key, flat[f"{key}{BYTES}"], flat[f"{key}{LENGTHS}"]) if name in opaque else flat[key]
            )
        self._episode, self._length, self._return = flat["episode"], flat["length"], flat["return"]
        self._observations = flat["observations"]
        self._simulation.load(simulation)

    def _saved(self, simulation: Mapping[str, Saved]) -> dict[str, NDArray[Any]]:
        """The result of `state`, from the simulation's saved entries."""
        own = {
            "episode": self._episode.copy(),
            "length": self._length.copy(),
            "return": self._return.copy(),
            "observations": self._observations.copy(),
        }
        saved = {name: self._by_run(value) for name, value in own.items()}
        for name, value in simulation.items():
            key = f"{OF_SIMULATION}{name}"
            saved |= in_arrays(key, value, len(self._seeds)) if isinstance(value, list) else {key: self._by_run(value)}
        return saved

    def _begun(self, frames: NDArray[Any]) -> NDArray[Any]:
        """First frames of episodes (E, C, ...) → observations (E, D)."""
        missing = self.body.observation[0] - frames.shape[1]
        if not missing:
            return frames
        before = np.zeros((len(frames), missing, *frames.shape[2:]), frames.dtype)
        return np.concatenate([before, frames], axis=1)

    def _started(self, over: NDArray[np.int64]) -> NDArray[Any]:
        """Begins the current episode of these environments (E,); their first frames, (E, C, ...)."""
        streams = []
        for at in over.tolist():
            run, environment = divmod(at, self._count)
            position = (self.task, self.body.name, environment, int(self._episode[at]))
            streams.append(host_stream(self._seeds[run], self.purpose, *position))
        return self._simulation.start(over, streams)

    def _checked(self, actions: NDArray[Any]) -> NDArray[Any]:
        """The actions as the simulation takes them, (M,) or (M, A).  Raises ValueError if they are not the body's."""
        body, wanted = self.body, (len(self._seeds), self._count, *self.body.action)
        if actions.shape != wanted:
            raise ValueError(f"Actions have shape {actions.shape}; for {body.name} they must have shape {wanted}.")
        if body.discrete and (actions.dtype.kind not in "iu" or actions.min() < 0 or actions.max() >= body.actions):
            raise ValueError(f"Actions of {body.name} must be whole numbers from 0 to {body.actions - 1}.")
        return actions.reshape(-1, *body.action)

    def _by_run(self, value: NDArray[Any]) -> NDArray[Any]:
        """(M, ...) → (K, N, ...)."""
        return value.reshape(len(self._seeds), self._count, *value.shape[1:])


# Saved states of changing length (bytes for each environment), as arrays of fixed type for checkpoints.
#
# Legend: K runs, N environments of each.

BYTES, LENGTHS = ".bytes", ".lengths"
"""Suffixes of the names of the two arrays."""


def in_arrays(name: str, states: Sequence[bytes], runs: int) -> dict[str, NDArray[np.generic]]:
    """States (M,) → "<name>.bytes", one after another, uint8; and "<name>.lengths", (K, N), in bytes."""
    lengths = np.array([len(state) for state in states], np.int64).reshape(runs, -1)
    return {f"{name}{BYTES}": np.frombuffer(b"".join(states), np.uint8).copy(), f"{name}{LENGTHS}": lengths}


def from_arrays(name: str, bytes_: NDArray[np.generic], lengths: NDArray[np.generic]) -> list[bytes]:
    """The states (M,), from the arrays of `in_arrays`.  Raises ValueError if the lengths do not fit the bytes."""
    sizes = [int(length) for length in lengths.flat]
    if min(sizes, default=0) < 0 or sum(sizes) != bytes_.size:
        raise ValueError(f"{name}{LENGTHS} adds up to {sum(sizes)}, and {name}{BYTES} holds {bytes_.size} bytes.")
    whole, ends = bytes_.astype(np.uint8).tobytes(), np.cumsum(sizes).tolist()
    return [whole[end - size : end] for end, size in zip(ends, sizes, strict=True)]
