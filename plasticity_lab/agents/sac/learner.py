"""What SAC does with a pack: act, remember, and learn from what is remembered, step by step.

Legend: K runs, N environments of each, U updates of a chunk, A numbers of an action.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.episodes import episodes_of
from plasticity_lab.agents.acting.evaluation import episode_returns, mean_return
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.acting.snapshot import Snapshot
from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac import step as steps
from plasticity_lab.agents.sac.acting import Actor
from plasticity_lab.agents.sac.measured import Measured
from plasticity_lab.agents.sac.policy import bounds_of, on_host, read
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.agents.sac.step import ACTOR, CRITICS, NETWORKS, PURPOSES
from plasticity_lab.agents.sac.temperature import NAME, Temperature
from plasticity_lab.agents.update import TrainState
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import Segment, SegmentedTask, SegmentedTasks
from plasticity_lab.diagnostics.view import View
from plasticity_lab.environments.environments import Ended, Environments
from plasticity_lab.networks.model import Model
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.rows import Evaluation, Rows
from plasticity_lab.stacking.optimizer import Optimizer

Array = NDArray[Any]


class SACLearner:
    """K runs of SAC, each in environments of its own, with a memory of its own.

    A run of which an observation, an action, a reward or a loss is not finite is unstable: it goes back to the numbers
    that it began the chunk with, keeps stepping with them, and learns no more. Its mates do not notice.

    A memory that is lost begins empty: nothing is learned until it holds `min_history` steps again.

    models: by the names of NETWORKS. actor_optimizers: the runs' own for the actor.
    """

    facts: Mapping[str, float] = {}

    def __init__(
        self,
        agent: SACSettings,
        parts: Parts[BodyBenchmark],
        models: Mapping[str, Model],
        actor_optimizers: Sequence[Optimizer],
        resource: Bodies,
        tasks: SegmentedTasks,
        device: torch.device,
        compiled: bool,
    ) -> None:
        self.agent, self.parts, self.device = agent, parts, device
        self.bodies = resource.by_name
        self.body = body = next(iter(self.bodies.values()))
        self.runs, self.size = len(parts.init_seeds), sum(model.size for model in models.values())
        own = {ACTOR: actor_optimizers}
        self.networks = {name: PackedNetwork(parts, models[name], device, own.get(name)) for name in NETWORKS}
        self.targets = {name: self.networks[name].target() for name in CRITICS}
        rates = [optimizer.lr for optimizer in parts.optimizers]
        self.temperature = Temperature(rates, [each.temperature for each in parts.each("agent", SACSettings)], device)
        self.settings: dict[str, Any] = {name: network.settings for name, network in self.networks.items()}
        self.settings[NAME] = self.temperature.settings
        self.settings[steps.BOUNDS] = bounds_of(body, device)
        self.keys: dict[str, Any] = {name: network.step_keys for name, network in self.networks.items()}
        self.keys |= {purpose: self.networks[ACTOR].keys_of(purpose) for purpose in PURPOSES}
        asked = -float(body.actions) if agent.target_entropy is None else agent.target_entropy
        self.entropy = torch.full((self.runs,), asked, device=device)
        on_host = {
            name: value.cpu().numpy().astype(np.float64) for name, value in self.settings[ACTOR]["agent"].items()
        }
        self.reward_scale, self.timetable = on_host["reward_scale"], agent.timetable
        # More rows than a run has steps would never be written.
        self.memory = Memory(agent, body, parts.init_seeds, min(agent.capacity, tasks.total_steps), on_host["gamma"])
        updates = -(-tasks.most // agent.update_period)
        of_actor = updates + agent.policy_period
        self.at = [torch.tensor([row], device=device) for row in range(of_actor)]
        padded = self.memory.padded
        self.measured = Measured(updates, of_actor, self.runs, padded, agent.batch, device)
        self.bounds = bounds_of(body, torch.device("cpu"))
        for network in self.networks.values():
            network.body = body.name
        self.acting = ActingNetwork(
            self.networks[ACTOR], body.name, (int(np.prod(body.observation)),), agent.environments, dtype=body.dtype,
            randomised=False, compiled=compiled, structure=parts.structure, name=ACTOR, read=read,
        )  # fmt: skip
        self.target = steps.target_of(models, body.name)
        critics = steps.critics_step_of(self.networks, self.target, body.name)
        actor = steps.actor_step_of(self.networks, self.temperature, body.name, agent.learn_temperature)
        same = parts.structure, *(models[name].structure_key for name in NETWORKS), body.name
        self.critics_step = Compiled(critics, ("sac critics", *same), reads=steps.READS) if compiled else critics
        self.actor_step = Compiled(actor, ("sac actor", *same), reads=steps.READS) if compiled else actor
        self.unstable = np.zeros(self.runs, np.bool_)
        self.environments: Environments | None = None
        self._saved: Mapping[str, Any] = {}

    def begin(self, task: SegmentedTask, fresh: bool) -> None:
        """New environments, or those of a resumed run where it left them. The memory goes on, unless each task finds it
        empty.
        """
        agent, seeds, body = self.agent, self.parts.stream_seeds, self.bodies[task.body]
        if fresh:
            for network in self.networks.values():
                network.begin_task(task.position)
            if self.networks[ACTOR].intervention.restarts_agent:
                for target in self.targets.values():
                    target.copy()
            if agent.empty_each_task:
                self.memory.clear()
        factors = self.parts.benchmark.friction_of(task.position, seeds)
        friction = None if factors is None else factors[:, None]
        processes = self.parts.processes.of(body, len(seeds) * agent.environments)
        self.environments = Environments(
            body, seeds, agent.environments, task.position, friction=friction, processes=processes
        )
        self.actor = Actor(
            self.environments, self.acting, self.memory, self.bounds, self.parts.init_seeds, agent.min_history,
            self.reward_scale,
        )  # fmt: skip
        if not fresh:
            self.environments.load({name: value.numpy() for name, value in self._saved.items()})

    def advance(self, chunk: Segment) -> Rows:
        """Acts for the chunk's steps, and learns as often as is due meanwhile."""
        environments, ended = self.agent.environments, list[tuple[Ended, int]]()
        trains = self._train_states()
        before = {name: Snapshot(train) for name, train in trains.items()}
        targets = {name: {n: x.clone() for n, x in target.parameters.items()} for name, target in self.targets.items()}
        rows, taken = self._rows(), {ACTOR: 0, CRITICS[0]: 0}
        for step in range(chunk.first, chunk.first + chunk.steps, environments):
            then = step + environments
            outcome = self.actor.step(step)
            if len(outcome.ended.run):
                ended.append((outcome.ended, then))
            for _ in range(self.timetable.updates(step, then, self.memory.steps)):
                self._update(rows, taken)
        done = taken[CRITICS[0]], taken[ACTOR]
        finite = self.actor.finite & self.measured.finite(*done)
        for name, train in self._train_states().items():
            finite &= before[name].finite(train)
        self.unstable |= ~finite
        if self.unstable.any():
            for name, train in self._train_states().items():
                before[name].restore(train, self.unstable)
            for name, values in targets.items():
                for part, value in values.items():
                    for run in np.flatnonzero(self.unstable):
                        self.targets[name].parameters[part][run].copy_(value[run])
        unstable = np.broadcast_to(self.unstable.astype(np.float64), (done[0], self.runs))
        return Rows(self.measured.means(*done, self.unstable) | {"unstable": unstable}, episodes_of(ended))

    def evaluate(self, task: SegmentedTask) -> Evaluation:
        """How much the middle of the policy earns in the benchmark's test, the friction of the task, and the
        interventions' own.
        """
        seeds, body, benchmark = self.parts.stream_seeds, self.bodies[task.body], self.parts.benchmark
        factors, frictions = benchmark.friction_of(task.position, seeds), benchmark.test_frictions(body)
        returns = np.full(self.runs, np.nan)
        if frictions is not None:
            processes = self.parts.processes.of(body, len(seeds) * len(frictions))
            returns = mean_return(
                episode_returns(body, seeds, len(frictions), self._middle, frictions, processes=processes)
            )
        measured = {"test_return": returns, "friction": np.ones(self.runs) if factors is None else factors}
        for network in self.networks.values():
            measured |= network.of_intervention()
        return measured

    def end(self, task: SegmentedTask) -> None:
        """Interventions and optimizers end the task."""
        for network in self.networks.values():
            network.end_task(task.position)

    def state(self) -> State:
        """The networks' and their targets', the temperature's, how far the memory is filled, which runs are unstable,
        where the environments stand.
        """
        there = {} if self.environments is None else self.environments.state()
        return {
            "networks": {name: network.state() for name, network in self.networks.items()},
            "targets": {name: target.state() for name, target in self.targets.items()},
            "temperature": self.temperature.state(),
            **self.memory.state(),
            "unstable": torch.tensor(self.unstable),
            "environments": {name: torch.tensor(value) for name, value in there.items()},
        }

    def bulk(self) -> Bulk:
        """The replay memory: an entry is a step of all environments."""
        return self.memory.bulk()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Goes back to a state; the environments follow in `begin`. Without its memory, that is empty (see `Ring`)."""
        for name, network in self.networks.items():
            network.load(state["networks"][name])
        for name, target in self.targets.items():
            target.load(state["targets"][name])
        self.temperature.load(state["temperature"])
        self.memory.load(state, bulk)
        self.unstable = state["unstable"].numpy().copy()
        self._saved = dict(state["environments"])

    def weights(self) -> dict[str, Tensor]:
        """The parameters of all networks on the host, name → (K, ...), and log α."""
        found = {name: value for network in self.networks.values() for name, value in network.weights().items()}
        return found | {NAME: self.temperature.parameters[NAME].detach().cpu()}

    def view(self, task: SegmentedTask) -> View:
        """The first critic; its probe is drawn from the memory, as its loss takes it. None in the warm-up."""
        name, probe = CRITICS[0], dict[str, Tensor]()
        network = self.networks[name]
        if self.timetable.learns(self.memory.steps):
            batch = self.memory.probe(network.updates, self.device)
            own = {each: target.parameters for each, target in self.targets.items()}
            count, log_alpha = torch.tensor(network.updates, device=self.device), self.temperature.parameters[NAME]
            with torch.no_grad():
                target = self.target(
                    own, self.networks[ACTOR].parameters, log_alpha, self.settings, self.keys, batch, count
                )
            probe = {"x": torch.cat([batch["x"], batch["action"]], dim=2), "target": target, "weight": batch["weight"]}
        return network.view(steps.critic_loss_of(network.model, self.body.name), probe)

    def _train_states(self) -> dict[str, TrainState]:
        """What updates change, by network; the temperature is one of them."""
        own = {name: network.train_state for name, network in self.networks.items()}
        return own | {NAME: TrainState(self.temperature.parameters, self.temperature.moments, {})}

    def _rows(self) -> dict[str, dict[str, Tensor]]:
        """What the next updates read, by network and for the temperature: name → (U, ...)."""
        found = {}
        for name, network in self.networks.items():
            count = len(self.at) if name == ACTOR else len(self.measured.critics)
            numbers = torch.arange(count, device=self.device) + network.updates
            found[name] = {**network.corrections(count), "updates": numbers}
        return found | {NAME: self.temperature.corrections(len(self.at))}

    def _update(self, rows: Mapping[str, Mapping[str, Tensor]], taken: dict[str, int]) -> None:
        """One update of the critics, and, if it is their turn, as many of the actor as they had since its last."""
        networks, alpha = self.networks, self.temperature
        updates = networks[CRITICS[0]].updates
        batch = self.memory.batch(self.memory.drawn(updates), self.device)
        states = self.critics_step(
            {name: networks[name].train_state for name in CRITICS},
            {name: target.parameters for name, target in self.targets.items()},
            networks[ACTOR].parameters, alpha.parameters[NAME], self.settings, self.keys, batch, rows,
            self.measured.critics,
            self.at[taken[CRITICS[0]]],
        )  # fmt: skip
        for name, state in states.items():
            networks[name].kept = state
            networks[name].took(1)
        taken[CRITICS[0]] += 1
        for _ in range(self.agent.policy_period if updates % self.agent.policy_period == 0 else 0):
            networks[ACTOR].kept = self.actor_step(
                networks[ACTOR].train_state, (alpha.parameters, alpha.moments),
                {name: networks[name].parameters for name in CRITICS}, self.entropy, self.settings, self.keys, batch,
                rows, self.measured.actor, self.at[taken[ACTOR]],
            )  # fmt: skip
            networks[ACTOR].took(1)
            alpha.updates += 1
            taken[ACTOR] += 1

    def _middle(self, observations: Array) -> Array:
        """The likeliest number before squashing, squashed: (K, E, ...) → (K, E, A), on the host."""
        shown = np.nan_to_num(observations.reshape(*observations.shape[:2], -1), posinf=0, neginf=0)
        answered = self.networks[ACTOR].answers(shown, self.body.name)["mean"]
        return on_host(np.nan_to_num(answered, posinf=0, neginf=0), self.bounds)
