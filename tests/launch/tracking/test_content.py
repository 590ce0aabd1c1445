"""What W&B shows of a run: pure functions."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from launch.runs.options import CONF
from launch.tracking.wandb import content
from plasticity_lab.agents.ppo.agent import PPO_MEASURES
from plasticity_lab.diagnostics.diagnostic import of_epochs, of_tasks
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.measures import Column, Measure
from plasticity_lab.records.rows import Rows
from plasticity_lab.records.targets import measures_of
from tests.helpers.made_up_agent import PLAYER, rollouts
from tests.helpers.made_up_agent import Chunk as Rollout

DECLARED = CLASSIFIER.declared
SCIENCE = {
    "seed": 3,
    **{group: {"name": name} for group, name in (("activation", "relu"), ("benchmark", "permuted_digits"))},
    **{group: {"name": name} for group, name in (("network", "mlp"), ("optimizer", "adam"), ("intervention", "none"))},
}


class Chunk:
    def __init__(self, task, epoch, ends_epoch=True):
        self.task, self.epoch, self.steps, self.ends_epoch = task, epoch, 2, ends_epoch
        self.marks = {"hard": True}


class Task:
    def __init__(self, position):
        self.position, self.marks = position, {"hard": True}


@pytest.fixture
def journal():
    """Two tasks of two epochs of two steps."""
    journal = Journal(1, CLASSIFIER)
    for task in range(2):
        for epoch in range(2):
            loss = np.full((2, 1), 1.0 + task)
            journal.add_chunk(Chunk(task, 2 * task + epoch), Rows({"accuracy": loss / 4, "loss": loss}))
        journal.add_task(Task(task), {"final_accuracy": [0.5]})
    return journal


def test_each_epoch_is_a_row_and_the_last_of_a_task_has_the_values_of_the_task(journal):
    rows = content.merged(content.rows(journal.table(0), DECLARED))
    assert list(rows) == [2, 4, 6, 8]
    assert rows[2] == {"epoch": 1, "task": 1, "global_step": 2, "epoch/train_loss": 1.0}
    assert rows[8] == {
        **{"epoch": 4, "task": 2, "global_step": 8, "epoch/train_loss": 2.0},
        **{"task/aoa": 0.5, "task/final_accuracy": 0.5, "task/hard": True},
    }
    assert content.axes(DECLARED) == dict.fromkeys(["epoch", "task", "epoch/*", "task/*"], "global_step")
    assert content.last_values(rows.items()) == rows[8]


def test_a_column_stands_once_with_tasks_if_it_is_a_performance():
    both = {"epoch": "mean", "task": "mean"}
    better = Column(Measure("success", "Success", better="more"), "success", both)
    columns = (*PPO_MEASURES.columns, better, of_epochs("rank", "Rank"), of_tasks("sharpness", "Sharpness"))
    metrics = content.metrics(replace(PPO_MEASURES.declared, columns=columns))
    shown = [name for names in metrics.values() for name in names]
    assert sorted(shown) == sorted([*(column.name for column in columns), "body", "cycle"])
    assert metrics["task"] == ["test_return", "friction", "success", "sharpness", "body", "cycle"]
    assert {"policy_loss", "rank", "unstable"} <= set(metrics["epoch"])
    assert metrics["episode"] == ["return", "length"]


@pytest.mark.parametrize("cut", range(1, 6))
def test_rows_told_in_parts_are_the_same_rows(journal, cut):
    """A task's values may come after those of its last epoch have been told."""
    whole = content.merged(content.rows(journal.table(0), DECLARED))
    assert journal.events == 6
    early = journal.table(0).slice(0, cut)
    assert content.merged([*content.rows(early, DECLARED), *content.rows(journal.table(0, cut), DECLARED)]) == whole
    assert journal.table(0, cut).num_rows == 6 - cut


def test_no_agent_has_a_column_twice():
    agents = [yaml.safe_load(file.read_text()) for file in (CONF / "agent").glob("*.yaml")]
    for target in {agent["_target_"] for agent in agents if "_target_" in agent}:
        declared = measures_of({"agent": target}).declared
        shown = [name for names in content.metrics(declared).values() for name in names]
        assert sorted(shown) == sorted([*(column.name for column in declared.curves), *declared.marks]), target


