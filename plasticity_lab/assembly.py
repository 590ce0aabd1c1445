"""From resolved runs to a stream of tasks and an agent that learns them: where the rooms meet."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from plasticity_lab.activations.activation import Activation
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.supervised import SupervisedAgent
from plasticity_lab.benchmarks.stream import Stream
from plasticity_lab.component import Component, build
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.networks.model import Model

Run = Mapping[str, Any]
"""A resolved run: `science` (group → settings with the choice's name) and `targets` (group → class)."""


def components(run: Run) -> dict[str, Component]:
    """The components of one run, group → instance.  Raises ConfigError."""
    return {group: component(run, group) for group in run["targets"]}


def component(run: Run, group: str) -> Component:
    """One component of a run.  Raises ConfigError."""
    settings = dict(run["science"][group])
    return build(group, settings.pop("name"), run["targets"][group], settings)


def model_of(runs: Sequence[Run], image_set: ImageSet) -> Model:
    """The stacked model of runs that agree in structure."""
    activations: list[Activation] = [component(run, "activation") for run in runs]
    image = tuple(image_set.train_images.shape[1:])
    return Model(component(runs[0], "network"), activations, image, image_set.classes)


def assembled(runs: Sequence[Run], image_set: ImageSet, device: torch.device, compiled: bool) -> tuple[Stream, Agent]:
    """The stream and the agent of a pack. The runs must agree in everything but seeds and `run_axis_settings`."""
    benchmark = component(runs[0], "benchmark")
    stream = Stream(benchmark, image_set, [seed_of(run, "stream_seed") for run in runs])
    agent = SupervisedAgent(
        model_of(runs, image_set),
        [component(run, "optimizer") for run in runs],
        [component(run, "intervention") for run in runs],
        benchmark,
        image_set,
        [seed_of(run, "init_seed") for run in runs],
        device,
        compiled,
    )
    return stream, agent


def seed_of(run: Run, kind: str) -> int:
    """A run's stream_seed (tasks, order) or init_seed (weights, noise); both follow its seed unless they are set."""
    science = run["science"]
    own = science.get(kind)
    return science["seed"] if own is None else own
