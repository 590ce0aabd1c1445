"""Early stopping: compares a run with earlier runs at the ends of some of its tasks.

A rule is fixed before its run is trained, and uses only that run: an early stop depends neither on its pack nor on
being killed and resumed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from plasticity_lab.records.journal import Journal
from plasticity_lab.records.measures import Summarise
from plasticity_lab.records.settings import StopRule

if TYPE_CHECKING:
    import pyarrow as pa


def so_far(summarise: Summarise, table: "pa.Table", metric: str, tasks: Iterable[int]) -> list[float | None]:
    """The summary's value if a run had ended with each of the tasks; None if there is no value, or no such task.

    table: its metrics, as in metrics.parquet. tasks: positions.
    """
    kinds, positions, steps = (np.asarray(table[name].to_pylist()) for name in ("kind", "task", "step"))
    ends = {int(positions[at]): steps[at] for at in np.flatnonzero(kinds == "task")}
    return [summarise(table.filter(steps <= ends[task])).get(metric) if task in ends else None for task in tasks]


def stop_worse(journal: Journal, rules: Sequence[StopRule | None]) -> None:
    """Stops the runs that are worse than their rule allows, if the journal is at the end of a task.

    rules: for each run of the pack; None for a run without one.
    """
    ended = journal.position.task - 1
    if journal.position.step or ended < 0:
        return
    for k, rule in enumerate(rules):
        if rule is None or ended not in rule.tasks or journal.over[k]:
            continue
        value = journal.measures.summarise(journal.table(k)).get(rule.metric)
        least = rule.values[rule.tasks.index(ended)]
        if value is not None and (value < least if rule.better == "more" else value > least):
            journal.stop(k)


def rules_of(stopping: Mapping[str, StopRule] | None, runs: Sequence[str]) -> list[StopRule | None]:
    """The rule of each run, or None."""
    return [(stopping or {}).get(run) for run in runs]
