"""The replay memory of a pack, and batches drawn from it as tensors.

Legend: K runs, B steps of a batch, P rows of a padded batch, D numbers of an observation, flattened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.agents.acting.sending import Sender, filled, first
from plasticity_lab.agents.evenly_spread import PROBE
from plasticity_lab.agents.observations import torch_type
from plasticity_lab.environments.body import Body
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.replay.enough import always
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.packing import packs
from plasticity_lab.replay.prioritised import Prioritised
from plasticity_lab.replay.ring import EmptyMemory, Index, Ring
from plasticity_lab.replay.uniform import batch_of, drawn
from plasticity_lab.stacking.run_axis import aligned


class MemorySettings(Protocol):
    """The settings of every agent with a replay memory.

    environments: environments of each run.
    n_step: steps of a return.
    batch: steps that an update learns from.
    capacity: steps that the memory holds.
    min_history: steps that it must hold before anything is learned.
    replay: uniform or prioritised.
    life_loss_is_terminal: see `NStep`.
    empty_each_task: whether a new task begins with an empty memory.
    """

    environments: int
    n_step: int
    batch: int
    capacity: int
    min_history: int
    replay: str
    life_loss_is_terminal: bool
    empty_each_task: bool

    @property
    def timetable(self) -> Timetable:
        """The schedule of updates and target copies."""
        ...


class Memory:
    """The last steps of K runs, at most `capacity` of each, and draws of `agent.batch` steps for an update.

    bodies: all remembered bodies. If they are of several kinds, its rows are as long as the largest observation
        and action, and it holds steps of one kind at a time: clear it, then set `body`.
    seeds: seeds of the draws. A draw is a function of seed, update, and the contents of the run's memory.
    gamma: (K,).
    compressed: whether frames are held compressed (`replay.packing.packs`). threads: the threads that unpack them.
    sharing: the number of processes that share the GPU, if batches are for one (see `agents.acting.frames`).
    """

    def __init__(
        self,
        agent: MemorySettings,
        bodies: Sequence[Body],
        seeds: Sequence[int],
        capacity: int,
        gamma: NDArray[np.float64],
        compressed: str = "never",
        threads: int = 1,
        sharing: int = 1,
    ) -> None:
        self.size, self.seeds, self.gamma = agent.batch, seeds, gamma
        self.padded = aligned(self.size)
        """P, the number of rows of a padded batch."""
        body, held = largest(bodies), capacity // agent.environments * agent.environments
        self.ring = Ring(body, len(seeds), agent.environments, capacity, packs(compressed, body, held), threads)
        self.body = bodies[0]
        """Its steps belong to this body, or to another of the same kind."""
        self.n_step = NStep(agent.n_step, agent.life_loss_is_terminal)
        self.prioritised = Prioritised(self.ring, self.n_step) if agent.replay == "prioritised" else None
        self._sender: Sender | None = None
        self._sharing = sharing
        self._weight_there = self._weight = torch.cat(
            [torch.full((self.size,), 1 / self.size), torch.zeros(self.padded - self.size)]
        )

    @property
    def steps(self) -> int:
        """Number of steps that it holds for each run, all environments together."""
        return self.ring.held * self.ring.environments

    def warm_up(self, min_history: int) -> int:
        """Learning begins when the memory holds more than this number of steps.

        A memory that was lost starts again in the middle of episodes, without their first steps. It must then be full,
        or hold enough steps to contain a whole return in any case.
        """
        if not self.ring.lost:
            return min_history
        rows = min(self.ring.rows, always(self.n_step.n, self.ring.body.stack))
        return max(min_history, rows * self.ring.environments - 1)

    def add(self, **step: NDArray[Any]) -> None:
        """Adds a step of every environment; takes the arguments of `Ring.add`."""
        shapes = {"frame": self.ring.body.frame, "action": self.ring.body.action}
        self.ring.add(**{name: _widened(value, shapes.get(name, ())) for name, value in step.items()})
        if self._sender is not None:
            self._sender.add(step["frame"])
        if self.prioritised is not None:
            self.prioritised.added()

    def clear(self) -> None:
        """Removes all steps."""
        self.ring.clear()
        if self.prioritised is not None:
            self.prioritised.clear()

    def drawn(self, update: int, which: str = "") -> Index:
        """The steps of an update, counted from 0. Raises EmptyMemory if a run has no step to learn from.

        which: a word before the purpose of the draw, for further batches of the same update.
        """
        if self.prioritised is not None:
            return self.prioritised.drawn(self.seeds, self.size, update, which=which)
        return drawn(self.ring, self.n_step, self.seeds, self.size, update, purpose=f"{which}replay")

    def batch(self, index: Index, device: torch.device) -> dict[str, Tensor]:
        """The batch for these steps: "x", "following" (K, P, D) in the body's dtype; "returns", "discount" (K, P);
        "action" (K, P) or (K, P, A); "weight" (P,): 1 / B, 0 for rows of padding; with priorities also "importance" (K,
        P).
        """
        if (sender := self._sender_to(device)) is not None:
            return {**self._sent(sender, index), "weight": self._weight_there}
        found = self._learned_from(index)
        if self.prioritised is not None:
            found["importance"] = self.prioritised.importance(index)
        return _tensors({name: filled(value, self.padded) for name, value in found.items()}, self._weight, device)

    def example(self, device: torch.device) -> dict[str, Tensor]:
        """A batch of zeros, with names, shapes and dtypes as from `batch`."""
        shape, discrete, of_x = (len(self.seeds), self.padded), self.body.discrete, torch_type(self.body.dtype)
        forms = {
            "x": ((*shape, self._numbers), of_x),
            "following": ((*shape, self._numbers), of_x),
            "action": (shape, torch.int64) if discrete else ((*shape, self.body.actions), torch.float32),
            "returns": (shape, torch.float32),
            "discount": (shape, torch.float32),
        }
        if self.prioritised is not None:
            forms["importance"] = (shape, torch.float32)
        found = {name: torch.zeros(of, dtype=dtype, device=device) for name, (of, dtype) in forms.items()}
        return {**found, "weight": self._weight.to(device)}

    def second(self, update: int, device: torch.device) -> Tensor:
        """The observations "x" of a second batch for an update, (K, P, D), drawn like the first under another key."""
        index = self.drawn(update, "second ")
        if (sender := self._sender_to(device)) is not None:
            return sender.sent("second", {"x": index}, {}, self._numbers)["x"]
        return torch.from_numpy(filled(self._flat(self.ring.observations(index)), self.padded)).to(device)

    def learned(self, index: Index, losses: Tensor) -> None:
        """Updates the priorities of these steps by their losses, (K, P)."""
        if self.prioritised is not None:
            self.prioritised.learned(index, losses[:, : self.size].cpu().numpy())

    def probe(self, updates: int, device: torch.device, most: int = PROBE) -> dict[str, Tensor]:
        """A batch of `most` steps for diagnostics, drawn uniformly, in the form of `batch`; every row has weight 1.

        updates: number of earlier updates. {} if a run has no step to learn from, which can happen between updates in a
            small memory.
        """
        try:
            index = drawn(self.ring, self.n_step, self.seeds, most, updates, purpose="probe")
        except EmptyMemory:
            return {}
        return _tensors(self._learned_from(index), torch.ones(most), device)

    def state(self) -> dict[str, Any]:
        """Its fill level and its priorities."""
        return {"memory": self.ring.state(), **self._priorities()}

    def bulk(self) -> Bulk:
        """Its contents: an entry is a step of all environments."""
        return self.ring.bulk()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state. Without its bulk the memory is empty (see `Ring`)."""
        self.ring.load(state["memory"], bulk or {})
        if self.prioritised is not None:
            self.prioritised.load({name: value.numpy() for name, value in state["priorities"].items()})
        if self._sender is not None:
            self._sender.forget()

    def _priorities(self) -> dict[str, Any]:
        if self.prioritised is None:
            return {}
        return {"priorities": {name: torch.from_numpy(value) for name, value in self.prioritised.state().items()}}

    def _sender_to(self, device: torch.device) -> Sender | None:
        """Sends batches to a GPU; None for a CPU."""
        if device.type == "cuda" and self._sender is None:
            self._weight_there = self._weight.to(device)
            self._sender = Sender(self.ring, self.n_step.n, self.padded, device, self._sharing)
        return self._sender

    def _sent(self, sender: Sender, index: Index) -> dict[str, Tensor]:
        """The batch for these steps without its weights, on the GPU."""
        found = self.n_step.of(self.ring, index, self.gamma)
        values = {
            "action": self._actions(self.ring.of("action", index)),
            "returns": found.returns,
            "discount": found.discount,
        }
        if self.prioritised is not None:
            values["importance"] = self.prioritised.importance(index)
        return sender.batch({"x": index, "following": found.following}, values, self._numbers)

    def _learned_from(self, index: Index) -> dict[str, NDArray[Any]]:
        """The contents of these steps, with flattened observations."""
        batch = batch_of(self.ring, self.n_step, index, self.gamma)
        return {
            "x": self._flat(batch.observations),
            "following": self._flat(batch.following),
            "action": self._actions(batch.actions),
            "returns": batch.returns,
            "discount": batch.discount,
        }

    def _actions(self, actions: NDArray[Any]) -> NDArray[Any]:
        return actions if self.body.discrete else first(actions, self.body.actions)

    def _flat(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Observations (K, B, *) as the body's numbers, (K, B, D)."""
        return first(observations.reshape(*observations.shape[:2], -1), self._numbers)

    @property
    def _numbers(self) -> int:
        """D."""
        return prod(self.body.observation)


def largest(bodies: Sequence[Body]) -> Body:
    """A body with the largest observation and action of all of these; the first if they have one shape."""
    shown = max(bodies, key=lambda body: prod(body.observation))
    actions = max(bodies, key=lambda body: body.actions)
    if (shown.observation, actions.actions) == (bodies[0].observation, bodies[0].actions):
        return bodies[0]
    bounds = {"low": actions.low, "high": actions.high}
    name = ", ".join(body.name for body in bodies)
    return replace(bodies[0], name=name, observation=shown.observation, actions=actions.actions, **bounds)


def _widened(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The values (K, N, D) with zeros up to that shape of a step; unchanged if they have it."""
    if values.shape[2:] == shape:
        return values
    return np.pad(values, ((0, 0), (0, 0), (0, shape[0] - values.shape[2])))


def _tensors(found: Mapping[str, NDArray[Any]], weight: Tensor, device: torch.device) -> dict[str, Tensor]:
    tensors = {name: torch.from_numpy(value) for name, value in found.items()} | {"weight": weight}
    return {name: value.to(device) for name, value in tensors.items()}
