"""Records that have metrics, as runs leave them: of a classifier, and of an agent with episodes."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from plasticity_lab.records.classifier import CLASSIFIER, summarise
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.record import write_metrics, write_record
from plasticity_lab.records.store import Store
from tests.helpers.made_up_agent import PLAYER, rollouts
from tests.helpers.made_up_agent import summarise as summarise_play


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


def played(store: Store, record: Mapping[str, Any], which: int) -> dict[str, Any]:
    """Writes one of the four runs of the made-up agent under the id and settings of a record.  Returns its record."""
    table = rollouts([0, 1, 2, 3]).table(which)
    return _kept(store, record, PLAYER, table, summarise_play(table))


def _kept(store: Store, record: Mapping[str, Any], measures: Measures, table: pa.Table, summary: Mapping) -> dict:
    told = {"files": {"metrics.parquet": write_metrics(store, record["run"], table)}, "measures": measures.as_json()}
    record = {**record, **told, "summary": {**record["summary"], **summary}}
    write_record(store, record)
    return record
