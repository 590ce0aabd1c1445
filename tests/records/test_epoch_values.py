"""Columns of epochs that hold a value, not a mean over updates: as diagnostics leave them."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch

from launch.tracking.wandb.content import merged, metrics
from launch.tracking.wandb.content import rows as wandb_rows
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.measures import Column, Declared, Measure
from plasticity_lab.records.rows import Rows
from tests.records.test_journal import HARD, Chunk, Task

OF_EPOCHS = Column(Measure("dead", "Dead", "%", 100.0), "look.dead", {"epoch": "value", "task": "last"})
ALONE = Column(Measure("rank", "Rank"), "look.rank", {"epoch": "value"})
OF_TASKS = Column(Measure("held", "Held"), "look.held", {"task": "value"})
MEASURES = CLASSIFIER.with_columns([OF_EPOCHS, ALONE, OF_TASKS])
DEAD = np.array([[0.1, 0.2], [np.nan, 0.4], [0.5, np.nan], [0.7, 0.8]])  # by epoch and run; NaN: nobody looked


def chunk(number, ends_epoch=True):
    return Chunk(number // 2, number, 3, ends_epoch, HARD)


def rows(number, **values):
    updates = {"accuracy": np.full((3, 2), 0.5), "loss": np.full((3, 2), 1.0)}
    return Rows(updates, values={name.replace("_", "."): value for name, value in values.items()})


def written(journal=None, epochs=range(4)):
    journal = journal or Journal(2, MEASURES)
    for number in epochs:
        journal.add_chunk(chunk(number, ends_epoch=False), rows(number))
        journal.add_chunk(chunk(number), rows(number, look_dead=DEAD[number], look_rank=np.array([number, 9.0])))
        if number % 2:
            held = np.array([10.0 + number, 0])
            journal.add_task(Task(number // 2, HARD), {"final_accuracy": np.zeros(2), "look.held": held})
    return journal


def of_kind(table, kind):
    return [row for row in table.to_pylist() if row["kind"] == kind]


def test_an_epochs_row_has_its_value_and_a_tasks_row_that_of_its_last_epoch():
    table = written().table(1)
    epochs, tasks = of_kind(table, "epoch"), of_kind(table, "task")
    assert [row["dead"] for row in epochs] == [0.2, 0.4, None, 0.8]
    assert [row["dead"] for row in tasks] == [0.4, 0.8]
    assert [(row["rank"], row["held"]) for row in epochs] == [(9.0, None)] * 4
    assert [(row["rank"], row["held"]) for row in tasks] == [(None, 0.0)] * 2
    assert [row["held"] for row in of_kind(written().table(0), "task")] == [11.0, 13.0]
    assert [row["train_loss"] for row in tasks] == [1.0, 1.0], "means beside them are what they were"


def test_the_summary_has_the_last_row_that_has_the_column():
    summary = MEASURES.summarise(written().table(0))
    assert (summary["dead"], summary["rank"], summary["held"]) == (0.7, 3.0, 13.0)
    assert MEASURES.summarise(written(epochs=range(1)).table(0))["rank"] == 0.0
    assert MEASURES.summarise(written(epochs=range(1)).table(0))["held"] is None


def test_it_is_resumed_within_a_task():
    sink = io.BytesIO()
    torch.save(written(epochs=range(3)).state(), sink)
    journal = Journal(2, MEASURES)
    journal.load(torch.load(io.BytesIO(sink.getvalue()), weights_only=True))
    assert written(journal, range(3, 4)).table(0).equals(written().table(0))


def test_an_epoch_that_ends_without_its_value_is_refused():
    with pytest.raises(ValueError, match=r"look\.rank"):
        Journal(2, MEASURES).add_chunk(chunk(0), rows(0, look_dead=DEAD[0]))
    with pytest.raises(ValueError, match=r"look\.dead.*\(3,\)"):
        Journal(2, MEASURES).add_chunk(chunk(0), rows(0, look_dead=np.zeros(3), look_rank=np.zeros(2)))


def test_wandb_is_given_it_with_the_epoch_and_a_record_declares_it():
    declared = Declared.from_json(MEASURES.as_json())
    assert declared.summaries.keys() == MEASURES.declared.summaries.keys()
    assert {"dead", "rank"} <= set(metrics(declared)["epoch"])
    found = merged(wandb_rows(written().table(0), declared))
    assert [values.get("epoch/dead") for values in found.values()] == [0.1, None, 0.5, 0.7]
    assert "task/dead" not in found[max(found)]
    assert found[max(found)]["task/held"] == 13.0
    assert next(column for column in declared.curves if column.name == "dead").own_kinds == ["epoch"]


def test_what_an_epoch_cannot_have_is_still_refused():
    with pytest.raises(ValueError, match="dead"):
        replace(OF_EPOCHS, taken={"epoch": "last"})
