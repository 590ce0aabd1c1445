"""What a pack of agents that learn from old steps remembers, and the batches that are drawn from it, as tensors.

Legend: K runs, B steps of a batch, P of them padded, D numbers of an observation, flattened.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.agents.evenly_spread import PROBE
from plasticity_lab.environments.body import Body
from plasticity_lab.records.bulk import Bulk, Entries
from plasticity_lab.replay.enough import always
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.prioritised import Prioritised
from plasticity_lab.replay.ring import EmptyMemory, Index, Ring
from plasticity_lab.replay.uniform import batch_of, drawn
from plasticity_lab.stacking.run_axis import aligned


class MemorySettings(Protocol):
    """The settings of every agent with a replay memory.

    environments: of each run. n_step: steps of a return. batch: steps that an update learns from. capacity: steps that
    the memory holds. min_history: steps that it must hold before anything is learned. replay: uniform or prioritised.
    life_loss_is_terminal: see `NStep`. empty_each_task: whether a new task begins with an empty memory.
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
        """When updates and copies of the target are due."""
        ...


class Memory:
    """The last steps of K runs, at most `capacity` of each, and draws of `agent.batch` of them for an update.

    body: any of those that are remembered, which are all of one kind. seeds: of the draws; which is a function of seed,
    update, and what the run's own memory holds. gamma: (K,).
    """

    def __init__(
        self, agent: MemorySettings, body: Body, seeds: Sequence[int], capacity: int, gamma: NDArray[np.float64]
    ) -> None:
        self.size, self.seeds, self.gamma = agent.batch, seeds, gamma
        self.padded = aligned(self.size)
        """P."""
        self.ring = Ring(body, len(seeds), agent.environments, capacity)
        self.n_step = NStep(agent.n_step, agent.life_loss_is_terminal)
        self.prioritised = Prioritised(self.ring, self.n_step) if agent.replay == "prioritised" else None
        self._weight = torch.cat([torch.full((self.size,), 1 / self.size), torch.zeros(self.padded - self.size)])

    @property
    def steps(self) -> int:
        """How many it holds of each run, all its environments together."""
        return self.ring.held * self.ring.environments

    def warm_up(self, min_history: int) -> int:
        """More steps than these it must hold before anything is learned.

        A memory that was lost begins again within episodes, and lacks their first steps: then it must be full,
        or hold as many that a whole return is among them, whatever the course is.
        """
        if not self.ring.lost:
            return min_history
        rows = min(self.ring.rows, always(self.n_step.n, self.ring.body.stack))
        return max(min_history, rows * self.ring.environments - 1)

    def add(self, **step: NDArray[Any]) -> None:
        """A step of every environment, as `Ring.add` takes it."""
        self.ring.add(**step)
        if self.prioritised is not None:
            self.prioritised.added()

    def clear(self) -> None:
        """Forgets all steps."""
        self.ring.clear()
        if self.prioritised is not None:
            self.prioritised.clear()

    def drawn(self, update: int) -> Index:
        """The steps of an update, counted from 0.  Raises EmptyMemory where a run has nothing to learn from."""
        if self.prioritised is not None:
            return self.prioritised.drawn(self.seeds, self.size, update)
        return drawn(self.ring, self.n_step, self.seeds, self.size, update)

    def batch(self, index: Index, device: torch.device) -> dict[str, Tensor]:
        """What is learned from these steps: "x", "following" (K, P, D) in the body's own type; "returns",
        "discount" (K, P); "action" (K, P) or (K, P, A); "weight" (P,): 1 / B, 0 of rows that only fill up; "importance"
        (K, P) if it has priorities.
        """
        found = self._learned_from(index)
        if self.prioritised is not None:
            found["importance"] = self.prioritised.importance(index)
        missing = self.padded - self.size
        if missing:
            fill = ((0, 0), (0, missing))
            found = {name: np.pad(value, (*fill, (0, 0))[: value.ndim]) for name, value in found.items()}
        return _tensors(found, self._weight, device)

    def learned(self, index: Index, losses: Tensor) -> None:
        """Takes notice of what was lost on these steps, (K, P)."""
        if self.prioritised is not None:
            self.prioritised.learned(index, losses[:, : self.size].cpu().numpy())

    def probe(self, updates: int, device: torch.device) -> dict[str, Tensor]:
        """`PROBE` steps to look at, any as likely as any other, as `batch` gives those of an update; all count alike,
        with a weight of 1.

        updates: before it. {} if a run has no step to learn from, as may be between updates in a memory of few steps.
        """
        try:
            index = drawn(self.ring, self.n_step, self.seeds, PROBE, updates, purpose="probe")
        except EmptyMemory:
            return {}
        return _tensors(self._learned_from(index), torch.ones(PROBE), device)

    def state(self) -> dict[str, Any]:
        """How far it is filled, and its priorities."""
        return {"memory": self.ring.state(), **self._priorities()}

    def bulk(self) -> Bulk:
        """What it holds: an entry is a step of all environments."""
        return {name: Entries(array, self.ring.end) for name, array in self.ring.arrays.items()}

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Goes back to a state; without its bulk it is empty (see `Ring`)."""
        rows = min(int(state["memory"]["end"]), self.ring.rows)
        there = {} if bulk is None else {name: entries.values[:rows] for name, entries in bulk.items()}
        self.ring.load(state["memory"], there)
        if self.prioritised is not None:
            self.prioritised.load({name: value.numpy() for name, value in state["priorities"].items()})

    def _priorities(self) -> dict[str, Any]:
        if self.prioritised is None:
            return {}
        return {"priorities": {name: torch.from_numpy(value) for name, value in self.prioritised.state().items()}}

    def _learned_from(self, index: Index) -> dict[str, NDArray[Any]]:
        """What stands at these steps, observations flattened."""
        batch = batch_of(self.ring, self.n_step, index, self.gamma)
        return {
            "x": batch.observations.reshape(*batch.observations.shape[:2], -1),
            "following": batch.following.reshape(*batch.following.shape[:2], -1),
            "action": batch.actions,
            "returns": batch.returns,
            "discount": batch.discount,
        }


def _tensors(found: Mapping[str, NDArray[Any]], weight: Tensor, device: torch.device) -> dict[str, Tensor]:
    tensors = {name: torch.from_numpy(value) for name, value in found.items()} | {"weight": weight}
    return {name: value.to(device) for name, value in tensors.items()}
