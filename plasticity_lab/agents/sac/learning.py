"""Networks, targets and temperature of a pack of SAC, with the measurements of a chunk's updates.

Legend: K runs, B examples.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.measured import Measured
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.snapshot import Snapshot
from plasticity_lab.agents.compiled import Call
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac.policy import BOUNDS, bounds_of
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.agents.sac.temperature import NAME, Temperature
from plasticity_lab.agents.target_network import TargetNetwork
from plasticity_lab.agents.update import TrainState
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.body import Body
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.optimizer import Optimizer


class Learning:
    """The networks of K runs by name, and their updates. Final classes implement the update.

    bodies: the environments with own inputs, outputs and a temperature, by name (see `with_own_parts`).
    body: the active one.
    networks, targets: by name.
    temperatures: log α by environment. temperature: the active one.
    settings: part → …, in the form that the steps take.
    keys: keys of random numbers.
    entropy (K,): the target entropy of the active temperature.
    taken: by network, the number of updates in this chunk.
    """

    acting: ClassVar[str]
    """The network that acts."""
    critic: ClassVar[str]
    """The network that diagnostics measure. Its updates count as the pack's updates."""
    followed: ClassVar[Sequence[str]]
    """The networks that have a target."""
    purposes: ClassVar[Sequence[str]]
    """The purposes of the normal numbers that are drawn."""

    of_critics: Measured
    of_actor: Measured

    def __init__(
        self,
        agent: SACSettings,
        parts: Parts[BodyBenchmark],
        models: Mapping[str, Model],
        optimizers: Mapping[str, Sequence[Optimizer]],
        temperatures: Mapping[str, Temperature],
        bodies: Mapping[str, Body],
        device: torch.device,
    ) -> None:
        self.agent, self.device, self.bodies = agent, device, bodies
        self.runs = len(parts.init_seeds)
        self.networks = {
            name: PackedNetwork(parts, model, device, optimizers.get(name)) for name, model in models.items()
        }
        self.targets: dict[str, TargetNetwork] = {name: self.networks[name].target() for name in self.followed}
        self.temperatures = temperatures
        self.settings: dict[str, Any] = {name: network.settings for name, network in self.networks.items()}
        self.keys: dict[str, Any] = {name: network.step_keys for name, network in self.networks.items()}
        self.keys |= {purpose: self.networks[self.acting].keys_of(purpose) for purpose in self.purposes}
        self.taken = dict.fromkeys(self.networks, 0)
        self.turn_to(next(iter(bodies)))

    def turn_to(self, name: str) -> None:
        """Makes an environment the active one: its parts, with those that all share, act and learn."""
        self.body, agent = self.bodies[name], self.agent
        for network in self.networks.values():
            network.body = name
        self.temperature = self.temperatures[name]
        self.settings[NAME] = self.temperature.settings
        self.settings[BOUNDS] = bounds_of(self.body, self.device)
        asked = -float(self.body.actions) if agent.target_entropy is None else agent.target_entropy
        self.entropy = torch.full((self.runs,), asked, device=self.device)

    @property
    def active_targets(self) -> dict[str, dict[str, Tensor]]:
        """The parameters of each target that serve the active environment."""
        body = self.body.name
        return {
            name: self.networks[name].model.active(target.parameters, body) for name, target in self.targets.items()
        }

    @property
    def updates(self) -> int:
        """Updates of the critics since the beginning."""
        return self.networks[self.critic].updates

    def begin_task(self, position: int) -> None:
        """Work of interventions and optimizers before a task. If networks are reset, their targets are reset too."""
        for network in self.networks.values():
            network.begin_task(position)
        if self.networks[self.acting].intervention.restarts_agent:
            for name, target in self.active_targets.items():
                for part, value in target.items():
                    value.copy_(self.networks[name].parameters[part])

    def begin_chunk(self) -> None:
        """Stores the numbers that an unstable run returns to, and prepares the inputs of the chunk's updates."""
        self._before = {name: Snapshot(train) for name, train in self._train_states().items()}
        self._targets = {
            name: {part: value.clone() for part, value in target.items()}
            for name, target in self.active_targets.items()
        }
        self.rows, self.taken = self._rows(), dict.fromkeys(self.networks, 0)

    def update(self, memory: Memory) -> None:
        """One update, from a batch of the memory."""
        raise NotImplementedError

    def calls(self, memory: Memory) -> Sequence[Call]:
        """The functions of an update, with the arguments of a call."""
        raise NotImplementedError

    def view(self, memory: Memory | None) -> View:
        """The view for diagnostics. memory: the probe is drawn from it; None during the warm-up, which has no probe."""
        raise NotImplementedError

    def finite(self) -> NDArray[np.bool_]:
        """(K,): whether all measurements and changed numbers of this chunk are finite."""
        finite = self.of_critics.finite(self.taken[self.critic]) & self.of_actor.finite(self.taken[self.acting])
        for name, train in self._train_states().items():
            finite &= self._before[name].finite(train)
        return finite

    def restore(self, runs: NDArray[np.bool_]) -> None:
        """Resets these runs (K,) in place to their numbers from the beginning of the chunk."""
        for name, train in self._train_states().items():
            self._before[name].restore(train, runs)
        for name, values in self._targets.items():
            for part, value in values.items():
                for run in np.flatnonzero(runs):
                    self.targets[name].parameters[part][run].copy_(value[run])

    def means(self) -> dict[str, NDArray[np.float64]]:
        """Measurements of the chunk's updates, name → (U, K), a row for each update of the critics.

        The actor has the same number of updates in the long run, but not at the same steps. Its n-th update is in the
        n-th row, and its last update fills the remaining rows. NaN if the chunk has no update of the actor.
        """
        critics, actor = self.taken[self.critic], self.taken[self.acting]
        rows = self.of_critics.means(critics)
        if not actor:
            return rows | {name: np.full((critics, self.runs), np.nan) for name in self.of_actor.names}
        at = np.minimum(np.arange(critics), actor - 1)
        return rows | {name: values[at] for name, values in self.of_actor.means(actor).items()}

    def state(self) -> dict[str, Any]:
        """The state of networks, targets and temperature. The tensors are not copied."""
        return {
            "networks": {name: network.state() for name, network in self.networks.items()},
            "targets": {name: target.state() for name, target in self.targets.items()},
            "temperatures": {body: temperature.state() for body, temperature in self.temperatures.items()},
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores a state without modifying it."""
        for name, network in self.networks.items():
            network.load(state["networks"][name])
        for name, target in self.targets.items():
            target.load(state["targets"][name])
        for body, temperature in self.temperatures.items():
            # Checkpoints of earlier versions have a single one.
            temperature.load(state["temperatures"][body] if "temperatures" in state else state["temperature"])

    def weights(self) -> dict[str, Tensor]:
        """The parameters of all networks on the host, name → (K, ...), and log α."""
        found = {name: value for network in self.networks.values() for name, value in network.weights().items()}
        for body, temperature in self.temperatures.items():
            name = NAME if len(self.temperatures) == 1 else f"{body}.{NAME}"
            found[name] = temperature.parameters[NAME].detach().cpu()
        return found

    def _train_states(self) -> dict[str, TrainState]:
        """The tensors that updates change, by network; the temperature counts as a network."""
        own = {name: network.train_state for name, network in self.networks.items()}
        return own | {NAME: TrainState(self.temperature.parameters, self.temperature.moments, {})}

    def _rows(self) -> dict[str, dict[str, Tensor]]:
        """Inputs of the next updates, by network and for the temperature: name → (U, ...)."""
        found = {}
        for name, network in self.networks.items():
            count = len((self.of_actor if name == self.acting else self.of_critics).at)
            numbers = torch.arange(count, device=self.device) + network.updates
            found[name] = {**network.corrections(count), "updates": numbers}
        return found | {NAME: self.temperature.corrections(len(self.of_actor.at))}
