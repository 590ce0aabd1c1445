"""From resolved runs to a stream of tasks and an agent that learns them: where the rooms meet."""

from collections.abc import Sequence

import torch

from plasticity_lab.activations.activation import Activation
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.benchmarks.labelled.stream import Stream
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.networks.model import Model
from plasticity_lab.run import Run


def model_of(runs: Sequence[Run], image_set: ImageSet) -> Model:
    """The stacked model of runs that agree in structure."""
    activations: list[Activation] = [run.component("activation") for run in runs]
    image = tuple(image_set.train_images.shape[1:])
    return Model(runs[0].component("network"), activations, image, image_set.classes)


def assembled(runs: Sequence[Run], image_set: ImageSet, device: torch.device, compiled: bool) -> tuple[Stream, Agent]:
    """The stream and the agent of a pack. The runs must agree in everything but seeds and `run_axis_settings`."""
    benchmark = runs[0].component("benchmark")
    stream = Stream(benchmark, image_set, [run.seed_of("stream_seed") for run in runs])
    agent = SupervisedLearner(
        model_of(runs, image_set),
        [run.component("optimizer") for run in runs],
        [run.component("intervention") for run in runs],
        benchmark,
        image_set,
        [run.seed_of("init_seed") for run in runs],
        device,
        compiled,
    )
    return stream, agent
