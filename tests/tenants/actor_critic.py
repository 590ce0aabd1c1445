"""A small actor-critic: clipped policy gradients over rollouts, and a critic that also learns from old rollouts."""

import pyarrow as pa
import pyarrow.compute as pc
import torch

from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.benchmarks.bodies.base import Bodies
from plasticity_lab.benchmarks.bodies.benchmark import BodyCycle
from plasticity_lab.benchmarks.bodies.stream import Stages
from plasticity_lab.component import check
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.records.measures import Column, Measure, Measures
from tests.tenants.actor_critic_learner import MEMORY_ROLLOUTS, ActorCriticLearner


def summarise(table: pa.Table) -> dict[str, float | None]:
    """The mean return of the run's last ten episodes, and of its tasks' evaluations."""
    episodes = table.filter(pc.equal(table["kind"], "episode"))["return"].to_numpy()
    tasks = table.filter(pc.equal(table["kind"], "task"))["greedy_return"].to_numpy()
    return {
        "last_return": float(episodes[-10:].mean()) if len(episodes) else None,
        "greedy_return": float(tasks.mean()) if len(tasks) else None,
    }


class ActorCritic(Agent):
    """Advantages by one-step differences summed up with γ·λ, normalised over each rollout; a clipped policy loss."""

    learns = BodyCycle
    measures = Measures(
        columns=[
            Column(Measure("loss", "Loss"), "loss", {"epoch": "mean", "task": "mean"}),
            Column(Measure("return", "Return", "reward", better="more"), "return", {"episode": "value"}),
            Column(Measure("length", "Length", "steps"), "length", {"episode": "value"}),
            Column(Measure("greedy_return", "Greedy return", "reward"), "greedy_return", {"task": "value"}),
        ],
        summaries=[
            Measure("last_return", "Return of the last ten episodes", "reward", places=1, better="more"),
            Measure("greedy_return", "Greedy return", "reward", places=1, better="more"),
        ],
        headline="last_return",
        must_stay_finite="loss",
        marks={"body": int, "cycle": int},
        summarise=summarise,
    )

    def __init__(
        self, environments: int = 4, rollout: int = 16, minibatches: int = 2, passes: int = 2, gamma: float = 0.99,
        clip: float = 0.2, max_norm: float = 0.5,
    ) -> None:  # fmt: skip
        self.environments = check("agent.environments", environments, at_least=1)
        self.rollout = check("agent.rollout", rollout, at_least=1)
        self.minibatches = check("agent.minibatches", minibatches, at_least=1)
        self.passes = check("agent.passes", passes, at_least=1)
        self.gamma = check("agent.gamma", gamma, at_least=0, at_most=1)
        self.clip = check("agent.clip", clip, above=0)
        self.max_norm = check("agent.max_norm", max_norm, above=0)

    @property
    def steps(self) -> int:
        """Steps of a rollout, all environments together."""
        return self.environments * self.rollout

    @property
    def updates(self) -> int:
        """Updates by a rollout."""
        return self.passes * self.minibatches

    def model(self, parts: Parts, resource: Bodies) -> Model:
        """From an observation to a policy (a number for each action) and a value."""
        bodies = {
            name: Shapes(body.observation, {"policy": body.actions, "value": 1})
            for name, body in resource.by_name.items()
        }
        return Model(parts.network, parts.activations, bodies)

    def learner(
        self, parts: Parts, resource: Bodies, device: torch.device, compiled: bool
    ) -> tuple[Stages, ActorCriticLearner]:
        """The benchmark's bodies, and what learns them."""
        model = self.model(parts, resource)
        return Stages(parts.benchmark, self.steps), ActorCriticLearner(self, parts, model, resource, device, compiled)

    def cost(self, parts: Parts, resource: Bodies) -> Cost:
        """What a run costs."""
        model, stages = self.model(parts, resource), Stages(parts.benchmark, self.steps)
        rollouts = parts.benchmark.tasks * stages.rollouts
        work = sum(layer.work for layer in model.design.layers)
        widest = max(sum(body.observation) for body in resource.by_name.values())
        return Cost(
            length=stages.total_steps,
            unit="environment steps",
            updates=rollouts * self.updates,
            flops=6 * work * self.steps // self.minibatches,
            memory=(
                Share(20 * model.size, "its network", "a smaller network.width"),
                Share(4 * widest * self.steps * MEMORY_ROLLOUTS, "its memory", "a smaller agent.rollout"),
            ),
            speed="dense",
            rows=rollouts + parts.benchmark.tasks + stages.total_steps // 20,
            parameters=model.size,
            forwards=rollouts * self.rollout,
            forward_flops=2 * work * self.environments,
            host_steps={name: stages.total_steps // len(parts.benchmark.bodies) for name in parts.benchmark.bodies},
        )
