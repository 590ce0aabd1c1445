"""The settings of PPO."""

from plasticity_lab.component import Component, check_limits, setting, with_settings
from plasticity_lab.errors import ConfigError


@with_settings
class PPOSettings(Component):
    """conf/agent/ppo and conf/agent/ppo_cleanrl are files of values for these settings."""

    floats_on_run_axis = True

    environments: int = setting(1, at_least=1)  # environments of each run, stepped together
    rollout: int = setting(2048, at_least=1)  # steps of each environment between updates
    minibatches: int = setting(16, at_least=1)  # number of parts of a rollout
    epochs: int = setting(10, at_least=1)  # passes over a rollout
    gamma: float = setting(0.99, at_least=0, at_most=1)  # the discount
    gae_lambda: float = setting(0.95, at_least=0, at_most=1)  # λ of generalised advantage estimation
    clip: float = setting(0.2, above=0)  # maximum distance of the probability ratio from 1
    clip_value: bool = False  # whether the change of the value is clipped too
    value_weight: float = setting(1.0, at_least=0)  # weight of the squared error, no factor ½
    entropy_weight: float = setting(0.0, at_least=0)  # weight of the entropy bonus
    max_norm: float | None = setting(None, above=0)  # maximum norm of a run's gradients; null: no limit
    # Normalised over the rollout (batch), over each minibatch (minibatch), or not (none).
    advantages: str = setting("batch", one_of=("batch", "minibatch", "none"))
    # Whether a truncated episode counts as terminated; if not, the value of its last observation is added.
    timeout_is_terminal: bool = False
    clip_action: bool = False  # whether actions are clipped to the body's bounds
    normalise_observations: bool = False  # normalise by running statistics of each body
    normalise_rewards: bool = False  # normalise by running statistics of each body
    # Whether randomised activations draw their slopes while acting (train), or use the mean slope (eval).
    rollout_mode: str = setting("train", one_of=("train", "eval"))
    anneal_lr: bool = False  # whether the learning rate decreases to 0 over the run, rollout by rollout
    # The remaining passes over a rollout are skipped if the policy has changed by more than this; null: no limit.
    target_kl: float | None = setting(None, above=0)

    def __post_init__(self) -> None:
        check_limits(self, "agent")
        if self.steps % self.minibatches:
            raise ConfigError(
                f"agent.minibatches is {self.minibatches}; it must divide the {self.steps:,} steps of a rollout "
                f"(agent.environments · agent.rollout)."
            )
        normalised = {"batch": self.steps, "minibatch": self.steps // self.minibatches}.get(self.advantages)
        if normalised == 1:
            raise ConfigError(
                f"agent.advantages={self.advantages} normalises advantages over 1 step, which makes each of them 0, so "
                "that no policy is learned; give fewer agent.minibatches, a longer agent.rollout, or "
                "agent.advantages=none."
            )

    @property
    def steps(self) -> int:
        """Steps of a rollout, all environments of a run together."""
        return self.environments * self.rollout

    @property
    def scales(self) -> list[str]:
        """The quantities that running statistics scale: "observations", "rewards", both or neither."""
        scaled = {"observations": self.normalise_observations, "rewards": self.normalise_rewards}
        return [name for name, does in scaled.items() if does]
