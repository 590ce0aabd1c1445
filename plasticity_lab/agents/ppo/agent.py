"""The choice agent=ppo."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plasticity_lab.agents.acting.cost import steps_of_bodies
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.ppo.cost import cost_of
from plasticity_lab.agents.ppo.learner import PPOLearner
from plasticity_lab.agents.ppo.measures import PPO_MEASURES
from plasticity_lab.agents.ppo.minibatches import NORMALISED
from plasticity_lab.agents.ppo.policy import shapes_of
from plasticity_lab.agents.ppo.statistics import kept_of
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import Stages
from plasticity_lab.component import check
from plasticity_lab.diagnostics.view import OBSERVED
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.intervention import EXAMPLES, TASK_BEGINS
from plasticity_lab.networks.model import Model


class PPO(Agent[BodyBenchmark, Bodies, PPOLearner]):
    """Proximal policy optimisation.  Source: Schulman et al. 2017, in the form of Dohare et al. 2024 by default.

    environments: of each run, stepped side by side.
    rollout: steps of each environment between updates.
    minibatches: into how many parts a rollout is cut; epochs: in how many passes over it.
    gamma: the discount; gae_lambda: λ of generalised advantage estimation; both in [0, 1].
    clip: how far the ratio of probabilities may go from 1.
    clip_value: whether the value, too, is held as near to what it was.
    value_weight: of the squared error, without a half.
    entropy_weight: of the bonus for entropy.
    max_norm: of a run's gradients; null: any.
    advantages: normalised over the rollout (batch), over each minibatch (minibatch), or not (none).
    timeout_is_terminal: whether an episode cut off by its limit of steps counts as if it had ended there; else the
        value of its last observation is added.
    clip_action: whether the body is given actions within its bounds.
    normalise_observations, normalise_rewards: by running statistics of each body.
    rollout_mode: whether randomised activations draw their slopes while acting too (train), or take the mean (eval).
    anneal_lr: whether the learning rate falls to 0 over the run, rollout by rollout.
    target_kl: how much the policy may change by a rollout before its remaining passes are left out; null: any amount.
    """

    learns = BodyBenchmark
    provides = frozenset({EXAMPLES, TASK_BEGINS, OBSERVED})
    measures = PPO_MEASURES

    def __init__(
        self,
        environments: int = 1,
        rollout: int = 2048,
        minibatches: int = 16,
        epochs: int = 10,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip: float = 0.2,
        clip_value: bool = False,
        value_weight: float = 1.0,
        entropy_weight: float = 0.0,
        max_norm: float | None = None,
        advantages: str = "batch",
        timeout_is_terminal: bool = False,
        clip_action: bool = False,
        normalise_observations: bool = False,
        normalise_rewards: bool = False,
        rollout_mode: str = "train",
        anneal_lr: bool = False,
        target_kl: float | None = None,
    ) -> None:
        self.environments = check("agent.environments", environments, at_least=1)
        self.rollout = check("agent.rollout", rollout, at_least=1)
        self.minibatches = check("agent.minibatches", minibatches, at_least=1)
        self.epochs = check("agent.epochs", epochs, at_least=1)
        self.gamma = check("agent.gamma", gamma, at_least=0, at_most=1)
        self.gae_lambda = check("agent.gae_lambda", gae_lambda, at_least=0, at_most=1)
        self.clip = check("agent.clip", clip, above=0)
        self.clip_value = clip_value
        self.value_weight = check("agent.value_weight", value_weight, at_least=0)
        self.entropy_weight = check("agent.entropy_weight", entropy_weight, at_least=0)
        self.max_norm = check("agent.max_norm", max_norm, above=0)
        self.advantages = check("agent.advantages", advantages, one_of=NORMALISED)
        self.timeout_is_terminal, self.clip_action = timeout_is_terminal, clip_action
        self.normalise_observations, self.normalise_rewards = normalise_observations, normalise_rewards
        self.rollout_mode = check("agent.rollout_mode", rollout_mode, one_of=("train", "eval"))
        self.anneal_lr = anneal_lr
        self.target_kl = check("agent.target_kl", target_kl, above=0)
        if self.steps % minibatches:
            raise ConfigError(
                f"agent.minibatches is {minibatches}; it must divide the {self.steps:,} steps of a rollout "
                f"(agent.environments · agent.rollout)."
            )
        normalised = {"batch": self.steps, "minibatch": self.steps // minibatches}.get(advantages)
        if normalised == 1:
            raise ConfigError(
                f"agent.advantages={advantages} normalises advantages over 1 step, which makes each of them 0, so that "
                "no policy is learned; give fewer agent.minibatches, a longer agent.rollout, or agent.advantages=none."
            )

    @property
    def steps(self) -> int:
        """Steps of a rollout, all environments of a run together."""
        return self.environments * self.rollout

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

    @property
    def scales(self) -> list[str]:
        """What is scaled by running statistics: "observations", "rewards", both or neither."""
        scaled = {"observations": self.normalise_observations, "rewards": self.normalise_rewards}
        return [name for name, does in scaled.items() if does]

    def cost(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Cost:
        """What a run costs."""
        return cost_of(self, parts, self.model(parts, resource), resource)

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """Every body, by name."""
        return steps_of_bodies()
