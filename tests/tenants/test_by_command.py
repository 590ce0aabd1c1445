"""The tenants as a user has them: planned, priced, trained, killed, resumed, shown, tabled and tracked by commands."""

import json
import os
import signal
import time

import pytest

from analysis.__main__ import main as analysis
from launch.__main__ import main as launch
from launch.command import run_command
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import (
    SMOKE,
    all_kept,
    command,
    ended_packs,
    planned,
    runs_of,
    said_last,
    trained,
    wait_until,
    workers_of,
)
from tests.tenants.packs import BODIES, FIND, RESETS

pytestmark = pytest.mark.sample(2)

SWEEP = (*BODIES, *RESETS, "seed=0,1,2", "save_weights=final", "launch.workers=1")
LONG = (*BODIES, *RESETS, "seed=0,1", "benchmark.environment_steps=4096", "launch.workers=1")


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Store:
    store = Store(tmp_path_factory.mktemp("tenants") / "store")
    trained(store, *SWEEP)
    return store


def test_it_is_planned_and_priced_in_its_own_unit(tmp_path, capsys):
    plan = planned(Store(tmp_path / "store"), *SWEEP)
    (pack,) = plan.packs
    assert (pack.width, pack.unit, pack.steps, pack.updates) == (3, "environment steps", 512, 32)
    assert pack.seconds > 0 < pack.bytes
    assert launch(["estimate", plan.sweep, "--store", str(tmp_path / "store")]) == 0
    assert "environment steps" in capsys.readouterr().out


def test_its_record_tells_all(swept):
    for run in runs_of(*SWEEP):
        record = read_record(swept, run.id)
        assert (record["status"], record["collapsed"]) == ("done", False)
        assert record["provenance"]["data"] == "cartpole v1"
        assert record["summary"].keys() == {"last_return", "greedy_return", "parameters", "seconds"}
        assert record["measures"]["headline"] == "last_return"
        table = read_metrics(swept, run.id)
        kinds = table["kind"].to_pylist()
        assert (kinds.count("epoch"), kinds.count("task")) == (8, 2)
        assert kinds.count("episode") > 10
        assert table["step"].to_pylist() == sorted(table["step"].to_pylist())


def test_it_is_shown_and_tabled(swept, capsys, tmp_path):
    run = runs_of(*SWEEP)[0].id
    assert launch(["show", run, "--store", str(swept.root), "--out", str(tmp_path / "curve.png")]) == 0
    assert "last_return" in capsys.readouterr().out
    assert (tmp_path / "curve.png").stat().st_size > 1000
    assert launch(["status", "--store", str(swept.root)]) == 0
    capsys.readouterr()
    assert analysis(["table", "--store", str(swept.root)]) == 0
    assert "Return of the last ten episodes" in capsys.readouterr().out


@pytest.mark.slow
def test_killed_and_given_again_it_ends_with_the_undisturbed_numbers(store, tmp_path):
    undisturbed = Store(tmp_path / "undisturbed")
    trained(undisturbed, *LONG)
    with command(store, *LONG) as process:
        assert wait_until(lambda: any(store.root.glob("packs/*/checkpoint.*")), process)
        time.sleep(0.3)
        for worker in workers_of(process.pid):
            os.kill(worker, signal.SIGKILL)
    trained(store, *LONG)
    runs = runs_of(*LONG)
    assert all_kept(store, runs) == all_kept(undisturbed, runs)
    (pack,) = ended_packs(store)
    assert pack["epoch"] > 0, "it was begun once only"


def test_it_is_tracked(store, monkeypatch):
    monkeypatch.setenv("WANDB_SILENT", "true")
    trained(store, *BODIES, "seed=0", "tracking=wandb_offline")
    (folder,) = (store.root / "wandb").glob("offline-run-*")
    assert any(folder.glob("*.wandb"))
    (marks,) = store.root.glob("tracked/*")
    assert [runs_of(*BODIES, "seed=0")[0].id] in json.loads(marks.read_text()).values()


def test_what_does_not_fit_together_is_refused_in_a_sentence(store, capsys):
    for words, named in [
        ((FIND, "agent=actor_critic"), ("agent=actor_critic", "permuted_digits", "labelled images")),
        (("agent=supervised", "benchmark=classic_cycle"), ("agent=supervised", "classic_cycle")),
        ((*BODIES, "network=cnn"), ("network=cnn", "network=mlp")),
        ((*BODIES, "agent.clip=0"), ("agent.clip", "above 0")),
    ]:
        assert run_command(said_last(*SMOKE, f"store={store.root}", *words)) == 1
        err = capsys.readouterr().err
        assert all(word in err for word in named), err
        assert "Traceback" not in err
    assert not store.root.exists()
