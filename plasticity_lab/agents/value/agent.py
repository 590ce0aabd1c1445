"""The agents that learn the values of actions: dqn, rainbow_lite, rainbow, der."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

import numpy as np
import torch

from plasticity_lab.agents.acting.cost import cost_with_memory, steps_of_bodies, steps_of_chunk
from plasticity_lab.agents.acting.measures import measures_of, of_updates
from plasticity_lab.agents.acting.objections import different_kinds, not_discrete, nothing_to_learn_from
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.value.learner import ValueLearner
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.agents.value.targets.auto import targets_of_runs
from plasticity_lab.agents.value.targets.target import VALUES
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.benchmarks.bodies.stream import SegmentedTasks
from plasticity_lab.diagnostics.view import OBSERVED
from plasticity_lab.interventions.intervention import OUTPUTS, SECOND_BATCH, TASK_BEGINS
from plasticity_lab.networks.model import Model
from plasticity_lab.others import Others
from plasticity_lab.stacking.run_axis import aligned

VALUE_MEASURES = measures_of(
    of_updates("loss", "Loss"),
    of_updates("q", "Value of the actions taken", "reward"),
    of_updates("epsilon", "Random actions, ε"),
)
"""A row of epochs covers `epoch_steps` agent steps; it has no loss if nothing was learned, as in the warm-up."""
BYTES_A_PARAMETER = 44
"""A parameter, its gradient, two moments and one copy for the intervention, in float32; a copy of all but the gradient;
the target and its copy."""
BOARD_OPERATIONS = 10**9
"""Convolving updates with fewer operations are priced as boards of 10 × 10 squares, others as frames of 84 × 84 pixels:
small updates have a cost that does not depend on the pack's width."""
FEWEST_LAYERS, OF_A_LAYER = 4, 0.11
"""The layers of small_nature, and the additional time to compile a graph with one layer more."""
WITH_A_DISTRIBUTION, WITH_NOISE = (0.64, 0.13), (1.32, 0.41)
"""The same with a distribution of returns, and with noisy layers, without our kernels and with them.

By them, without the compiler's imports, both graphs of dqn and rainbow_lite take 2.3 and 2.6 CPU seconds on catch, and
both of dqn, der and rainbow 3.2, 4.6 and 4.5 on games, which have more layers. Without them 4.7, 7.7, 6.2, 14.9, 17.1.
"""
BYTES_A_PRIORITY = 16
"""A step's priority, twice while a checkpoint is written, and the sums."""


class ValueAgent(ValueSettings, Agent[BodyBenchmark, Bodies, ValueLearner]):
    """Q-learning with a target network and a replay memory, and any of Rainbow's additions.

    Source: Mnih et al. 2015 and Hessel et al. 2018, in the form of Dopamine (Castro et al. 2018);
    docs/pages/reference/agents/value.md has the source of each detail.
    """

    learns = BodyBenchmark
    provides = frozenset({OUTPUTS, SECOND_BATCH, TASK_BEGINS, OBSERVED, VALUES})
    measures = VALUE_MEASURES
    objects_to = frozenset({"benchmark"})

    def objection(self, others: Others) -> str | None:
        """It chooses among actions, has one network and one memory for all bodies, and adds later values to returns."""
        benchmark = others.one("benchmark", BodyBenchmark)
        bodies = list(benchmark.outline().by_name.values())
        if reason := not_discrete(benchmark) or different_kinds(bodies):
            return reason
        if self.life_loss_is_terminal and not any(body.has_lives for body in bodies):
            return (
                "agent.life_loss_is_terminal=true leaves out the value beyond a lost life, and no body here has lives; "
                "Atari games have"
            )
        shortest = min(bodies, key=lambda body: body.max_steps)
        if self.n_step >= shortest.max_steps:
            return (
                f"agent.n_step is {self.n_step}, and an episode of {shortest.name} has {shortest.max_steps} steps at "
                "most, so that no value would ever be added to a return; choose a smaller agent.n_step"
            )
        return nothing_to_learn_from(self, benchmark)

    def model(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Model:
        """From the bodies' observations to the numbers of their actions (`ActionValues.shapes`)."""
        body = next(iter(resource.by_name.values()))
        shapes = self.action_values(body.actions).shapes(body.observation, self.layer_noise)
        return Model(parts.network, parts.activations, {body.name: shapes})

    def learner(
        self, parts: Parts[BodyBenchmark], resource: Bodies, device: torch.device, compiled: bool
    ) -> tuple[SegmentedTasks, ValueLearner]:
        """The benchmark's tasks and their learner."""
        model = self.model(parts, resource)
        tasks = self.tasks(parts, model)
        return tasks, ValueLearner(self, parts, model, resource, tasks, device, compiled)

    def tasks(self, parts: Parts[BodyBenchmark], model: Model) -> SegmentedTasks:
        """The benchmark's tasks, cut into epochs and chunks."""
        most = steps_of_chunk(self.environments, self.timetable, self._operations(parts, model))
        return SegmentedTasks(parts.benchmark, self.environments, self.epoch_steps, most)

    def cost(self, parts: Parts[BodyBenchmark], resource: Bodies) -> Cost:
        """The cost of one run."""
        model, body = self.model(parts, resource), next(iter(resource.by_name.values()))
        operations, rows, numbers = self._operations(parts, model), aligned(self.batch), prod(body.observation)
        between = sum(prod(unit.produced) for unit in model.units)
        batch = 2 * rows * numbers * np.dtype(body.dtype).itemsize + 4 * rows * (2 * numbers + 3 * between)
        if parts.second:
            batch += rows * numbers * np.dtype(body.dtype).itemsize + 4 * rows * (numbers + 3 * between)
        memory = (
            Share(
                (BYTES_A_PARAMETER + 8 * parts.copies) * model.size + 8 * parts.numbers,
                f"the {model.size:,} parameters of its network and its target's",
                "a smaller network.width",
            ),
            Share(batch, "a batch", "a smaller agent.batch"),
        )
        priorities = BYTES_A_PRIORITY if self.replay == "prioritised" else 0
        tasks = self.tasks(parts, model)
        cost = cost_with_memory(self, parts, [model], resource, tasks, operations, memory, priorities)
        distribution, noise = bool(self.atoms), self.layer_noise is not None
        layers = len(model.design.layers) - FEWEST_LAYERS
        size, by_kernels = (
            1 + OF_A_LAYER * layers + of_distribution * distribution + of_noise * noise
            for of_distribution, of_noise in zip(WITH_A_DISTRIBUTION, WITH_NOISE, strict=True)
        )
        cost = replace(cost, graph_size=size, graph_size_by_kernels=by_kernels)
        if not any(unit.kind == "channel" for unit in model.units):
            return cost
        if operations < BOARD_OPERATIONS:
            return replace(cost, speed="boards")
        return replace(cost, speed="convolving", priced_as="pixels")

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """Every body, by name."""
        return steps_of_bodies()

    def _operations(self, parts: Parts[BodyBenchmark], model: Model) -> int:
        """Operations of one update in matrix products and convolutions: three passes for the loss and its gradient, and
        the passes of the target.
        """
        passes = 3 + len(targets_of_runs(parts, self)[0].passes)
        return 2 * passes * model.work(model.only_body) * aligned(self.batch)
