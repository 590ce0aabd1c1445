"""The choice agent=ppo."""

from collections.abc import Callable, Mapping, Sequence
from math import prod

import torch
from torch import Tensor

from plasticity_lab.agents.acting.cost import STEPS_AN_EPISODE, host_calls, host_steps, passes_of_tests, steps_of_bodies
from plasticity_lab.agents.acting.measures import FRICTION, measures_of, of_updates
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.ppo.learner import PPOLearner
from plasticity_lab.agents.ppo.normalise import Normaliser, kept_of
from plasticity_lab.agents.ppo.policy import shapes_of
from plasticity_lab.agents.ppo.settings import PPOSettings
from plasticity_lab.agents.update import of_kernels
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import Stages
from plasticity_lab.diagnostics.view import OBSERVED
from plasticity_lab.environments.body import Body
from plasticity_lab.interventions.intervention import EXAMPLES, OUTPUTS, SECOND_BATCH, TASK_BEGINS
from plasticity_lab.interventions.reset_layers import ACTOR_AND_CRITIC
from plasticity_lab.networks.model import Model
from plasticity_lab.others import Others
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import aligned
from plasticity_lab.stacking.schedule import Schedule

# The measures of PPO: parts of the loss by update, episodes, and summary statistics of a run's returns.

PPO_MEASURES = measures_of(
    of_updates("policy_loss", "Policy loss"),
    of_updates("value_loss", "Value loss"),
    of_updates("entropy", "Entropy", "nats"),
    of_updates("approx_kl", "Change of the policy, approximate divergence", "nats"),
    of_updates("first_kl", "The same in the first pass over a rollout", "nats"),
    of_updates("clip_fraction", "Clipped actions"),
    of_tasks=(FRICTION,),
)


class PPO(PPOSettings, Agent[BodyBenchmark, Bodies, PPOLearner]):
    """Proximal policy optimisation.  Source: Schulman et al. 2017, in the form of Dohare et al. 2024 by default."""

    learns = BodyBenchmark
    provides = frozenset({ACTOR_AND_CRITIC, EXAMPLES, OUTPUTS, SECOND_BATCH, TASK_BEGINS, OBSERVED})
    measures = PPO_MEASURES
    objects_to = frozenset({"optimizer"})

    def objection(self, others: Others) -> str | None:
        """The rate has one schedule: the agent's, rollout by rollout, or the optimizer's, update by update."""
        if self.anneal_lr and Schedule([others.one("optimizer", Optimizer)]).active:
            return "agent.anneal_lr=true already lowers the learning rate; set it to false, or take a constant schedule"
        return super().objection(others)

    def model(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Model:
        """The model from each body's observations to its "policy" and "value"."""
        bodies = {name: shapes_of(body) for name, body in resource.by_name.items()}
        return Model(parts.network, parts.activations, bodies)

    def learner(
        self, parts: Parts[BodyBenchmark], resource: Bodies, device: torch.device, compiled: bool
    ) -> tuple[Stages, PPOLearner]:
        """The benchmark's bodies in turn, and their learner."""
        stages, model = Stages(parts.benchmark, self.steps), self.model(parts, resource)
        return stages, PPOLearner(self, parts, model, resource, stages.total_steps, device, compiled)

    def statistics(self, learner: PPOLearner) -> dict[str, Tensor]:
        """The statistics of every body for observations and rewards, if its settings normalise them."""
        return kept_of(learner.normalisers, self.scales)

    def cost(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Cost:
        """The cost of a run."""
        return cost_of(self, parts, self.model(parts, resource), resource)

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """Every body, by name."""
        return steps_of_bodies()


BYTES_A_PARAMETER = 32
"""A parameter, its gradient, two moments and one copy for the intervention, in float32, and all but the gradient
copied."""
NUMBERS_A_STEP = 16
"""Numbers of a step in addition to observation and action: values, rewards, probabilities, as tables and tensors."""


def cost_of(agent: PPOSettings, parts: Parts[BodyBenchmark], model: Model, resource: Bodies) -> Cost:
    """Steps, operations and bytes of one run: means over the bodies, which all have the same number of tasks.

    Test steps and forward passes assume the longest possible episodes.
    """
    stages = Stages(parts.benchmark, agent.steps)
    bodies = [resource.by_name[name] for name in parts.benchmark.bodies]
    rollouts = parts.benchmark.tasks * stages.rollouts
    work = sum(model.work(body.name) for body in bodies) // len(bodies)
    size = aligned(agent.steps // agent.minibatches)
    widest = max(prod(body.observation) + 2 * body.actions for body in bodies)
    between = sum(prod(unit.produced) for unit in model.units)
    rollout = 4 * agent.steps * (2 * widest + NUMBERS_A_STEP) + 16 * agent.steps * agent.epochs
    second = 8 * agent.steps * agent.epochs + 8 * size * (widest + between) if parts.second else 0
    return Cost(
        length=stages.total_steps,
        unit="environment steps",
        updates=rollouts * agent.minibatches * agent.epochs,
        flops=6 * work * size + parts.operations(model.size, 2 * work * size),
        memory=(
            Share(
                (BYTES_A_PARAMETER + 8 * parts.copies) * model.size + 8 * parts.numbers,
                f"the {model.size:,} parameters of its network",
                "a smaller network.width",
            ),
            Share(rollout + second + 8 * size * between, "its rollout", "a smaller agent.rollout"),
        ),
        speed="ppo",
        rows=rollouts + parts.benchmark.tasks + stages.total_steps // STEPS_AN_EPISODE,
        epochs=rollouts,
        parameters=model.stored,
        forwards=rollouts * (agent.rollout + 1) + passes_of_tests(parts.benchmark, resource),
        forward_flops=2 * work * aligned(agent.environments),
        host_steps=host_steps(parts.benchmark, resource, stages.task_steps),
        host_calls=host_calls(parts.benchmark, resource, stages.task_steps, agent.environments),
        graphs=2 * len({body.name for body in bodies}),
        **of_kernels(parts, [model], clipped=agent.max_norm is not None),
        statistics=_statistics(agent, bodies),
    )


def _statistics(agent: PPOSettings, bodies: Sequence[Body]) -> list[int]:
    """Bytes of each stored tensor of the statistics of observations and rewards."""
    normalisers = {body.name: Normaliser(1, agent.environments, (prod(body.observation),)) for body in bodies}
    return [value.nbytes for value in kept_of(normalisers, agent.scales).values()]
