"""The optimizer's step counts in a pack (Adam's t): for shared parameters, each environment, and after a change.

Legend: K runs, S updates.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.network_change import NetworkChange
from plasticity_lab.agents.optimizer_step import OF_BODY, OF_CHANGE
from plasticity_lab.stacking.optimizer import Optimizer

Tensors = Mapping[str, Tensor]
SHARED = ""
"""In place of an environment: the parameters that all environments share."""


class StepCounts:
    """Updates since the moments were last reset.

    Parameters that only one environment uses have that environment's count. Parameters that start again at a change of
    the network have in each run a count that begins there.
    """

    def __init__(self, change: NetworkChange) -> None:
        self.change = change
        self.shared, self.of_body = 0, dict[str, int]()
        # Environment → its count when each run changed, (K,); 0 before the change.
        self._begun: dict[str, NDArray[np.int64]] = {}

    def took(self, updates: int, body: str | None) -> None:
        """Counts updates of the active environment."""
        self.shared += updates
        if body is not None:
            self.of_body[body] = self.of_body.get(body, 0) + updates

    def changed(self, runs: NDArray[np.bool_]) -> None:
        """These runs (K,) have changed: their counts begin."""
        for owner, count in {SHARED: self.shared, **self.of_body}.items():
            self._begun[owner] = np.where(runs, count, self._begun_of(owner))

    def reset(self) -> None:
        """All moments were reset."""
        self.shared, self.of_body, self._begun = 0, {}, {}

    def reset_active(self, body: str | None) -> None:
        """The moments of shared parameters and of the active environment were reset."""
        self.shared = 0
        self._begun.pop(SHARED, None)
        if body is not None:
            self.of_body[body] = 0
            self._begun.pop(body, None)

    def corrections(
        self, optimizer: Optimizer, settings: Tensors, body: str | None, updates: int, steps: int
    ) -> dict[str, Tensor]:
        """The optimizer's corrections for the next steps, name → (S, ...); see `UpdateInputs.corrections`.

        body: the active environment, if it has separate parameters. updates: all updates so far.
        """
        found = {}
        for owner, prefix in ((SHARED, ""), *(() if body is None else ((body, OF_BODY),))):
            count = self.shared if owner == SHARED else self.of_body.get(owner, 0)
            rows = optimizer.corrections(settings, count + 1, steps)
            found |= {f"{prefix}{name}": row for name, row in rows.items()}
            if len(self.change.at):
                rows = self._after_change(optimizer, settings, rows, owner, updates, steps)
                found |= {f"{OF_CHANGE}{prefix}{name}": row for name, row in rows.items()}
        return found

    def state(self) -> dict[str, Any]:
        """The counts, for a checkpoint."""
        begun = {owner: torch.from_numpy(counts.copy()) for owner, counts in self._begun.items()}
        return {
            "updates": self.shared,
            "body_updates": dict(self.of_body),
            **({"begun": begun} if len(self.change.at) else {}),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores the counts. Old checkpoints have the first one only: others are newer than they are."""
        self.shared, self.of_body = state["updates"], dict(state.get("body_updates", {}))
        self._begun = {owner: counts.numpy().copy() for owner, counts in state.get("begun", {}).items()}

    def _after_change(
        self, optimizer: Optimizer, settings: Tensors, rows: Tensors, owner: str, updates: int, steps: int
    ) -> dict[str, Tensor]:
        """The corrections of parameters that start again, name → (S, K).

        rows: the corrections of other parameters of that owner.
        """
        at, count = self.change.at, self.shared if owner == SHARED else self.of_body.get(owner, 0)
        each = {name: row if row.dim() > 1 else row.unsqueeze(1).expand(-1, len(at)) for name, row in rows.items()}
        each = {name: row.clone() for name, row in each.items()}
        for run in np.flatnonzero(self.change.due(0, updates + steps - 1)):
            before = max(0, int(at[run]) - updates)
            first = 1 if before else count - int(self._begun_of(owner)[run]) + 1
            own = {name: value[run : run + 1] for name, value in settings.items()}
            for name, row in optimizer.corrections(own, first, steps - before).items():
                each[name][before:, run] = row if row.dim() == 1 else row[:, 0]
        return each

    def _begun_of(self, owner: str) -> NDArray[np.int64]:
        return self._begun.get(owner, np.zeros_like(self.change.at))
