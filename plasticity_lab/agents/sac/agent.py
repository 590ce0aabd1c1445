"""The choice agent=sac."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy

import torch

from plasticity_lab.agents.acting.cost import steps_of_bodies
from plasticity_lab.agents.actions import not_continuous
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac.cost import chunk_steps, cost_of
from plasticity_lab.agents.sac.learner import SACLearner
from plasticity_lab.agents.sac.measures import SAC_MEASURES
from plasticity_lab.agents.sac.policy import actor_shapes, critic_shapes
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.agents.sac.step import ACTOR, CRITICS, NETWORKS
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import SegmentedTasks
from plasticity_lab.diagnostics.view import OBSERVED
from plasticity_lab.environments.body import Body
from plasticity_lab.interventions.intervention import TASK_BEGINS
from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.optimizer import Optimizer


class SAC(SACSettings, Agent[BodyBenchmark, Bodies, SACLearner]):
    """Soft actor-critic with two critics, targets and a temperature that is learned.

    Source: Haarnoja et al. 2018, in the form of CleanRL's sac_continuous_action.py; docs/agents/sac.md has each
    detail's own. Actor and critics have the run's network, activation and intervention, each its own numbers of them.
    """

    learns = BodyBenchmark
    provides = frozenset({TASK_BEGINS, OBSERVED})
    measures = SAC_MEASURES
    networks = NETWORKS

    def objection(self, benchmark: BodyBenchmark) -> str | None:
        """Its actions are numbers, and it has one network and one memory for all bodies."""
        bodies = list(benchmark.outline().by_name.values())
        if reason := not_continuous(benchmark):
            return reason
        if any(kind_of(body) != kind_of(bodies[0]) for body in bodies):
            return (
                "its networks and its memory are of one kind of observations and actions, and those of "
                f"{', '.join(body.name for body in bodies)} differ"
            )
        return None

    def model(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Model:
        """The first critic: what diagnostics look at."""
        return self.models(parts, resource)[CRITICS[0]]

    def models(self, parts: Parts[BodyBenchmark], resource: Bodies) -> dict[str, Model]:
        """The stacked networks, by the names of NETWORKS."""
        body = next(iter(resource.by_name.values()))
        network, activations = parts.network, parts.activations
        critics = {name: Model(network, activations, {body.name: critic_shapes(body)}, name) for name in CRITICS}
        return {ACTOR: Model(network, activations, {body.name: actor_shapes(body)}, ACTOR), **critics}

    def learner(
        self, parts: Parts[BodyBenchmark], resource: Bodies, device: torch.device, compiled: bool
    ) -> tuple[SegmentedTasks, SACLearner]:
        """The benchmark's tasks, and what learns them."""
        models = self.models(parts, resource)
        tasks, optimizers = self.tasks(parts, models), self.actor_optimizers(parts.optimizers)
        return tasks, SACLearner(self, parts, models, optimizers, resource, tasks, device, compiled)

    def actor_optimizers(self, optimizers: Sequence[Optimizer]) -> Sequence[Optimizer]:
        """The runs' own, at the actor's learning rate."""
        if self.actor_lr is None:
            return optimizers
        own = [copy(optimizer) for optimizer in optimizers]
        for optimizer in own:
            optimizer.lr = self.actor_lr
        return own

    def tasks(self, parts: Parts[BodyBenchmark], models: Mapping[str, Model]) -> SegmentedTasks:
        """The benchmark's, cut into epochs and chunks."""
        most = chunk_steps(self, models[ACTOR], models[CRITICS[0]])
        return SegmentedTasks(parts.benchmark, self.environments, self.epoch_steps, most)

    def cost(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Cost:
        """What a run costs."""
        models = self.models(parts, resource)
        return cost_of(self, parts, models[ACTOR], models[CRITICS[0]], resource, self.tasks(parts, models))

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """Every body, by name."""
        return steps_of_bodies()


def kind_of(body: Body) -> tuple[object, ...]:
    """What networks and a memory must know of a body."""
    return body.observation, body.dtype, body.stack, body.actions, body.low, body.high
