"""The choices agent=experience_replay and agent=no_replay."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from statistics import fmean

import torch

from plasticity_lab.agents.cost import Cost, Share, Yardstick
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.replay.learner import GroupsLearner
from plasticity_lab.agents.supervised.agent import Supervised
from plasticity_lab.agents.supervised.cost import cost_of, flops_of
from plasticity_lab.benchmarks.labelled.grouped_classes import GroupedClasses
from plasticity_lab.benchmarks.labelled.split_classes import SplitClasses
from plasticity_lab.benchmarks.labelled.stream import Stream
from plasticity_lab.component import check
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.records.classifier import CLASSIFIER, summarise
from plasticity_lab.records.measures import Column, Measures, percent
from plasticity_lab.records.stage_returns import Table

# The measures for groups of classes: a classifier's measures, and accuracies among a group's classes.
#
# A run has four accuracies: online (`aoa`), on the training images at the end of a task (`train_accuracy`), on its
# test images among all classes (`final_accuracy`), and among the task's classes (`masked_accuracy`).


def summarise_groups(table: Table) -> dict[str, float | None]:
    """A classifier's summary, with `train_accuracy` and `masked_accuracy`: the mean over tasks, and the last task's
    value.
    """
    are_tasks = [kind == "task" for kind in table["kind"].to_pylist()]
    added = {}
    for name in ("train_accuracy", "masked_accuracy"):
        values = [value for value, is_task in zip(table[name].to_pylist(), are_tasks, strict=True) if is_task]
        added[name] = fmean(values) if values else None
        added[f"{name}_last_task"] = values[-1] if values else None
    return summarise(table) | added


GROUPS = Measures(
    columns=(
        *CLASSIFIER.columns,
        Column(percent("train_accuracy", "Training accuracy of the last epoch"), "accuracy", {"task": "last"}),
        Column(
            percent("masked_accuracy", "Final accuracy among the task's classes"), "masked_accuracy", {"task": "value"}
        ),
    ),
    summaries=(
        *CLASSIFIER.summaries,
        percent("train_accuracy", "Training accuracy of a task's last epoch, mean over tasks", short="train accuracy"),
        percent("train_accuracy_last_task", "Training accuracy of the last task's last epoch"),
        percent("masked_accuracy", "Final accuracy among the task's classes, mean over tasks", short="masked accuracy"),
        percent("masked_accuracy_last_task", "Final accuracy of the last task among its classes"),
    ),
    headline="final_accuracy",
    must_stay_finite=CLASSIFIER.must_stay_finite,
    summarise=summarise_groups,
    marks=CLASSIFIER.marks,
    flags=CLASSIFIER.flags,
)


class NoReplay(Supervised):
    """Cross-entropy on arriving images of groups of classes, without images of earlier tasks.

    On `JointClasses`, the i.i.d. counterpart, this is plain joint training.
    """

    measures = GROUPS
    learns = GroupedClasses
    memory = per_task = replayed = 0

    def learner(
        self, parts: Parts, resource: ImageSet, device: torch.device, compiled: bool
    ) -> tuple[Stream, GroupsLearner]:
        """The benchmark's tasks and their learner."""
        memory = self.memory, self.per_task, self.replayed
        learner = GroupsLearner(parts, self.model(parts, resource), resource, device, compiled, *memory, self.max_norm)
        return Stream(parts.benchmark, resource, parts.stream_seeds), learner

    def cost(self, parts: Parts, resource: ImageSet) -> Cost:
        """The cost of a supervised run, with the whole training set on the device, and with replayed images in each
        step.
        """
        model, benchmark = self.model(parts, resource), parts.benchmark
        cost = cost_of(parts, model, resource, self.max_norm is not None, score=GroupsLearner.evaluates_by)
        network, images = cost.memory
        idle = len(resource.train_labels) - benchmark.max_images  # images of the set that are not in the task
        whole = images.bytes + max(0, idle) * prod(resource.train_images.shape[1:])
        examples, work = benchmark.batch_size + self.replayed, model.work()
        return replace(
            cost,
            flops=flops_of(model, examples) + parts.operations(model.size, 2 * examples * work),
            memory=(network, Share(whole, "images", "a smaller network.width")),
        )

    @classmethod
    def yardsticks(cls) -> Sequence[Yardstick]:
        """None: `cost` names a yardstick of the supervised agent."""
        return ()


class ExperienceReplay(NoReplay):
    """Each step learns arriving images together with images drawn from a memory of earlier tasks: one mean over both.

    memory: maximum number of images in a run's memory.
    per_task: maximum number of remembered images of one task.
    replayed: number of images drawn for a step, without replacement.

    When a task has ended, images of it are drawn into the memory, up to its share. All tasks have equal shares; with
    more tasks the shares shrink, and images of earlier tasks are removed. The draws follow the run's init_seed.

    Source: Appendix B.5 (Split-CIFAR-100: a "random-sampling buffer" of 10,000, "capped at 500 examples per task");
        Chaudhry et al. 2019 for the joint step.
    """

    learns = SplitClasses

    def __init__(
        self, memory: int = 10_000, per_task: int = 500, replayed: int = 32, max_norm: float | None = None
    ) -> None:
        super().__init__(max_norm)
        self.memory = check("agent.memory", memory, at_least=1)
        self.per_task = check("agent.per_task", per_task, at_least=1)
        self.replayed = check("agent.replayed", replayed, at_least=1)
