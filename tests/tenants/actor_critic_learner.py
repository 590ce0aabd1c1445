"""What learns the small actor-critic's bodies: rollouts, the memory of the critic, updates.

Legend: K runs, N environments of each, T steps of a rollout, U updates by it, B rows of a minibatch, C rows of the
memory, D numbers of an observation, A actions.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.update import Loss, LossOutput, TrainState, UpdateInputs, update_of
from plasticity_lab.benchmarks.bodies.base import Bodies
from plasticity_lab.benchmarks.bodies.stream import Segment, Stage
from plasticity_lab.environments.environments import Environments
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.bulk import Bulk, Entries
from plasticity_lab.records.rows import Episodes, Evaluation, Rows
from plasticity_lab.stacking.elementary import exp, log_softmax
from plasticity_lab.stacking.optimizer import clipped

if TYPE_CHECKING:
    from tests.tenants.actor_critic import ActorCritic

Tensors = Mapping[str, Tensor]
MEMORY_ROLLOUTS = 4
"""How many of the last rollouts the critic goes on learning from."""
EVALUATION_STEPS = 100


def loss_of(model: Model) -> Loss:
    """Clipped policy gradient, and squared errors of the value on the minibatch and on what the memory gives.

    "x" (K, B, D), "action", "old", "advantage", "target" (K, B); "then_x" (K, B, D), "then_target" (K, B).
    """

    def loss(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        outputs, hidden = model.forward(parameters, settings["activation"], batch["x"], None)
        chosen = log_softmax(outputs["policy"]).gather(-1, batch["action"].unsqueeze(-1)).squeeze(-1)
        ratio, clip = exp(chosen - batch["old"]), settings["agent"]["clip"].unsqueeze(1)
        bounded = torch.minimum(torch.maximum(ratio, 1 - clip), 1 + clip)
        policy = -torch.minimum(ratio * batch["advantage"], bounded * batch["advantage"])
        value = 0.5 * (outputs["value"].squeeze(-1) - batch["target"]).square()
        then, _ = model.forward(parameters, settings["activation"], batch["then_x"], None)
        again = 0.5 * (then["value"].squeeze(-1) - batch["then_target"]).square()
        total = (policy + 0.5 * value + 0.5 * again) / policy.shape[1]
        return LossOutput(total, {"loss": total}, hidden)

    return loss


class ActorCriticLearner:
    """K runs of an actor-critic, each in environments of its own."""

    facts: Mapping[str, float] = {}

    def __init__(
        self, agent: "ActorCritic", parts: Parts, model: Model, bodies: Bodies, device: torch.device, compiled: bool
    ) -> None:
        self.agent, self.parts, self.bodies, self.device = agent, parts, bodies, device
        self.network, self.size = PackedNetwork(parts, model, device), model.size
        network = self.network
        update = update_of(model, loss_of(model), network.optimizer, network.intervention, clip_by_norm)

        def step(
            train_state: TrainState, settings: Mapping[str, Tensors], keys: Tensor, tables: Tensors, at: Tensor
        ) -> Any:
            now = {name: rows.index_select(0, at).squeeze(0) for name, rows in tables.items()}
            return update(train_state, UpdateInputs(settings, keys, now["count"], now), now)

        self.step = Compiled(step) if compiled else step
        self.at = [torch.tensor([row], device=device) for row in range(agent.updates)]
        self.runs = len(parts.init_seeds)
        widest = max(sum(body.observation) for body in bodies.by_name.values())
        rows = MEMORY_ROLLOUTS * agent.steps
        self.memory = {"x": np.zeros((self.runs, rows, widest), np.float32), "target": np.zeros((self.runs, rows))}
        self.remembered = 0
        self.environments: Environments | None = None
        self._saved: Mapping[str, Any] = {}

    def begin(self, task: Stage, fresh: bool) -> None:
        """New environments of the task's body, or those of a resumed run where it left them."""
        self.environments = self._environments(task, "reset")
        if not fresh:
            self.environments.load({name: value.numpy() for name, value in self._saved.items()})

    def advance(self, chunk: Segment) -> Rows:
        """Acts for a rollout, then learns from it."""
        seen, episodes = self._acted(chunk)
        tables = self._tables(seen, chunk)
        corrections = self.network.corrections(self.agent.updates)
        losses, taken = [], 0
        while taken < self.agent.updates:
            part = self.network.due(self.agent.updates - taken)
            train_state = self.network.train_state
            for at in self.at[taken : taken + part]:
                state, measured = self.step(
                    train_state, self.network.settings, self.network.keys, tables | corrections, at
                )
                train_state = train_state._replace(state=state)
                losses.append(measured["loss"].cpu().numpy().astype(np.float64).sum(axis=1))
            self.network.kept = train_state.state
            self.network.took(part)
            taken += part
        return Rows({"loss": np.stack(losses)}, episodes)

    def evaluate(self, task: Stage) -> Evaluation:
        """The return of the most likely actions in environments of its own: an episode's, cut off at a last step."""
        environments = self._environments(task, "evaluation")
        rewards, episodes = np.zeros(self.runs), np.full(self.runs, self.agent.environments)
        for _ in range(EVALUATION_STEPS):
            policy, _ = self._forward(environments)
            outcome = environments.step(policy.argmax(axis=2))
            rewards += outcome.rewards.sum(axis=1)
            episodes += np.bincount(outcome.ended.run, minlength=self.runs)
        return {"greedy_return": rewards / episodes}

    def end(self, task: Stage) -> None:
        """Intervention and optimizer end the task."""
        self.network.end_task(task.position)

    def state(self) -> State:
        """The network's, and where the environments stand."""
        there = {} if self.environments is None else self.environments.state()
        return {"network": self.network.state(), "environments": {name: torch.tensor(v) for name, v in there.items()}}

    def bulk(self) -> Bulk:
        """The memory."""
        added = self.remembered * self.agent.steps
        return {name: Entries(rows.swapaxes(0, 1), added) for name, rows in self.memory.items()}

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Goes back to a state; the environments follow in `begin`."""
        self.network.load(state["network"])
        self._saved = dict(state["environments"])
        self.remembered = 0 if bulk is None else bulk["x"].added // self.agent.steps

    def weights(self) -> dict[str, Tensor]:
        """The network's."""
        return self.network.weights()

    def _environments(self, task: Stage, purpose: str) -> Environments:
        body = self.bodies.by_name[task.body]
        return Environments(body, self.parts.stream_seeds, self.agent.environments, task.position, purpose)

    def _forward(self, environments: Environments) -> tuple[np.ndarray, np.ndarray]:
        """Policy (K, N, A) and value (K, N) of what the environments show."""
        outputs = self.network.answers(environments.observations.reshape(self.runs, self.agent.environments, -1))
        return outputs["policy"], outputs["value"][..., 0]

    def _acted(self, chunk: Segment) -> tuple[dict[str, np.ndarray], Episodes]:
        """A rollout: what was seen, done and earned, name → (K, T, N, ...); and the episodes that ended."""
        agent, environments = self.agent, self.environments
        shape = agent.rollout, agent.environments, next(iter(self.bodies.by_name.values())).actions
        streams = [host_stream(seed, "acting", chunk.first) for seed in self.parts.init_seeds]
        noise = np.stack([stream.gumbel(size=shape) for stream in streams])
        seen: dict[str, list[np.ndarray]] = {name: [] for name in ("x", "action", "policy", "value", "reward", "over")}
        ended = []
        for t in range(agent.rollout):
            policy, value = self._forward(environments)
            action = (policy + noise[:, t]).argmax(axis=2)
            seen["x"].append(environments.observations.reshape(self.runs, agent.environments, -1))
            outcome = environments.step(action)
            over = outcome.terminated | outcome.truncated
            for name, what in zip(seen, (seen["x"][-1], action, policy, value, outcome.rewards, over), strict=True):
                if name != "x":
                    seen[name].append(what)
            ended.append((outcome.ended, chunk.first + (t + 1) * agent.environments))
        seen["value"].append(self._forward(environments)[1])
        episodes = Episodes(
            np.concatenate([each.run for each, _ in ended]),
            np.concatenate([np.full(len(each.run), step) for each, step in ended]),
            {
                "return": np.concatenate([each.returns for each, _ in ended]),
                "length": np.concatenate([each.lengths for each, _ in ended]).astype(np.float64),
            },
        )
        return {name: np.stack(rows, axis=1) for name, rows in seen.items()}, episodes

    def _tables(self, seen: Mapping[str, np.ndarray], chunk: Segment) -> dict[str, Tensor]:
        """What the updates read, a row for each: name → (U, K, B, ...). Sums over examples are taken here, in float64,
        run by run: inside a compiled update their last bits could depend on the width of the pack.
        """
        gamma = self.network.settings["agent"]["gamma"].cpu().numpy().astype(np.float64)[:, None]
        values = seen["value"].astype(np.float64)
        advantage, so_far = np.zeros_like(values[:, :-1]), 0.0
        for t in reversed(range(self.agent.rollout)):
            alive = ~seen["over"][:, t]
            difference = seen["reward"][:, t] + gamma * values[:, t + 1] * alive - values[:, t]
            advantage[:, t] = so_far = difference + gamma * 0.95 * alive * so_far
        logs = log_softmax(torch.from_numpy(seen["policy"])).numpy()
        rows = {
            "x": seen["x"],
            "action": seen["action"],
            "old": np.take_along_axis(logs, seen["action"][..., None], axis=-1)[..., 0],
            "advantage": (advantage - _mean(advantage)) / (np.sqrt(_mean((advantage - _mean(advantage)) ** 2)) + 1e-8),
            "target": advantage + values[:, :-1],
        }
        flat = {name: value.reshape(self.runs, self.agent.steps, *value.shape[3:]) for name, value in rows.items()}
        self._remember(flat["x"], flat["target"])
        picks, then = self._picks(chunk)
        across = np.arange(self.runs)[None, :, None]
        tables = {name: value[across, picks] for name, value in flat.items()}
        tables |= {f"then_{name}": rows[across, then] for name, rows in self.memory.items()}
        tables["count"] = np.arange(self.network.updates, self.network.updates + self.agent.updates)
        whole = ("action", "count")
        return {
            name: torch.from_numpy(value.astype(np.int64 if name in whole else np.float32)).to(self.device)
            for name, value in tables.items()
        }

    def _remember(self, x: np.ndarray, target: np.ndarray) -> None:
        place = self.remembered % MEMORY_ROLLOUTS * self.agent.steps
        self.memory["x"][:, place : place + self.agent.steps] = x
        self.memory["target"][:, place : place + self.agent.steps] = target
        self.remembered += 1

    def _picks(self, chunk: Segment) -> tuple[np.ndarray, np.ndarray]:
        """Which rows of the rollout, and which of the memory, make up each update's minibatch: (U, K, B) both."""
        size, there = self.agent.steps // self.agent.minibatches, min(self.remembered, MEMORY_ROLLOUTS)
        picks, then = [], []
        for seed in self.parts.init_seeds:
            draw = host_stream(seed, "minibatches", chunk.first)
            orders = [draw.permutation(self.agent.steps) for _ in range(self.agent.passes)]
            picks.append(np.concatenate(orders).reshape(self.agent.updates, size))
            then.append(draw.integers(0, there * self.agent.steps, (self.agent.updates, size)))
        return np.stack(picks, axis=1), np.stack(then, axis=1)


def clip_by_norm(gradients: Tensors, settings: Tensors) -> dict[str, Tensor]:
    """Each run's gradients, scaled to at most its `max_norm`."""
    return clipped(gradients, settings["max_norm"])


def _mean(values: np.ndarray) -> np.ndarray:
    """Each run's mean, added up step by step: (K, T, N) → (K, 1, 1)."""
    flat = np.ascontiguousarray(values.reshape(len(values), -1))
    return (np.add.accumulate(flat, axis=1)[:, -1] / flat.shape[1])[:, None, None]
