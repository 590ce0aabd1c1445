"""The choice agent=regression: the squared error of one number, on benchmarks with numbers as labels.

Legend: K runs, S steps of a chunk, B examples of a batch, M held-out inputs.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.compiled import Call
from plasticity_lab.agents.cost import Yardstick
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.agent import Supervised
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.agents.supervised.score import AT_ONCE, indices
from plasticity_lab.agents.supervised.step import LEARNING, Tensors, between_tasks
from plasticity_lab.agents.update import Loss, LossOutput
from plasticity_lab.benchmarks.labelled.slowly_changing_regression import SlowlyChangingRegression
from plasticity_lab.benchmarks.labelled.stream import Chunk, Stream, Task
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.interventions.intervention import COMING, TASK_BEGINS
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.others import Others
from plasticity_lab.records.measures import Column, Measure, Measures, mean
from plasticity_lab.records.rows import Evaluation, Rows
from plasticity_lab.records.stage_returns import Table
from plasticity_lab.stacking.batch_normed import Learning

VALUE = "value"
"""The output with the predicted number, (K, B, 1)."""


def error(name: str, title: str, short: str = "") -> Measure:
    """A mean squared error."""
    return Measure(name, title, better="less", short=short)


def summarise(table: Table) -> dict[str, float | None]:
    """The summary of a run: means of the squared errors of tasks, weighted by their steps; None without a task.

    The first and the last tenth are means over at least one task.
    """
    are_tasks = table["kind"].to_numpy() == "task"
    steps, online, final = (table[name].to_numpy()[are_tasks] for name in ("step", "squared_error", "final_error"))
    weights, tenth = np.diff(steps, prepend=0), max(1, len(online) // 10)
    return {
        "mean_squared_error": mean(online, weights.tolist()),
        "squared_error_first_tenth": mean(online[:tenth]),
        "squared_error_last_tenth": mean(online[-tenth:]),
        "final_error": mean(final),
    }


REGRESSION = Measures(
    columns=(
        Column(error("squared_error", "Squared error"), "squared_error", {"epoch": "mean", "task": "mean"}),
        Column(error("final_error", "Squared error on a task's inputs after it"), "final_error", {"task": "value"}),
    ),
    summaries=(
        error("mean_squared_error", "Mean squared error of all steps", short="MSE"),
        error("squared_error_first_tenth", "Mean squared error, first tenth of the tasks"),
        error("squared_error_last_tenth", "Mean squared error, last tenth of the tasks"),
        error("final_error", "Squared error on a task's inputs after it, mean over tasks"),
    ),
    headline="mean_squared_error",
    must_stay_finite="squared_error",
    summarise=summarise,
    marks={"hard": bool},
)


def squared_error_of(model: Model) -> Loss:
    """The mean squared error of a batch, without a factor ½. It measures "loss" (K, B); no example is "right".

    The batch is as in `cross_entropy_of`, with numbers as labels.
    """

    def squared_error(parameters: Tensors, settings: Mapping[str, Tensors], batch: Tensors) -> LossOutput:
        learning = Learning(batch[LEARNING]) if LEARNING in batch else None
        outputs, hidden = model.forward(
            parameters, settings["activation"], batch["x"], batch.get("drawn"), noise=batch.get("noise"),
            learning=learning,
        )  # fmt: skip
        value_KB = outputs[VALUE][..., 0]
        loss_KB = between_tasks(batch, lambda labels: (value_KB - labels.float()).square())
        measured = {"loss": loss_KB, "right": torch.zeros_like(batch["labels"], dtype=torch.bool)}
        statistics = learning.after if learning else {}
        total_KB = loss_KB * batch["weights"]
        return LossOutput(total_KB, measured, hidden, batch["weights"], outputs, loss_KB, statistics)

    return squared_error


class RegressionLearner(SupervisedLearner):
    """The supervised learner with the squared error."""

    loss_of = staticmethod(squared_error_of)

    def advance(self, chunk: Chunk) -> Rows:
        """Takes the chunk's steps; measures "squared_error" (S, K)."""
        return Rows({"squared_error": super().advance(chunk).updates["loss"]})

    def _evaluation(self, task: Task) -> Sequence[Call]:
        return ()

    def _scored(self, task: Task, parameters: Mapping[str, Tensor], factor: Tensor | None = None) -> Evaluation:
        """The "final_error" (K,): the mean squared error on the task's held-out inputs, in evaluation mode."""
        images, labels_KM = self.held_out.laid_out(task.lessons)
        model, shape, total = self.network.model, self.network.settings["activation"], labels_KM.shape[1]
        found = np.zeros((self.runs, 0))
        for at, _ in indices(total, self.device):
            x = self.pixels.scaled(images.index_select(1, at)).expand(self.runs, -1, -1)
            errors_KE = model.forward(parameters, shape, x, None)[0][VALUE][..., 0] - labels_KM[:, at]
            found = np.concatenate([found, errors_KE.double().square().cpu().numpy()], axis=1)
        assert found.shape[1] % AT_ONCE == 0
        return {"final_error": found[:, :total].mean(axis=1)}


class Regression(Supervised):
    """The squared error on arriving batches."""

    measures = REGRESSION
    learns = SlowlyChangingRegression
    provides = frozenset({COMING, TASK_BEGINS})

    objects_to = frozenset()

    def objection(self, others: Others) -> str | None:
        """None: it learns benchmarks with numbers alone (`learns`)."""
        return None

    def model(self, parts: Parts, resource: ImageSet) -> Model:
        """The model from an input to VALUE."""
        image = tuple(resource.train_images.shape[1:])
        shapes = Shapes(image, {VALUE: parts.benchmark.outputs(resource)}, batches=parts.benchmark.batch_size > 1)
        return Model(parts.network, parts.activations, {"image": shapes})

    def learner(
        self, parts: Parts, resource: ImageSet, device: torch.device, compiled: bool
    ) -> tuple[Stream, RegressionLearner]:
        """The benchmark's tasks and their learner."""
        stream = Stream(parts.benchmark, resource, parts.stream_seeds)
        return stream, RegressionLearner(parts, self.model(parts, resource), resource, device, compiled, self.max_norm)

    @classmethod
    def yardsticks(cls) -> list[Yardstick]:
        """None: `cost` names a yardstick of the supervised agent."""
        return []
