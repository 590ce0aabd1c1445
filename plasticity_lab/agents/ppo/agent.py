"""The choice agent=ppo."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.acting.cost import steps_of_bodies
from plasticity_lab.agents.acting.measures import FRICTION, measures_of, of_updates
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.ppo.cost import cost_of
from plasticity_lab.agents.ppo.learner import PPOLearner
from plasticity_lab.agents.ppo.policy import shapes_of
from plasticity_lab.agents.ppo.settings import PPOSettings
from plasticity_lab.agents.ppo.statistics import kept_of
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import Stages
from plasticity_lab.diagnostics.view import OBSERVED
from plasticity_lab.interventions.intervention import EXAMPLES, TASK_BEGINS
from plasticity_lab.networks.model import Model

# What PPO measures: parts of the loss by update, episodes, and a run's returns in a few numbers.

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
    provides = frozenset({EXAMPLES, TASK_BEGINS, OBSERVED})
    measures = PPO_MEASURES

    def model(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Model:
        """From what each body shows to its "policy" and "value"."""
        bodies = {name: shapes_of(body) for name, body in resource.by_name.items()}
        return Model(parts.network, parts.activations, bodies)

    def learner(
        self, parts: Parts[BodyBenchmark], resource: Bodies, device: torch.device, compiled: bool
    ) -> tuple[Stages, PPOLearner]:
        """The benchmark's bodies in turn, and what learns them."""
        stages, model = Stages(parts.benchmark, self.steps), self.model(parts, resource)
        return stages, PPOLearner(self, parts, model, resource, stages.total_steps, device, compiled)

    def statistics(self, learner: PPOLearner) -> dict[str, Tensor]:
        """Those of observations and rewards that its settings have it normalise by, of every body."""
        return kept_of(learner.normalisers, self.scales)

    def cost(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Cost:
        """What a run costs."""
        return cost_of(self, parts, self.model(parts, resource), resource)

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """Every body, by name."""
        return steps_of_bodies()
