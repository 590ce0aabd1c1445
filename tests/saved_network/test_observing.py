"""Finished runs looked at: the numbers that they would have had, and records that stay whole."""

import json

import pytest
import torch

from launch.__main__ import main
from plasticity_lab.records.measures import Declared
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.record_facts import DIGEST, CorruptRecord, check_files, digest_of
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import read_task_weights, read_weights, tasks_kept
from plasticity_lab.saved_network import observing
from tests.helpers.sweeps import after_looks, all_kept, trained
from tests.tenants.packs import BODIES

pytestmark = pytest.mark.sample(1)

DIGITS = ("seed=0,1", "launch.workers=1", "activation=bo_prelu")
PPO = ("benchmark=classic_cycle", "agent=ppo", "agent.rollout=64", "benchmark.environment_steps=128", "seed=0")
DQN = ("benchmark=catch", "agent=dqn", "seed=0")
LOOKED = ("diagnostics=all", "diagnostics.every=task")
KEEPS = "save_weights=tasks"


@pytest.fixture
def stores(tmp_path):
    return Store(tmp_path / "seen"), Store(tmp_path / "kept")


def observe(store, *words):
    return main(["observe", "--store", str(store.root), *words])


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "words", [DIGITS, PPO, pytest.param(DQN, marks=pytest.mark.slow)], ids=["digits", "ppo", "dqn"]
)
def test_the_numbers_are_those_of_a_run_that_was_looked_at_while_it_learned(stores, words, capsys):
    seen, kept = stores
    (*runs,) = trained(seen, *words, *LOOKED).runs
    trained(kept, *words, KEEPS)
    before = {run: (read_record(kept, run), read_metrics(kept, run)) for run in runs}
    assert observe(kept, "diagnostics=all") == 0
    assert len(capsys.readouterr().err.splitlines()) == len(runs)
    for run in runs:
        old, table = before[run]
        record, now, expected = read_record(kept, run), read_metrics(kept, run), read_metrics(seen, run)
        check_files(kept, record)
        assert record["files"]["metrics.parquet"] != old["files"]["metrics.parquet"]
        assert now.select(table.column_names).equals(table), "what was there is the same"
        new = [name for name in now.column_names if name not in table.column_names]
        assert set(now.column_names) == set(expected.column_names)
        for name in new:
            assert repr(now[name].to_pylist()) == repr(expected[name].to_pylist()), name
        theirs = read_record(seen, run)
        assert {name: record["summary"][name] for name in new} == {name: theirs["summary"][name] for name in new}
        assert {name: record["summary"][name] for name in old["summary"]} == old["summary"]
        columns = {column.name for column in Declared.from_json(record["measures"]).columns}
        assert columns >= set(new)
        assert record["observed"][0]["tasks"] == tasks_kept(record)
        assert record[DIGEST] == old[DIGEST] == digest_of(record), "the run is the same"


def test_by_command_the_columns_are_where_others_are(stores, capsys, tmp_path):
    _, store = stores
    (run, _) = trained(store, *DIGITS, KEEPS).runs
    assert observe(store, run, "diagnostics=[saturated,curvature]", "diagnostics.block=all") == 0
    assert observe(store, run, "diagnostics=saturated") == 0
    assert "already" in capsys.readouterr().err
    assert main(["show", run, "--store", str(store.root)]) == 0
    assert "lambda_max_residual" in capsys.readouterr().out
    assert observe(store, run, "activation=relu") == 1
    assert observe(store, "diagnostics=none") == 1
    told = capsys.readouterr().err
    assert "activation=relu" in told
    assert "diagnostics=none" in told


def test_a_run_that_kept_nothing_is_said_and_one_that_kept_its_last_weights_has_its_last_task(stores, capsys):
    nothing, last = stores
    (run, _) = trained(nothing, *DIGITS).runs
    assert observe(nothing) == 1
    assert observe(nothing, run) == 1
    assert capsys.readouterr().err.count("save_weights=tasks") == 2
    trained(last, *DIGITS, "save_weights=final")
    assert observe(last, run, "diagnostics=feature_rank") == 0
    ends = [row["srank"] for row in read_metrics(last, run).to_pylist() if row["kind"] == "task"]
    assert [value is None for value in ends] == [True, True, False]
    (body, *_) = trained(nothing, *BODIES, KEEPS, "seed=0").runs
    assert observe(nothing, body) == 1, "its agent shows nothing"


def test_every_nth_task_is_kept_and_a_stopped_pack_keeps_those_before(stores):
    whole, stopped = stores
    words = (*DIGITS, KEEPS, "save_weights_every=2", "benchmark.tasks=3")
    plan = trained(whole, *words)
    trained(stopped, *words, stop=after_looks(9))
    trained(stopped, *words)
    runs = list(plan.runs.values())
    assert all_kept(stopped, runs) == all_kept(whole, runs)
    for run in plan.runs:
        record = read_record(stopped, run)
        assert tasks_kept(record) == [1]
        one, other = (read_task_weights(store, run, 1) for store in stores)
        assert all(torch.equal(one.parameters[name], other.parameters[name]) for name in one.parameters)
        assert one.probe == one.of_all == {}, "a task's images can be laid out again"
        final = read_weights(stopped, run)
        assert {name: value.shape for name, value in final.items()} == {
            name: value.shape for name, value in one.parameters.items()
        }
        assert not any(torch.equal(final[name], one.parameters[name]) for name in ("hidden1.weight", "output.weight"))


@pytest.mark.parametrize("at", ["write_file", "write_record"])
def test_a_record_stays_whole_wherever_it_is_interrupted(stores, monkeypatch, at):
    _, store = stores
    (run, _) = trained(store, *DIGITS, KEEPS).runs
    old = read_record(store, run)["summary"]
    really, asked = getattr(observing, at), []

    def broken(*given):
        asked.append(given)
        if at == "write_record" and len(asked) == 1:
            return really(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(observing, at, broken)
    assert observe(store, run) > 1, "as a command that is interrupted"
    check_files(store, read_record(store, run))
    assert read_metrics(store, run) is not None
    assert read_record(store, run)["summary"] == old
    monkeypatch.undo()
    assert observe(store, run, "diagnostics=feature_rank") == 0, "another table than the one that may be there"
    check_files(store, read_record(store, run))
    assert "srank" in read_record(store, run)["summary"]
    assert "replacing" not in json.loads(store.record(run).read_text())


def test_damaged_weights_of_a_task_are_named(stores, capsys):
    _, store = stores
    (run, _) = trained(store, *DIGITS, KEEPS).runs
    path = store.task_weights(run, 1)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert observe(store, run) == 1
    assert path.name in capsys.readouterr().err
    path.unlink()
    with pytest.raises(CorruptRecord, match=path.name):
        check_files(store, read_record(store, run))
