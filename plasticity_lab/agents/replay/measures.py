"""What is measured of groups of classes: a classifier's numbers, and accuracies among a group's own classes.

A run has four accuracies: online (`aoa`), on the training images at the end of a task (`train_accuracy`), on its
test images among all classes (`final_accuracy`), and among the task's own (`masked_accuracy`).
"""

from statistics import fmean

from plasticity_lab.records.classifier import CLASSIFIER, summarise
from plasticity_lab.records.measures import Column, Measure, Measures
from plasticity_lab.records.stage_returns import Table


def summarise_groups(table: Table) -> dict[str, float | None]:
    """A classifier's summary, and of `train_accuracy` and `masked_accuracy` the mean over tasks and the last task's."""
    are_tasks = [kind == "task" for kind in table["kind"].to_pylist()]
    added = {}
    for name in ("train_accuracy", "masked_accuracy"):
        values = [value for value, is_task in zip(table[name].to_pylist(), are_tasks, strict=True) if is_task]
        added[name] = fmean(values) if values else None
        added[f"{name}_last_task"] = values[-1] if values else None
    return summarise(table) | added


def _percent(name: str, title: str, short: str = "") -> Measure:
    return Measure(name, title, "%", 100.0, 2, "more", short)


GROUPS = Measures(
    columns=(
        *CLASSIFIER.columns,
        Column(_percent("train_accuracy", "Training accuracy of the last epoch"), "accuracy", {"task": "last"}),
        Column(
            _percent("masked_accuracy", "Final accuracy among the task's classes"), "masked_accuracy", {"task": "value"}
        ),
    ),
    summaries=(
        *CLASSIFIER.summaries,
        _percent("train_accuracy", "Training accuracy of a task's last epoch, mean over tasks", "train accuracy"),
        _percent("train_accuracy_last_task", "Training accuracy of the last task's last epoch"),
        _percent("masked_accuracy", "Final accuracy among the task's classes, mean over tasks", "masked accuracy"),
        _percent("masked_accuracy_last_task", "Final accuracy of the last task among its classes"),
    ),
    headline="final_accuracy",
    must_stay_finite=CLASSIFIER.must_stay_finite,
    summarise=summarise_groups,
    marks=CLASSIFIER.marks,
    flags=CLASSIFIER.flags,
)
