"""The settings that all value agents have: one class, of which every agent of conf/agent is a file of values."""

from collections.abc import Mapping
from typing import Any

from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.agents.value.action_values import ActionValues
from plasticity_lab.component import Chosen, Component, check
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.network import Noise
from plasticity_lab.stacking.noisy import SCOPES

REPLAYS = ("uniform", "prioritised")
OF_ATOMS = ("support_low", "support_high")
OF_NOISE = ("noise", "noise_scope")


class ValueSettings(Component):
    """All steps are agent steps, those of all environments of a run together.

    environments: of each run.
    n_step: steps of a return before the target network's value is added.
    gamma: discount of a step.
    batch: steps that an update learns from.
    capacity: steps that the memory holds.
    min_history: steps that it must hold before anything is learned; the warm-up, repeated where a memory was lost.
    update_period: steps between updates.
    target_period: steps between copies of the network into its target.
    epsilon_start, epsilon_final: how likely an action is random, at first and in the end.
    epsilon_decay: steps within which it falls from the one to the other, after min_history steps.
    epsilon_eval: how likely in the benchmark's test.
    clip_rewards: whether rewards are learned from as −1 … 1; returns are reported as they are.
    life_loss_is_terminal: whether no value is added beyond a lost life, though the episode goes on.
    epoch_steps: steps that a row of epochs in the metrics is a mean over; it changes no other number.
    double: whether the network itself says which action is the best one that follows, not its target.
    dueling: whether the network answers the state's value and the actions' advantages.
    atoms: of each action's distribution of returns; 0: each action has a value, and the loss is the squared error.
    support_low, support_high: the returns of the first atom and of the last.
    replay: uniform, or prioritised (see `replay/prioritised.py`).
    noisy: whether the layers behind the encoder are noisy, while acting and learning; not in tests.
    noise: every deviation of a noisy layer is noise / √inputs at first.
    noise_scope: sample (separate noise for each example of a batch and each environment), or batch (all share one).
        In targets all next states of a run's batch share one in either case.
    empty_each_task: whether a new task finds the memory empty.
    """

    neutral = {
        "double": False,
        "dueling": False,
        "atoms": 0,
        "support_low": -10.0,
        "support_high": 10.0,
        "replay": "uniform",
        "noisy": False,
        "noise": 0.1,
        "noise_scope": "sample",
        "empty_each_task": False,
    }
    read_if = {
        "support_low": ("atoms", bool),
        "support_high": ("atoms", bool),
        "noise": ("noisy", bool),
        "noise_scope": ("noisy", bool),
    }
    capped = frozenset({"capacity", "min_history", "target_period", "epsilon_decay", "epoch_steps"})
    floats_on_run_axis = True

    def __init__(
        self,
        environments: int = 1,
        n_step: int = 1,
        gamma: float = 0.99,
        batch: int = 32,
        capacity: int = 1_000_000,
        min_history: int = 20_000,
        update_period: int = 4,
        target_period: int = 8_000,
        epsilon_start: float = 1.0,
        epsilon_final: float = 0.01,
        epsilon_decay: int = 250_000,
        epsilon_eval: float = 0.001,
        clip_rewards: bool = True,
        life_loss_is_terminal: bool = False,
        epoch_steps: int = 1_000,
        double: bool = False,
        dueling: bool = False,
        atoms: int = 0,
        support_low: float = -10.0,
        support_high: float = 10.0,
        replay: str = "uniform",
        noisy: bool = False,
        noise: float = 0.1,
        noise_scope: str = "sample",
        empty_each_task: bool = False,
    ) -> None:
        self.environments = check("agent.environments", environments, at_least=1)
        self.n_step = check("agent.n_step", n_step, at_least=1)
        self.gamma = check("agent.gamma", gamma, at_least=0, at_most=1)
        self.batch = check("agent.batch", batch, at_least=1)
        self.capacity = check("agent.capacity", capacity, at_least=1)
        self.min_history = check("agent.min_history", min_history, at_least=1)
        self.update_period = check("agent.update_period", update_period, at_least=1)
        self.target_period = check("agent.target_period", target_period, at_least=1)
        self.epsilon_start = check("agent.epsilon_start", epsilon_start, at_least=0, at_most=1)
        self.epsilon_final = check("agent.epsilon_final", epsilon_final, at_least=0, at_most=1)
        self.epsilon_decay = check("agent.epsilon_decay", epsilon_decay, at_least=0)
        self.epsilon_eval = check("agent.epsilon_eval", epsilon_eval, at_least=0, at_most=1)
        self.clip_rewards, self.life_loss_is_terminal = clip_rewards, life_loss_is_terminal
        self.epoch_steps = check("agent.epoch_steps", epoch_steps, at_least=1)
        self.double, self.dueling = double, dueling
        self.atoms = check("agent.atoms", atoms, at_least=0)
        self.support_low, self.support_high = support_low, support_high
        self.replay = check("agent.replay", replay, one_of=REPLAYS)
        self.noisy, self.noise = noisy, check("agent.noise", noise, at_least=0)
        self.noise_scope = check("agent.noise_scope", noise_scope, one_of=SCOPES)
        self.empty_each_task = empty_each_task
        self._check_distribution()
        self._check_memory()

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Without what has no meaning beside the others: the ends of no distribution, and noise that is not there."""
        without = (*(() if settings.get("atoms") else OF_ATOMS), *(() if settings.get("noisy") else OF_NOISE))
        return super().canonical({key: value for key, value in settings.items() if key not in without})

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 if each example has separate noise: in version 1 so had the next states of a target."""
        of_examples = settings.get("noisy") and settings.get("noise_scope", "sample") == "sample"
        return 2 if of_examples else super().version_beside(settings, others)

    @property
    def timetable(self) -> Timetable:
        """When an update and a copy of the target are due."""
        return Timetable(self.min_history, self.update_period, self.target_period)

    @property
    def layer_noise(self) -> Noise | None:
        """Of the network's layers behind its encoder."""
        return Noise(self.noise, self.noise_scope) if self.noisy else None

    def action_values(self, actions: int) -> ActionValues:
        """How the network's outputs are read, of a body with that many actions."""
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
