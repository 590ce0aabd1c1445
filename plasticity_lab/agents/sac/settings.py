"""The settings of agent=sac."""

from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.component import Component, check_limits, setting, with_settings
from plasticity_lab.errors import ConfigError


@with_settings
class SACSettings(Component):
    """All steps are agent steps, counted over all environments of a run together."""

    floats_on_run_axis = True
    n_step, replay, life_loss_is_terminal = 1, "uniform", False

    environments: int = setting(1, at_least=1)  # environments of each run
    gamma: float = setting(0.99, at_least=0, at_most=1)  # discount of a step
    tau: float = setting(0.005, above=0, at_most=1)  # how far a target moves towards its critic in each update
    batch: int = setting(256, at_least=1)  # steps that an update learns from
    capacity: int = setting(1_000_000, at_least=1, capped=True)  # steps that the memory holds
    # Steps that it must hold before anything is learned; until then actions are drawn uniformly.
    min_history: int = setting(5_000, at_least=1, capped=True)
    update_period: int = setting(1, at_least=1)  # steps between updates of the critics
    policy_period: int = setting(2, at_least=1)  # n: after every n critic updates, the actor takes n updates
    actor_lr: float | None = setting(None, above=0)  # the actor's learning rate; null: the critics', optimizer.lr
    temperature: float = setting(1.0, above=0)  # the weight of the entropy, α; its initial value if it is learned
    learn_temperature: bool = True  # whether each run learns it
    # Target entropy of the temperature; null: −1 for each number of an action.
    target_entropy: float | None = setting(None, read_if=("learn_temperature", bool))
    # Rewards are multiplied by it for learning; reported returns are not.
    reward_scale: float = setting(1.0, above=0, neutral=True)
    # Steps averaged in one epoch row of the metrics; it changes no other number.
    epoch_steps: int = setting(1_000, at_least=1, capped=True)
    empty_each_task: bool = setting(False, neutral=True)  # whether the memory is cleared before each task
    # Updates of the critics at each time that one is due: the replay ratio is gradient_steps / update_period.
    gradient_steps: int = setting(1, at_least=1, neutral=True)

    def __post_init__(self) -> None:
        check_limits(self, "agent")
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
        """When an update of the critics is due; their targets follow in each update."""
        return Timetable(self.min_history, self.update_period, target_period=1, gradient_steps=self.gradient_steps)
