"""The choice agent=supervised."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost, Yardstick
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.cost import cost_of
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.agents.supervised.step import model_of
from plasticity_lab.agents.supervised.workload import YARDSTICKS
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.benchmarks.labelled.stream import Stream
from plasticity_lab.component import check
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.diagnostics.view import HELD_OUT, OBSERVED
from plasticity_lab.interventions.intervention import COMING, EXAMPLES, OUTPUTS, SECOND_BATCH, TASK_BEGINS
from plasticity_lab.networks.model import Model
from plasticity_lab.others import Others
from plasticity_lab.perturbations.perturbation import EPOCHS
from plasticity_lab.records.classifier import CLASSIFIER


class Supervised(Agent[LabelledBenchmark, ImageSet, SupervisedLearner]):
    """Cross-entropy on arriving batches. `SupervisedLearner` does the work.

    max_norm: the largest norm of a run's gradients, which are scaled down to it (Pascanu et al. 2013); null: no limit.
    """

    neutral: ClassVar[Mapping[str, Any]] = {"max_norm": None}
    max_norm: float | None = None

    measures = CLASSIFIER
    learns = LabelledBenchmark
    provides = frozenset({COMING, EXAMPLES, OUTPUTS, SECOND_BATCH, TASK_BEGINS, OBSERVED, HELD_OUT, EPOCHS})

    objects_to = frozenset({"benchmark"})

    def __init__(self, max_norm: float | None = None) -> None:
        self.max_norm = None if max_norm is None else check("agent.max_norm", max_norm, above=0)

    def objection(self, others: Others) -> str | None:
        """Its labels are classes."""
        if not others.one("benchmark", LabelledBenchmark).predicts_numbers:
            return None
        return "the labels are numbers there, not classes; agent=regression predicts numbers"

    def model(self, parts: Parts[LabelledBenchmark], resource: ImageSet) -> Model:
        """The model from an image to "logits", a number for each class of the benchmark."""
        return model_of(parts, resource)

    def learner(
        self, parts: Parts[LabelledBenchmark], resource: ImageSet, device: torch.device, compiled: bool
    ) -> tuple[Stream, SupervisedLearner]:
        """The benchmark's tasks and a classifier."""
        stream = Stream(parts.benchmark, resource, parts.stream_seeds)
        return stream, SupervisedLearner(parts, self.model(parts, resource), resource, device, compiled, self.max_norm)

    def cost(self, parts: Parts[LabelledBenchmark], resource: ImageSet) -> Cost:
        """The cost of a run."""
        return cost_of(parts, self.model(parts, resource), resource, self.max_norm is not None)

    @classmethod
    def yardsticks(cls) -> Sequence[Yardstick]:
        """A network with matrix products, and one with convolutions."""
        return YARDSTICKS
