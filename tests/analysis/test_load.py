"""`from analysis import load`: a store as two frames."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from analysis import load
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.record import write_metrics, write_record
from plasticity_lab.records.store import Store
from tests.helpers.made_up_agent import PLAYER
from tests.helpers.stores import planned_records


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "a store [1]")


def kept(store, record, measures=CLASSIFIER, rows=3):
    """Writes a record that says what its numbers are, and metrics of that many tasks."""
    columns = {
        field.name: ["task"] * rows if field.name == "kind" else np.arange(rows).astype(field.type.to_pandas_dtype())
        for field in measures.schema
    }
    write_metrics(store, record["run"], pa.table(columns, schema=measures.schema))
    write_record(store, record | {"measures": measures.as_json()})


def test_runs_are_lines_with_the_keys_of_a_command_and_metrics_stand_below_each_other(store, record):
    first = record("leaky_relu", seed=0, taoa=0.5, negative_slope=0.1)
    second = record("leaky_relu", seed=1, taoa=0.25, negative_slope=0.3, collapsed=True)
    for each in (first, second):
        kept(store, each)
    runs, metrics = load(store.root)
    assert isinstance(metrics, pl.LazyFrame)
    runs = runs.sort("seed")
    for column, values in {
        "run": [first["run"], second["run"]],
        "status": ["done", "done"],
        "collapsed": [False, True],
        "activation": ["leaky_relu"] * 2,
        "benchmark": ["permuted_digits"] * 2,
        "activation.negative_slope": [0.1, 0.3],
        "benchmark.batch_size": [16, 16],
        "seed": [0, 1],
        "protocol": ["as_published"] * 2,
        "taoa": [0.5, 0.25],
        "data_part": [False, False],
    }.items():
        assert runs[column].to_list() == values, column
    found = metrics.collect()
    assert found.columns == ["run", *CLASSIFIER.schema.names]
    assert found.group_by("run").len()["len"].to_list() == [3, 3]
    assert set(found["run"]) == {first["run"], second["run"]}


def test_nothing_that_ended_badly_or_waits_is_dropped(store, record):
    ended = {status: record(seed=seed, status=status) for seed, status in enumerate(("done", "diverged", "failed"))}
    for each in ended.values():
        kept(store, each)
    planned_records(store, [], [record(seed=3)])
    runs, _ = load(store.root)
    by_status = {line["status"]: line for line in runs.to_dicts()}
    assert sorted(by_status) == ["diverged", "done", "failed", "waiting"]
    assert by_status["diverged"]["diverged_at_step"] == 7
    assert by_status["failed"]["error"] == "out of memory"
    assert by_status["waiting"]["taoa"] is None


def test_agents_with_other_columns_stand_together(store, record):
    kept(store, record())
    played = record(seed=1, science={"agent": {"name": "player"}})
    played["summary"] = {"mean_return": 10.0}
    kept(store, played | {"flags": {"stuck": True}}, PLAYER)
    runs, metrics = load(store.root)
    lines = {line["agent"]: line for line in runs.to_dicts()}
    assert (lines["player"]["mean_return"], lines["player"]["taoa"], lines["player"]["stuck"]) == (10.0, None, True)
    assert lines["supervised"]["stuck"] is None
    found = metrics.filter(pl.col("run") == lines["player"]["run"]).collect()
    assert found["return"].null_count() == 0
    assert found["aoa"].null_count() == len(found) == 3


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({"activation": "tanh"}, 2),
        ({"benchmark.batch_size": 16}, 4),
        ({"benchmark.batch_size": "16", "seed": [0]}, 2),
        ({"benchmark.name": "permuted_digits", "optimizer.lr": 1e-3}, 4),
        ({"optimizer.lr": "1e-3", "benchmark.steps": None}, 4),
        ({"activation.alpha": 1.5}, 1),
    ],
)
def test_runs_are_chosen_by_any_key_of_a_command(store, record, where, count):
    for seed in (0, 1):
        kept(store, record("relu", seed=seed))
        kept(store, record("tanh", seed=seed, **({"alpha": 1.5} if seed else {})))
    runs, metrics = load(store.root, where)
    assert len(runs) == count
    assert set(metrics.collect()["run"]) == set(runs["run"])


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"benchmark.bach_size": 16}, ["benchmark.bach_size", "benchmark.batch_size"]),
        ({"activation": ["gelu", "selu"]}, ["activation=gelu, selu", "relu"]),
    ],
)
def test_what_no_run_has_is_answered_with_what_there_is(store, record, where, says):
    kept(store, record("relu"))
    with pytest.raises(ConfigError) as raised:
        load(store.root, where)
    assert all(words in str(raised.value) for words in says)


def test_an_empty_store_has_empty_frames_and_a_missing_one_is_said(store):
    store.prepare()
    runs, metrics = load(store.root)
    assert len(runs) == len(metrics.collect()) == 0
    with pytest.raises(StoreError, match="no store"):
        load(store.root / "elsewhere")


def test_what_cannot_be_read_is_named(store, record):
    torn, whole = record(seed=0), record(seed=1)
    for each in (torn, whole):
        kept(store, each)
    store.metrics(torn["run"]).write_bytes(b"PAR1")
    with pytest.warns(UserWarning, match="metrics.parquet"):
        runs, metrics = load(store.root)
    assert len(runs) == 2
    assert set(metrics.collect()["run"]) == {whole["run"]}
