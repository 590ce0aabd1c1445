"""The choice agent=sac."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import prod

import torch

from plasticity_lab.agents.acting.cost import cost_with_memory, steps_of_bodies, steps_of_chunk
from plasticity_lab.agents.acting.measures import FRICTION, measures_of, of_updates
from plasticity_lab.agents.acting.memory import largest
from plasticity_lab.agents.acting.objections import different_kinds, not_continuous, nothing_to_learn_from
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.sac.apart import Apart
from plasticity_lab.agents.sac.bodies import with_own_parts
from plasticity_lab.agents.sac.learner import SACLearner
from plasticity_lab.agents.sac.learning import Learning
from plasticity_lab.agents.sac.policy import actor_shapes, critic_shapes, read, read_unbounded, shared_shapes
from plasticity_lab.agents.sac.settings import SACSettings
from plasticity_lab.agents.sac.shared import ONLY, Shared
from plasticity_lab.agents.sac.step import ACTOR, CRITICS, NETWORKS
from plasticity_lab.agents.sac.temperature import NAME
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import SegmentedTasks
from plasticity_lab.diagnostics.view import OBSERVED
from plasticity_lab.environments.body import Body
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.intervention import TASK_BEGINS
from plasticity_lab.interventions.reset_layers import ACTOR_AND_CRITIC
from plasticity_lab.kernels.operators import RANDOM_NUMBERS
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Network
from plasticity_lab.networks.pixel_actor_critic import PixelActorCritic
from plasticity_lab.others import Others
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import aligned

BYTES_A_PARAMETER = 44
"""A parameter, its gradient, two moments and one copy for the intervention, in float32; a copy of all but the gradient;
a critic's target and its copy."""
SAC_MEASURES = measures_of(
    of_updates("critic_loss", "Loss of the critics"),
    of_updates("q", "Value of the actions taken", "reward"),
    of_updates("actor_loss", "Loss of the actor"),
    of_updates("entropy", "Entropy of the policy", "nats"),
    of_updates("temperature", "Weight of the entropy, α"),
    of_tasks=(FRICTION,),
)


