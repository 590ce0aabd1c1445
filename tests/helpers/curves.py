"""Records that have metrics, as runs leave them: of a classifier, of an agent with episodes, of bodies in turn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from analysis.names import BODIES
from plasticity_lab.agents.ppo.agent import PPO_MEASURES
from plasticity_lab.records.classifier import CLASSIFIER, summarise
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.record import write_metrics, write_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.task_matrix import with_matrix
from tests.helpers.made_up_agent import PLAYER, rollouts
from tests.helpers.made_up_agent import summarise as summarise_play

CYCLE = {"name": "mujoco_cycle", "bodies": [*BODIES], "tasks": 12, "environment_steps": 1_000_000}
"""The settings of a benchmark whose four bodies come in turn."""
Cycle = tuple[Sequence[float], Sequence[float]]
"""What a run returned in training with each body, and in the tests."""


def classified(store: Store, record: Mapping[str, Any], accuracies: Sequence[float]) -> dict[str, Any]:
    """Writes a classifier's run with those online accuracies by task; final ones are 0.2 more.  Returns its record."""
    tasks = len(accuracies)
    columns = {
        "kind": ["task"] * tasks,
        "task": range(tasks),
        "epoch": range(tasks),
        "step": [90 * (task + 1) for task in range(tasks)],
        "aoa": accuracies,
        "train_loss": [1 - accuracy for accuracy in accuracies],
        "final_accuracy": [accuracy + 0.2 for accuracy in accuracies],
        "hard": [True] * tasks,
    }
    table = pa.table({field.name: pa.array(columns[field.name], field.type) for field in CLASSIFIER.schema})
    return _kept(store, record, CLASSIFIER, table, summarise(table))


def on_every_task(
    store: Store, record: Mapping[str, Any], after: Sequence[Sequence[float]], forward: bool
) -> dict[str, Any]:
    """Writes a classifier's run that was so accurate on task j (column) once task i (row) was learned; an untrained
    network is right in a tenth.  Returns its record.
    """
    measures = with_matrix(replace(CLASSIFIER, headline="final_accuracy"), forward)
    tasks = range(len(after))
    lines = []
    for task in tasks:
        at = {"task": task, "epoch": task, "step": 90 * (task + 1), "hard": True}
        lines.append({**at, "kind": "task", "aoa": 0.5, "train_loss": 1.0, "final_accuracy": after[task][task]})
        for on in tasks:
            untrained = 0.1 if task == 0 else None
            pair = {"on": on, "accuracy_on": after[task][on], "untrained_accuracy_on": untrained}
            lines.append({**at, "kind": "pair", **pair})
    table = pa.Table.from_pylist(lines, measures.schema)
    return _kept(store, record, measures, table, measures.summarise(table))


def played(store: Store, record: Mapping[str, Any], which: int) -> dict[str, Any]:
    """Writes one of the four runs of the made-up agent under the id and settings of a record.  Returns its record."""
    table = rollouts([0, 1, 2, 3]).table(which)
    return _kept(store, record, PLAYER, table, summarise_play(table))


def bodies_in_turn(store: Store, record: Mapping[str, Any], run: Sequence[Cycle]) -> dict[str, Any]:
    """Writes a run of PPO that returned this, cycle after cycle.  Returns its record."""
    return _kept(store, record, PPO_MEASURES, stages_table(run), {})


def stages_table(run: Sequence[Cycle], tested: bool = True) -> pa.Table:
    """The metrics of such a run: an episode for each stage, and its end.  tested: whether it has tests.

    A return of None: no episode ended in the stage.
    """
    lines = []
    for cycle, (train, test) in enumerate(run):
        for body, (ours, theirs) in enumerate(zip(train, test, strict=True)):
            task = len(train) * cycle + body
            at = {"task": task, "epoch": 0, "step": 100 * (task + 1), "body": body, "cycle": cycle}
            lines += [] if ours is None else [at | {"kind": "episode", "return": float(ours)}]
            lines.append(at | {"kind": "task", "test_return": float(theirs) if tested else None})
    schema = PPO_MEASURES.schema
    return pa.Table.from_pylist([{name: line.get(name) for name in schema.names} for line in lines], schema=schema)


def _kept(store: Store, record: Mapping[str, Any], measures: Measures, table: pa.Table, summary: Mapping) -> dict:
    told = {"files": {"metrics.parquet": write_metrics(store, record["run"], table)}, "measures": measures.as_json()}
    record = {**record, **told, "summary": {**record["summary"], **summary}}
    write_record(store, record)
    return record
