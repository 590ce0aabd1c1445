"""The settings of all value agents, in one class. Each value agent of conf/agent is a file of values for it."""

from collections.abc import Mapping
from typing import Any

from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.agents.value.action_values import ActionValues
from plasticity_lab.component import Chosen, Component, check_limits, setting, with_settings
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.network import Noise
from plasticity_lab.stacking.noisy import SCOPES

REPLAYS = ("uniform", "prioritised")
OF_ATOMS = ("support_low", "support_high")
OF_NOISE = ("noise", "noise_scope")


@with_settings
class ValueSettings(Component):
    """All steps are agent steps, counted over all environments of a run together."""

    floats_on_run_axis = True

    environments: int = setting(1, at_least=1)  # environments of each run
    n_step: int = setting(1, at_least=1)  # steps of a return before the target network's value is added
    gamma: float = setting(0.99, at_least=0, at_most=1)  # discount of a step
    batch: int = setting(32, at_least=1)  # steps that an update learns from
    capacity: int = setting(1_000_000, at_least=1, capped=True)  # steps that the memory holds
    # Steps that it must hold before anything is learned; this warm-up is repeated if a memory was lost.
    min_history: int = setting(20_000, at_least=1, capped=True)
    update_period: int = setting(4, at_least=1)  # steps between updates
    target_period: int = setting(8_000, at_least=1, capped=True)  # steps between copies of the network into its target
    epsilon_start: float = setting(1.0, at_least=0, at_most=1)  # initial probability of a random action
    epsilon_final: float = setting(0.01, at_least=0, at_most=1)  # final probability of a random action
    epsilon_decay: int = setting(250_000, at_least=0, capped=True)  # steps from start to final, after min_history steps
    epsilon_eval: float = setting(0.001, at_least=0, at_most=1)  # probability of a random action in the test
    clip_rewards: bool = True  # whether rewards are clipped to −1 … 1 for learning; reported returns are unclipped
    life_loss_is_terminal: bool = False  # whether no value is added beyond a lost life, though the episode goes on
    # Steps averaged in one epoch row of the metrics; it changes no other number.
    epoch_steps: int = setting(1_000, at_least=1, capped=True)
    # Whether the network selects the best next action, not its target.
    double: bool = setting(False, neutral=True)
    # Whether the network outputs the state's value and the actions' advantages.
    dueling: bool = setting(False, neutral=True)
    # Atoms of each action's distribution of returns; 0: each action has a value, and the loss is the squared error.
    atoms: int = setting(0, at_least=0, neutral=True)
    support_low: float = setting(-10.0, neutral=True, read_if=("atoms", bool))  # the return of the first atom
    support_high: float = setting(10.0, neutral=True, read_if=("atoms", bool))  # the return of the last atom
    replay: str = setting("uniform", one_of=REPLAYS, neutral=True)  # prioritised: see `replay/prioritised.py`
    # Whether the layers after the encoder are noisy, while acting and learning; not in tests.
    noisy: bool = setting(False, neutral=True)
    # The initial value of every standard deviation in a noisy layer is noise / √inputs.
    noise: float = setting(0.1, at_least=0, neutral=True, read_if=("noisy", bool))
    # sample (separate noise for each example of a batch and each environment), or batch (all share the same noise). In
    # targets, all next states of a run's batch share the same noise in both cases.
    noise_scope: str = setting("sample", one_of=SCOPES, neutral=True, read_if=("noisy", bool))
    empty_each_task: bool = setting(False, neutral=True)  # whether the memory is cleared before each task
    # Updates at each time that one is due: the replay ratio is gradient_steps / update_period.
    gradient_steps: int = setting(1, at_least=1, neutral=True)

    def __post_init__(self) -> None:
        check_limits(self, "agent")
        self._check_distribution()
        self._check_memory()

    @classmethod
    def run_axis_settings(cls) -> list[str]:
        """All floats except for `noise`: a pack has one model, which draws its noisy layers' parameters by it."""
        return [name for name in super().run_axis_settings() if name != "noise"]

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Without settings that have no effect given the others: the support if there are no atoms, and noise settings
        if no layer is noisy.
        """
        without = (*(() if settings.get("atoms") else OF_ATOMS), *(() if settings.get("noisy") else OF_NOISE))
        return super().canonical({key: value for key, value in settings.items() if key not in without})

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 if each example has separate noise: in version 1 the next states of a target had separate noise too."""
        of_examples = settings.get("noisy") and settings.get("noise_scope", "sample") == "sample"
        return 2 if of_examples else super().version_beside(settings, others)

    @property
    def timetable(self) -> Timetable:
        """The schedule of updates and target copies."""
        return Timetable(self.min_history, self.update_period, self.target_period, self.gradient_steps)

    @property
    def layer_noise(self) -> Noise | None:
        """The noise of the network's layers after its encoder; None if they are not noisy."""
        return Noise(self.noise, self.noise_scope) if self.noisy else None

    def action_values(self, actions: int) -> ActionValues:
        """The interpretation of the network's outputs, for a body with that number of actions."""
        return ActionValues(actions, self.atoms, self.dueling)

    def _check_distribution(self) -> None:
        if self.atoms == 1:
            raise ConfigError(
                "agent.atoms is 1; it must be 0, where each action has a value alone, or at least 2, such as 51: one "
                "atom is no distribution."
            )
        if self.support_low >= self.support_high:
            raise ConfigError(
                f"agent.support_low is {self.support_low:g} and agent.support_high {self.support_high:g}; the first "
                "must be below the second, as in −10 and 10."
            )

    def _check_memory(self) -> None:
        held = self.capacity // self.environments * self.environments
        if self.min_history >= held:
            raise ConfigError(
                f"agent.min_history is {self.min_history:,}; it must be below agent.capacity, the {held:,} steps that "
                "the memory holds, or nothing would ever be learned."
            )
        needed = self.n_step * self.environments
        if self.min_history < needed:
            raise ConfigError(
                f"agent.min_history is {self.min_history:,}; it must be at least agent.n_step · agent.environments, "
                f"{needed:,}, so that there is a return to learn from."
            )
