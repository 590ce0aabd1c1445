"""The columns of diagnostics are wherever others are: in frames, curves, the report, comparisons, and W&B's rows."""

import pytest

import analysis
from analysis.rows import rows_in
from launch.tracking.wandb import content
from plasticity_lab.records.record import read_metrics
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import trained

NAMES = ("dormant_units", "srank", "weight_norm", "lambda_max")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("looked") / "store")
    trained(store, "activation=relu,tanh", "seed=0,1", "diagnostics=all", "diagnostics.every=task", "mode=eager")
    return store


@pytest.fixture(scope="module")
def found(store):
    rows, left_out = rows_in(store.root)
    assert not left_out
    return rows


@pytest.mark.sample(1)
def test_in_data_frames(store):
    runs, metrics = analysis.load(store.root)
    assert set(NAMES) <= set(runs.columns)
    assert runs.select(NAMES).null_count().row(0) == (0,) * len(NAMES)
    assert set(NAMES) <= set(metrics.collect_schema())


def test_in_rows_for_wandb(store, found):
    table, declared = read_metrics(store, found[0].run), found[0].declared
    rows = content.merged(content.rows(table, declared)).values()
    shown = [{key.rpartition("/")[2] for key in row} for row in rows if "task/final_accuracy" in row]
    assert all(set(NAMES) <= names for names in shown)
