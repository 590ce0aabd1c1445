"""The choice agent=dqn."""

from collections.abc import Callable, Mapping

import torch

from plasticity_lab.agents.acting.cost import steps_of_bodies
from plasticity_lab.agents.actions import not_discrete
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.value.cost import chunk_steps, cost_of
from plasticity_lab.agents.value.learner import ValueLearner
from plasticity_lab.agents.value.measures import VALUE_MEASURES
from plasticity_lab.agents.value.schedule import Timetable
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import SegmentedTasks
from plasticity_lab.component import check
from plasticity_lab.diagnostics.view import OBSERVED
from plasticity_lab.environments.body import Body
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.intervention import TASK_BEGINS
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes


class DQN(Agent[BodyBenchmark, Bodies, ValueLearner]):
    """Deep Q-learning with a target network and uniform replay.  Source: Mnih et al. 2015, in the form of Dopamine.

    All steps are agent steps, those of all environments of a run together.

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
    """

    learns = BodyBenchmark
    provides = frozenset({TASK_BEGINS, OBSERVED})
    capped = frozenset({"capacity", "min_history", "target_period", "epsilon_decay", "epoch_steps"})
    measures = VALUE_MEASURES

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
        held = capacity // environments * environments
        if min_history >= held:
            raise ConfigError(
                f"agent.min_history is {min_history:,}; it must be below agent.capacity, the {held:,} steps that the "
                "memory holds, or nothing would ever be learned."
            )
        if min_history < n_step * environments:
            raise ConfigError(
                f"agent.min_history is {min_history:,}; it must be at least agent.n_step · agent.environments, "
                f"{n_step * environments:,}, so that there is a return to learn from."
            )

    @property
    def timetable(self) -> Timetable:
        """When an update and a copy of the target are due."""
        return Timetable(self.min_history, self.update_period, self.target_period)

    def objection(self, benchmark: BodyBenchmark) -> str | None:
        """It chooses among actions, and remembers what one body shows."""
        several = list(dict.fromkeys(benchmark.bodies))
        if len(several) > 1:
            return f"its memory is of one body, and there are {', '.join(several)}"
        return not_discrete(benchmark)

    def model(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Model:
        """From what the body shows to "q", the value of each action."""
        body = _only(resource)
        shapes = Shapes(body.observation, {"q": body.actions})
        return Model(parts.network, parts.activations, {body.name: shapes})

    def learner(
        self, parts: Parts[BodyBenchmark], resource: Bodies, device: torch.device, compiled: bool
    ) -> tuple[SegmentedTasks, ValueLearner]:
        """The benchmark's tasks, and what learns them."""
        model = self.model(parts, resource)
        tasks = self.tasks(parts, model)
        return tasks, ValueLearner(self, parts, model, _only(resource), tasks, device, compiled)

    def tasks(self, parts: Parts[BodyBenchmark], model: Model) -> SegmentedTasks:
        """The benchmark's, cut into epochs and chunks."""
        return SegmentedTasks(parts.benchmark, self.environments, self.epoch_steps, chunk_steps(self, model))

    def cost(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Cost:
        """What a run costs."""
        model = self.model(parts, resource)
        return cost_of(self, parts, model, resource, self.tasks(parts, model))

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """Every body, by name."""
        return steps_of_bodies()


def _only(resource: Bodies) -> Body:
    """The one body; `DQN.objection` has refused benchmarks of several."""
    (body,) = resource.by_name.values()
    return body
