"""DQN as a user has it: a smoke run, a memory in every checkpoint, beside them, and lost."""

import os

import pytest

from launch.command import run_command
from launch.tracking.wandb import content
from plasticity_lab.agents.target_network import TargetNetwork
from plasticity_lab.agents.value import learner as of_value
from plasticity_lab.records.checkpoint import load_checkpoint
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from plasticity_lab.saved_network import load_network
from tests.agents.value.packs import SMALL
from tests.helpers.sweeps import after_looks, all_kept, never, planned, runs_of, trained, work

pytestmark = pytest.mark.sample(2)

WORDS = (*SMALL, "seed=0,1", "save_weights=final", "launch.workers=1", "launch.lease_seconds=60")
BESIDE = (*WORDS, "replay_memory_mib=0", "replay_memory_minutes=0", "checkpoint_minutes=0.0001")
NEVER_WRITTEN = (*WORDS, "replay_memory_mib=0", "replay_memory_minutes=null", "checkpoint_minutes=0.0001")


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("dqn") / "store")
    trained(store, *WORDS)
    return store


def test_a_smoke_run_learns_copies_its_target_and_overwrites_what_it_remembers(store, monkeypatch):
    """With Table 1's warm-up it would train nothing, and every equation would hold."""
    seen, copies = [], []
    advance, copy = of_value.ValueLearner.advance, TargetNetwork.copy
    monkeypatch.setattr(of_value.ValueLearner, "advance", lambda self, chunk: seen.append(self) or advance(self, chunk))
    monkeypatch.setattr(TargetNetwork, "copy", lambda self, runs=None: copies.append(1) or copy(self, runs))
    words = ("agent=dqn", "benchmark=catch", "network=mlp", "network.width=8", "seed=0")
    trained(store, *words)
    learner = seen[-1]
    assert learner.network.updates >= 50
    assert len(copies) >= 1
    assert learner.memory.ring.end > learner.memory.ring.rows
    (run,) = runs_of(*words)
    table = read_metrics(store, run.id)
    losses = table.filter([kind == "epoch" for kind in table["kind"].to_pylist()])["loss"].to_pylist()
    assert losses[0] is None
    assert all(loss > 0 for loss in losses[1:])


def test_episodes_epochs_and_tests_are_in_its_record_and_in_wandbs_rows(undisturbed):
    first, _ = runs_of(*WORDS)
    record, table = read_record(undisturbed, first.id), read_metrics(undisturbed, first.id)
    kinds = table["kind"].to_pylist()
    ended = table.filter([kind == "episode" for kind in kinds])
    assert record["summary"]["episodes"] == len(ended) == 2 * (300 // 18)
    assert kinds.count("epoch") == 2 * 4  # of 90 steps each, and what is left of 300
    assert record["summary"]["test_return_last_cycle"] is not None
    assert record["flags"] == {"unstable": False}
    rows = content.merged(content.rows(table, declared_in(record)))
    assert {"episode/return", "epoch/loss", "epoch/q", "epoch/epsilon", "task/test_return"} <= set().union(
        *rows.values()
    )
    assert load_network(undisturbed, first.id)([[0.0] * 50])["q"].shape == (1, 3)


@pytest.mark.parametrize("words", [WORDS, BESIDE], ids=["in checkpoints", "beside them"])
def test_stopped_again_and_again_it_ends_with_the_undisturbed_numbers(store, undisturbed, words):
    for looks in (1, 3, 2):
        work(store, planned(store, *words).sweep, "cpu", after_looks(looks))
    assert work(store, planned(store, *words).sweep, "cpu", never)
    assert all_kept(store, runs_of(*words)) == all_kept(undisturbed, runs_of(*WORDS))
    assert [read_record(store, run.id)["provenance"].get("memory_refills") for run in runs_of(*words)] == [None] * 2


def test_killed_without_its_memory_it_goes_on_refills_it_and_the_record_says_so(
    store, undisturbed, monkeypatch, caplog
):
    (pack,) = planned(store, *NEVER_WRITTEN).packs

    class Killed(BaseException):
        pass

    stop, alive = after_looks(3), []

    def killed():
        alive.append(1)
        if stop():
            raise Killed
        return False

    with pytest.raises(Killed):
        work(store, planned(store, *NEVER_WRITTEN).sweep, "cpu", killed)
    for lease in store.leases_folder.iterdir():
        os.utime(lease, (10, 10))  # long ago
    begun = load_checkpoint(store, pack.id)
    step, held = begun["journal"]["steps"], begun["agent"]["memory"]["held"]
    assert step > 60 < held
    rings = []
    advance = of_value.ValueLearner.advance
    monkeypatch.setattr(
        of_value.ValueLearner,
        "advance",
        lambda self, chunk: rings.append(self.memory.ring.held) or advance(self, chunk),
    )
    assert work(store, planned(store, *NEVER_WRITTEN).sweep, "cpu", never)
    assert rings[0] == 0
    assert "begins empty" in caplog.text
    records = [read_record(store, run.id) for run in runs_of(*NEVER_WRITTEN)]
    assert [record["provenance"]["memory_refills"] for record in records] == [[step]] * 2
    assert [record["flags"]["memory_refilled"] for record in records] == [True] * 2
    assert all_kept(store, runs_of(*NEVER_WRITTEN)) != all_kept(undisturbed, runs_of(*WORDS))


def test_a_plan_says_how_much_it_remembers(store, capsys):
    words = ("agent=dqn", "benchmark=catch_84", "seed=0", "device=cpu", "dry_run=true", f"store={store.root}")
    assert run_command([*words, "tracking=store"]) == 0
    assert "GiB" in capsys.readouterr().out  # 100,000 frames of 84 × 84
