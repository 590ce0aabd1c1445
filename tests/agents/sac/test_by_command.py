"""SAC as a user has it: a short run with its records, its weights, and a look at its critic."""

import numpy as np
import pytest
import torch

from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import read_weights
from plasticity_lab.saved_network import load_network
from tests.agents.ppo.packs import there_are
from tests.agents.sac.packs import SMALL
from tests.helpers.sweeps import runs_of, trained

WORDS = (*SMALL, "seed=0,1", "save_weights=final", "diagnostics=dead_units", "intervention=redo", "launch.workers=1")


@pytest.mark.sample(1)
def test_a_run_leaves_its_record_its_weights_and_what_diagnostics_saw(tmp_path, monkeypatch):
    there_are(monkeypatch)
    store = Store(tmp_path / "store")
    trained(store, *WORDS)
    for run in runs_of(*WORDS):
        record = read_record(store, run.id)
        assert record is not None
        assert record["status"] == "done"
        assert np.isfinite(record["summary"]["final_return"])
        table = read_metrics(store, run.id)
        epochs = table.filter(np.array(table["kind"]) == "epoch").to_pandas()
        assert np.isfinite(epochs[["critic_loss", "actor_loss", "entropy", "temperature"]].to_numpy()[2:]).all()
        tasks = table.filter(np.array(table["kind"]) == "task").to_pandas()
        assert {"actor_resets", "critic1_resets", "critic2_resets"} <= set(tasks.columns)
        weights = read_weights(store, run.id)
        assert weights is not None
        network = load_network(store, run.id)
        x = torch.zeros(1, 8)
        h = x
        for name in ("hidden1", "hidden2"):
            h = torch.relu(h @ weights[f"critic1.{name}.weight"] + weights[f"critic1.{name}.bias"])
        wanted = (h @ weights["critic1.q.weight"] + weights["critic1.q.bias"])[:, :1]
        torch.testing.assert_close(network(x)["q"], wanted)