class SAC(SACSettings, Agent[BodyBenchmark, Bodies, SACLearner]):
    """Soft actor-critic with two critics, targets and a temperature that is learned.

    Source: Haarnoja et al. 2018, in the form of CleanRL's sac_continuous_action.py; on images in the form of Dopamine's
        labs/cale. docs/pages/reference/agents/sac.md gives the source of each detail. On bodies, actor and critics are
        separate instances of the run's network, activation and intervention. On images they are one network,
        `PixelActorCritic`.
    """

    learns = BodyBenchmark
    provides = frozenset({ACTOR_AND_CRITIC, TASK_BEGINS, OBSERVED})
    measures = SAC_MEASURES
    objects_to = frozenset({"benchmark"})
    networks = NETWORKS
    of_no_network = frozenset({NAME})

    def objection(self, others: Others) -> str | None:
        """Its actions are numbers, and on images it has one network for all bodies."""
        benchmark = others.one("benchmark", BodyBenchmark)
        bodies = benchmark.outline().by_name
        shows_images = any(body.dtype == "uint8" for body in bodies.values())
        if reason := not_continuous(benchmark) or (different_kinds(list(bodies.values())) if shows_images else None):
            return reason
        return nothing_to_learn_from(self, benchmark, emptied=len(with_own_parts(bodies)) > 1)

    @classmethod
    def networks_beside(cls, network: type[Network]) -> Sequence[str]:
        """Actor and critics, or the single network for all of them."""
        return (ONLY,) if issubclass(network, PixelActorCritic) else NETWORKS

    def model(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Model:
        """The model that diagnostics measure: the first critic, or the shared network of actor and critics."""
        models = self.models(parts, resource)
        return models[CRITICS[0]] if CRITICS[0] in models else models[ONLY]

    def models(self, parts: Parts[BodyBenchmark], resource: Bodies) -> dict[str, Model]:
        """The stacked networks, with the names of NETWORKS or of ONLY.

        Raises ConfigError if network and body, or network and settings, do not fit together.
        """
        own, network, activations = with_own_parts(resource.by_name), parts.network, parts.activations
        body = next(iter(own.values()))
        self._check_fit(body, network)
        if isinstance(network, PixelActorCritic):
            return {ONLY: _shared_model(parts, body)}
        of_critics = {name: critic_shapes(each) for name, each in own.items()}
        critics = {name: Model(network, activations, of_critics, name) for name in CRITICS}
        of_actor = {name: actor_shapes(each) for name, each in own.items()}
        return {ACTOR: Model(network, activations, of_actor, ACTOR), **critics}

    def learner(
        self, parts: Parts[BodyBenchmark], resource: Bodies, device: torch.device, compiled: bool
    ) -> tuple[SegmentedTasks, SACLearner]:
        """The benchmark's tasks and their learner."""
        models, own = self.models(parts, resource), with_own_parts(resource.by_name)
        tasks, body = self.tasks(parts, models), next(iter(own.values()))
        updates, shared = self.timetable.most_updates(tasks.most), ONLY in models
        learning: Learning
        if shared:
            learning = Shared(self, parts, models, _shared_model(parts, body), body, updates, device, compiled)
        else:
            optimizers = self.actor_optimizers(parts.optimizers)
            learning = Apart(self, parts, models, optimizers, own, updates, device, compiled)
        reading = read_unbounded if shared else read
        return tasks, SACLearner(self, parts, learning, reading, resource, tasks, compiled)

    def actor_optimizers(self, optimizers: Sequence[Optimizer]) -> Sequence[Optimizer]:
        """The runs' optimizers, with the actor's learning rate."""
        if self.actor_lr is None:
            return optimizers
        own = [copy(optimizer) for optimizer in optimizers]
        for optimizer in own:
            optimizer.lr = self.actor_lr
        return own

    def tasks(self, parts: Parts[BodyBenchmark], models: Mapping[str, Model]) -> SegmentedTasks:
        """The benchmark's tasks, cut into epochs and chunks."""
        most = steps_of_chunk(self.environments, self.timetable, self._operations(models))
        return SegmentedTasks(parts.benchmark, self.environments, self.epoch_steps, most)

    def cost(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Cost:
        """The cost of one run."""
        models, bodies = self.models(parts, resource), list(with_own_parts(resource.by_name).values())
        body = largest(bodies)
        size, apart = sum(model.size for model in models.values()), ACTOR in models
        between = sum(prod(unit.produced) for model in models.values() for unit in model.units)
        batch = 4 * aligned(self.batch) * (4 * (prod(body.observation) + body.actions) + 3 * between)
        memory = (
            Share(
                (BYTES_A_PARAMETER + 8 * parts.copies) * size + 8 * len(models) * parts.numbers,
                f"the {size:,} parameters of its networks and the critics' targets",
                "a smaller network.width" if apart else "a smaller network.channels",
            ),
            Share(batch, "a batch", "a smaller agent.batch"),
        )
        tasks, operations = self.tasks(parts, models), self._operations(models)
        cost = cost_with_memory(
            self, parts, list(models.values()), resource, tasks, operations, memory, emptied=len(bodies) > 1
        )
        if not apart:
            return replace(cost, priced_as="pixels", kernels=False, kernel_parts=())
        called = list(dict.fromkeys([*cost.kernel_parts, RANDOM_NUMBERS]))
        return replace(cost, priced_as="sac", graphs=3 * len(bodies), kernel_parts=called)

    def _operations(self, models: Mapping[str, Model]) -> int:
        """Operations in matrix products of one update of all networks; a pass takes two for each multiplication.

        Separate networks: both critics forward and backward (3 passes each), their targets (1), the actor's next action
            (1); the actor forward and backward (3) through the critics (2 each); the actor again for the temperature
            (1).

        The largest environment counts.

        One network: forward and backward (3), the target's two, and one that evaluates the actor's drawn action, with a
            backward pass without the convolutions (a pass at most).
        """
        if ONLY in models:
            return 2 * 7 * models[ONLY].work(models[ONLY].only_body) * aligned(self.batch)
        actor, critic = models[ACTOR], models[CRITICS[0]]
        works = (6 * 2 * critic.work(body) + 5 * actor.work(body) for body in actor.bodies)
        return 2 * max(works) * aligned(self.batch)

    def _check_fit(self, body: Body, network: Network) -> None:
        """Raises ConfigError if network and body, or network and settings, do not fit together."""
        shared = isinstance(network, PixelActorCritic)
        if body.dtype == "uint8" and not shared:
            raise ConfigError(
                f"agent=sac learns from images, as the body {body.name} shows, by network=pixel_actor_critic alone, "
                "where actor and critics share their convolutions."
            )
        if shared and (self.policy_period != 1 or self.actor_lr is not None):
            raise ConfigError(
                "With network=pixel_actor_critic one optimizer updates actor and critics at once: agent.policy_period "
                f"must be 1, and agent.actor_lr null; they are {self.policy_period} and {self.actor_lr}."
            )

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """Every body, by name."""
        return steps_of_bodies()


def _shared_model(parts: Parts[BodyBenchmark], body: Body) -> Model:
    return Model(parts.network, parts.activations, {body.name: shared_shapes(body)})
