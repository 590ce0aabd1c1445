"""PPO as a user has it: planned, trained, shown and refused by commands."""

import json

import pytest
import yaml

from launch.__main__ import main as launch
from launch.packs.todo import outstanding
from launch.tracking.wandb import content
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from tests.agents.ppo.packs import SMALL
from tests.helpers.sweeps import runs_of, trained


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Store:
    """A run that learned, and one of which the first update makes numbers that are not finite."""
    store = Store(tmp_path_factory.mktemp("ppo") / "store")
    trained(store, *SWEEP)
    return store


SWEEP = (*SMALL, "optimizer.lr=1e-3,1e30", "launch.workers=1")


def asked(capsys, *words: str) -> str:
    """What a command prints; it ends well and says nothing on stderr."""
    assert launch([*words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_episodes_are_in_its_record_and_in_wandbs_rows(swept):
    tame, _ = runs_of(*SWEEP)
    record, table = read_record(swept, tame.id), read_metrics(swept, tame.id)
    ended = table.filter([kind == "episode" for kind in table["kind"].to_pylist()])
    assert record["summary"]["episodes"] == len(ended) > 5
    assert record["summary"]["mean_return"] == pytest.approx(sum(ended["return"].to_pylist()) / len(ended))
    rows = content.merged(content.rows(table, declared_in(record)))
    assert sum(row["episode/count"] for row in rows.values()) == len(ended)
    assert {"episode/return", "episode/length"} <= set(rows[min(rows)])


def test_an_unstable_run_is_done_said_to_be_unstable_and_not_tried_again(swept, capsys):
    runs = runs_of(*SWEEP)
    tame, wild = (read_record(swept, run.id) for run in runs)
    assert (tame["status"], tame["flags"]) == ("done", {"unstable": False})
    assert (wild["status"], wild["flags"]) == ("done", {"unstable": True})
    assert not outstanding(swept, runs, rerun=False, retries=2).left
    assert {tame["provenance"]["pack"], wild["provenance"]["pack"]} == {tame["provenance"]["pack"]}
    assert content.summary(wild)["unstable"] is True
    assert "unstable" in content.tags(wild)
    at = ("--store", str(swept.root))
    first, _, told = asked(capsys, "show", wild["run"], *at).partition("\n")
    assert first == f"Run {wild['run']}: done, unstable"
    assert yaml.safe_load(told.partition("\n\n")[0])["summary"]["episodes"] > 5
    (state,) = json.loads(asked(capsys, "status", "--json", *at))
    assert state["flagged"] == {"unstable": [wild["run"]]}
    assert "unstable" in asked(capsys, "status", *at).split()
