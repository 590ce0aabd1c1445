"""The agents that learn the values of actions: dqn, rainbow_lite, rainbow, der."""

from collections.abc import Callable, Mapping

import torch

from plasticity_lab.agents.acting.always_learns import nothing_to_learn_from
from plasticity_lab.agents.acting.cost import steps_of_bodies
from plasticity_lab.agents.acting.measures import measures_of, of_updates
from plasticity_lab.agents.actions import not_discrete
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.value.cost import chunk_steps, cost_of
from plasticity_lab.agents.value.learner import ValueLearner
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import SegmentedTasks
from plasticity_lab.diagnostics.view import OBSERVED
from plasticity_lab.environments.body import Body
from plasticity_lab.interventions.intervention import TASK_BEGINS
from plasticity_lab.networks.model import Model

# What a value agent measures: loss, values and exploration by update, episodes, and a run's returns in a few numbers.
#
# A row of epochs is of `epoch_steps` agent steps; where nothing was learned in them, as in the warm-up, it has no loss.

VALUE_MEASURES = measures_of(
    of_updates("loss", "Loss"),
    of_updates("q", "Value of the actions taken", "reward"),
    of_updates("epsilon", "Random actions, ε"),
)


class ValueAgent(ValueSettings, Agent[BodyBenchmark, Bodies, ValueLearner]):
    """Q-learning with a target network and a replay memory, and any of what Rainbow adds to it.

    Source: Mnih et al. 2015 and Hessel et al. 2018, in the form of Dopamine (Castro et al. 2018); docs/agents/value.md
    has each detail's own.
    """

    learns = BodyBenchmark
    provides = frozenset({TASK_BEGINS, OBSERVED})
    measures = VALUE_MEASURES

    def objection(self, benchmark: BodyBenchmark) -> str | None:
        """It chooses among actions, has one network and one memory for all bodies, and adds values that follow."""
        bodies = list(benchmark.outline().by_name.values())
        if reason := not_discrete(benchmark):
            return reason
        if any(kind_of(body) != kind_of(bodies[0]) for body in bodies):
            return (
                "its network and its memory are of one kind of observations and actions, and those of "
                f"{', '.join(body.name for body in bodies)} differ"
            )
        shortest = min(bodies, key=lambda body: body.max_steps)
        if self.n_step >= shortest.max_steps:
            return (
                f"agent.n_step is {self.n_step}, and an episode of {shortest.name} has {shortest.max_steps} steps at "
                "most, so that no value would ever be added to a return; choose a smaller agent.n_step"
            )
        return nothing_to_learn_from(self, benchmark)

    def model(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Model:
        """From what the bodies show to the numbers of their actions (`ActionValues.shapes`)."""
        body = one_of(resource)
        shapes = self.action_values(body.actions).shapes(body.observation, self.layer_noise)
        return Model(parts.network, parts.activations, {body.name: shapes})

    def learner(
        self, parts: Parts[BodyBenchmark], resource: Bodies, device: torch.device, compiled: bool
    ) -> tuple[SegmentedTasks, ValueLearner]:
        """The benchmark's tasks, and what learns them."""
        model = self.model(parts, resource)
        tasks = self.tasks(parts, model)
        return tasks, ValueLearner(self, parts, model, resource, tasks, device, compiled)

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


def kind_of(body: Body) -> tuple[object, ...]:
    """What a network and a memory must know of a body."""
    return body.observation, body.dtype, body.stack, body.actions, body.discrete


def one_of(resource: Bodies) -> Body:
    """Any of the bodies, which are all of one kind; `ValueAgent.objection` has refused others."""
    return next(iter(resource.by_name.values()))
