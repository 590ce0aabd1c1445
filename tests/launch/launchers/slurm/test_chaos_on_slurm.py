"""A sweep on a real Slurm that is disturbed all the time, for a minute or so; `make chaos` does so for an hour."""

import json
import shutil

import pytest

from plasticity_lab.records.record import read_record, write_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import runs_of, trained
from tests.launch.launchers.slurm.chaos.__main__ import Chaos, faults, run


@pytest.mark.slurm
@pytest.mark.slow
def test_in_chaos_no_run_is_lost_repeated_or_different(slurm, tmp_path):
    acts = ("kill", "preempt", "requeue", "stop", "node_loss", "controller", "twice", "cancel")
    report = run(tmp_path, Chaos(minutes=2, every=4, tasks=20, workers=16, limit=2, seed=0), acts)
    assert (report["lost"], report["repeated"], report["different"], report["disobedient"]) == ({}, {}, {}, [])
    assert report["runs"] >= 40
    assert report["acts_altogether"] >= 6, "a fast machine may be done before all were dealt"
    assert report["left_behind"] == []


def test_what_chaos_has_done_to_a_run_is_named(store, tmp_path):
    words = ("activation=relu,tanh", "seed=0,1", "benchmark.tasks=1", "benchmark.steps=5")
    twin, runs = Store(tmp_path / "twin"), runs_of(*words)
    trained(store, *words)
    shutil.copytree(store.root, twin.root)
    assert faults(store, twin, runs) == {"lost": {}, "repeated": {}, "different": {}}
    lost, failed, repeated, different = (run.id for run in runs)
    store.record(lost).unlink()
    write_record(store, {**read_record(store, failed), "status": "failed", "error": "away"})
    store.done("again").write_text(json.dumps({"status": "done", "runs": [repeated]}))
    record = read_record(store, different)
    write_record(store, {**record, "summary": {**record["summary"], "taoa": 2.0}, "files": {}})
    shutil.copy(store.metrics(repeated), store.metrics(different))
    found = faults(store, twin, runs)
    assert found["lost"].keys() == {lost, failed}
    assert "away" in found["lost"][failed]
    assert found["repeated"] == {repeated: "finished in 2 packs"}
    assert found["different"].keys() == {different}
    assert found["different"][different].startswith("taoa is 2.0, undisturbed 0.")
    assert "; metrics agree in their first 0 rows of " in found["different"][different]
