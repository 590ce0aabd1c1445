"""The settings of agent=sac."""

from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.component import Component, check
from plasticity_lab.errors import ConfigError


class SACSettings(Component):
    """All steps are agent steps, those of all environments of a run together.

    environments: of each run.
    gamma: discount of a step.
    tau: the share of a critic that its target takes over in each update.
    batch: steps that an update learns from.
    capacity: steps that the memory holds.
    min_history: steps that it must hold before anything is learned; until then actions are drawn uniformly.
    update_period: steps between updates of the critics.
    policy_period: updates of the critics between those of the actor, which then are as many.
    actor_lr: the actor's learning rate; null: the critics', optimizer.lr.
    temperature: the weight of the entropy, α; at first, where it is learned.
    learn_temperature: whether each run learns it.
    target_entropy: that the temperature is learned for; null: −1 for each number of an action.
    reward_scale: by which rewards are multiplied before they are learned from; returns are reported as they are.
    epoch_steps: steps that a row of epochs in the metrics is a mean over; it changes no other number.
    empty_each_task: whether a new task finds the memory empty.
    """

    neutral = {"reward_scale": 1.0, "empty_each_task": False}
    read_if = {"target_entropy": ("learn_temperature", bool)}
    capped = frozenset({"capacity", "min_history", "epoch_steps"})
    floats_on_run_axis = True
    n_step, replay, life_loss_is_terminal = 1, "uniform", False

    def __init__(
        self,
        environments: int = 1,
        gamma: float = 0.99,
        tau: float = 0.005,
        batch: int = 256,
        capacity: int = 1_000_000,
        min_history: int = 5_000,
        update_period: int = 1,
        policy_period: int = 2,
        actor_lr: float | None = None,
        temperature: float = 1.0,
        learn_temperature: bool = True,
        target_entropy: float | None = None,
        reward_scale: float = 1.0,
        epoch_steps: int = 1_000,
        empty_each_task: bool = False,
    ) -> None:
        self.environments = check("agent.environments", environments, at_least=1)
        self.gamma = check("agent.gamma", gamma, at_least=0, at_most=1)
        self.tau = check("agent.tau", tau, above=0, at_most=1)
        self.batch = check("agent.batch", batch, at_least=1)
        self.capacity = check("agent.capacity", capacity, at_least=1)
        self.min_history = check("agent.min_history", min_history, at_least=1)
        self.update_period = check("agent.update_period", update_period, at_least=1)
        self.policy_period = check("agent.policy_period", policy_period, at_least=1)
        self.actor_lr = check("agent.actor_lr", actor_lr, above=0)
        self.temperature = check("agent.temperature", temperature, above=0)
        self.learn_temperature, self.target_entropy = learn_temperature, target_entropy
        self.reward_scale = check("agent.reward_scale", reward_scale, above=0)
        self.epoch_steps = check("agent.epoch_steps", epoch_steps, at_least=1)
        self.empty_each_task = empty_each_task
        held = self.capacity // self.environments * self.environments
        if self.min_history >= held:
            raise ConfigError(
                f"agent.min_history is {self.min_history:,}; it must be below agent.capacity, the {held:,} steps that "
                "the memory holds, or nothing would ever be learned."
            )
        if self.min_history < self.environments:
            raise ConfigError(
                f"agent.min_history is {self.min_history:,}; it must be at least agent.environments, "
                f"{self.environments:,}, so that there is a step to learn from."
            )

    @property
    def timetable(self) -> Timetable:
        """When an update of the critics is due; their targets follow in each."""
        return Timetable(self.min_history, self.update_period, target_period=1)
