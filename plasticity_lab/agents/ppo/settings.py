"""The settings of PPO."""

from plasticity_lab.agents.ppo.minibatches import NORMALISED
from plasticity_lab.component import Component, check
from plasticity_lab.errors import ConfigError


class PPOSettings(Component):
    """Files of values for them are ppo and ppo_cleanrl of conf/agent.

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

    floats_on_run_axis = True

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

    @property
    def scales(self) -> list[str]:
        """What is scaled by running statistics: "observations", "rewards", both or neither."""
        scaled = {"observations": self.normalise_observations, "rewards": self.normalise_rewards}
        return [name for name, does in scaled.items() if does]