def test_an_epoch_s_row_has_the_mean_of_the_episodes_that_ended_in_it():
    table = rollouts([0, 1, 2, 3]).table(2)
    rows = content.merged(content.rows(table, PLAYER.declared))
    assert list(rows) == [100, 200, 300, 400], "an episode has no number of its own"
    for epoch, row in enumerate(rows.values()):
        own = [each for each in table.to_pylist() if (each["kind"], each["epoch"]) == ("episode", epoch)]
        assert row["episode/count"] == len(own) > 5
        for name in ("return", "length"):
            assert row[f"episode/{name}"] == pytest.approx(sum(each[name] for each in own) / len(own))
    last = {"epoch", "task", "global_step", "epoch/entropy", "episode/return", "episode/length", "episode/count"}
    assert set(rows[400]) == last | {"task/regret", "task/body"}
    axes = ["epoch", "task", "epoch/*", "task/*", "episode/*"]
    assert content.axes(PLAYER.declared) == dict.fromkeys(axes, "global_step")


def test_what_is_told_while_a_run_is_trained_is_what_its_record_gives():
    """Told after each rollout, and so in the middle of epochs; run 1 diverges."""
    told, parts = [0], {k: [] for k in range(4)}

    def tell(journal):
        for k, own in parts.items():
            own.extend(content.rows(journal.table(k, told[0]), PLAYER.declared))
        told[0] = journal.events

    journal = rollouts([0, 1, 2, 3], tell)
    tell(journal)
    for k, own in parts.items():
        assert content.merged(own) == content.merged(content.rows(journal.table(k), PLAYER.declared))
    assert [number for number, _ in parts[1]] == [100, 200, 200], "what ended as the run diverged is in no row"


def test_a_run_asked_for_twice_is_tagged_with_the_rules_of_both():
    first = {"protocol": "as_published", "schedule": "full", "hyperparams": "grid"}
    second = first | {"hyperparams": "best", "experiment": "table2"}
    tags = content.tags({"science": SCIENCE, "asked_as": [first, second]})
    rules = ["protocol=as_published", "schedule=full", "hyperparams=grid", "hyperparams=best"]
    assert tags == ["relu", "permuted_digits", "mlp", "adam", "table2", *rules]


def test_a_summary_says_how_it_ended_and_leaves_out_what_is_not_known():
    record = {"status": "failed", "collapsed": False, "summary": {"taoa": None, "gap": 0.1}, "error": "a\nb: c\n"}
    assert content.summary(record) == {"gap": 0.1, "status": "failed", "collapsed": False, "error": "b: c"}
    diverged = {"status": "diverged", "collapsed": False, "summary": {}, "error": None, "diverged_at_step": 7}
    assert content.summary(diverged)["diverged_at_step"] == 7


def test_rows_are_dated_evenly_over_the_training(journal):
    """As without the pause of half an hour."""
    source = {"start": "2026-01-31T12:00:00+00:00", "end": "2026-01-31T13:00:00+00:00", "pack_seconds": 1800.0}
    record = {"status": "done", "provenance": source}
    rows = content.merged(content.rows(journal.table(0), DECLARED)).items()
    dated = dict(content.dated(rows, record))
    end = 1769860800.0 + 3600
    assert [values["_timestamp"] - end for values in dated.values()] == [-1350, -900, -450, 0]
    assert [values["_runtime"] for values in dated.values()] == [450, 900, 1350, 1800]
    assert {step: {k: v for k, v in row.items() if k[0] != "_"} for step, row in dated.items()} == dict(rows)
    assert content.duration(record) == {"_runtime": 1800.0, "_timestamp": end, "_wandb": {"runtime": 1800}}
    assert content.speed(record, 900) == {"SPS": 0.5}
    assert content.speed(record | {"status": "stopped"}, 900) == {}
    failed = {"status": "failed", "provenance": {"start": source["start"]}}
    assert dict(content.dated(rows, failed)) == dict(rows)
    assert content.duration(failed) == content.speed(failed, 900) == {}


def test_an_epoch_in_which_no_episode_ended_says_so():
    journal = Journal(1, PLAYER)
    updates = {"loss": np.ones((3, 1)), "entropy": np.ones((3, 1))}
    journal.add_chunk(Rollout(0, 0, 10, True), Rows(updates))
    ((_, row),) = content.rows(journal.table(0), PLAYER.declared)
    assert row == {"epoch": 1, "task": 1, "global_step": 10, "epoch/entropy": 1.0, "episode/count": 0}
