"""A policy out of the store: scaled as in its training, it earns in its tests what the training's own tests said."""

import numpy as np
import pytest
import torch

from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.environments import Environments
from plasticity_lab.errors import InputError, StoreError
from plasticity_lab.records.damage import tensors_of
from plasticity_lab.records.record import read_metrics, read_record, write_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import read_statistics, write_statistics
from plasticity_lab.saved_network import load_network
from tests.agents.ppo.packs import BOTH, CLEANRL, SMALL, there_are
from tests.helpers.sweeps import runs_of, trained

KEPT = ("save_weights=final", "launch.workers=1")
TESTED = (*CLEANRL, "benchmark.test_episodes=3", "seed=0,1", *KEPT)
UNSCALED = (*BOTH, "benchmark.test_episodes=0", *KEPT)
CATCH = ("benchmark=catch", "benchmark.balls=2", "benchmark.stack=2", "benchmark.test_episodes=3")
PIXELS = (*SMALL, *CATCH, "network=small_nature", "network.width=1", "network.hidden=16", *KEPT)
MOMENTS = ["count", "mean", "variance"]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    """Policies of two bodies in turn, with statistics and (their agent scales nothing) without."""
    store = Store(tmp_path_factory.mktemp("policies") / "store")
    with pytest.MonkeyPatch.context() as patch:
        there_are(patch)
        trained(store, *TESTED)
        trained(store, *UNSCALED)
    return store


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    there_are(monkeypatch)


def last_test(store, run) -> float:
    """The return of the test after the last task, as the training took it."""
    rows = read_metrics(store, run.id).to_pylist()
    return [row["test_return"] for row in rows if row["kind"] == "task"][-1]


@pytest.mark.sample(2)
def test_it_earns_in_its_test_what_the_training_says_to_the_bit(store):
    for run in runs_of(*TESTED):
        network = load_network(store.root, run.id)
        assert not network.lacks_statistics
        assert network.test_return("sliders") == last_test(store, run)
        assert network.test_returns("sliders").mean() == pytest.approx(last_test(store, run))
        for normaliser in network.normalisers.values():
            normaliser.observations.mean[:] = 0.0
            normaliser.observations.variance[:] = 1.0
        assert network.test_return("sliders") != last_test(store, run)


@pytest.mark.parametrize("name", ["sliders", "chosen"])
def test_its_actions_in_a_loop_of_ones_own_earn_the_same(store, name):
    run, body = runs_of(*TESTED)[0], body_named(name)
    network = load_network(store, run.id)
    environments = Environments(body, [run.seed_of("stream_seed")], 3, 0, purpose="test")
    total, alive = np.zeros(3), np.ones(3, bool)
    while alive.any():
        observations = environments.observations[0]
        actions = network.act(observations, name)
        assert np.array_equal(network.act(observations[0], name), actions[0])
        outcome = environments.step(actions[None])
        total += np.where(alive, outcome.rewards[0], 0)
        alive &= ~(outcome.terminated | outcome.truncated)[0]
    assert total.tolist() == network.test_returns(name).tolist()
    assert len(network.test_returns(name, frictions=[1.0] * 5)) == 5


def test_observations_are_scaled_by_their_own_bodys_statistics_and_cut_off(store):
    run = runs_of(*TESTED)[0]
    network = load_network(store, run.id)
    kept = network.statistics
    assert sorted(kept) == ["chosen", "sliders"]
    assert sorted(kept["chosen"]) == [f"{of}.{moment}" for of in ("observations", "rewards") for moment in MOMENTS]
    for name, shape in (("sliders", (4, 6)), ("chosen", (4, 3))):
        x, of = 100 * torch.randn(shape, generator=torch.Generator().manual_seed(0)), kept[name]
        expected = (x.double() - of["observations.mean"]) / (of["observations.variance"] + 1e-8).sqrt()
        assert expected.abs().max() > 10
        prepared = network.prepared(x, name)
        assert torch.equal(prepared, expected.clamp(-10, 10).float())
        outputs, units = network.units(prepared, name, prepared=True)
        assert torch.equal(network(x, name)["policy"], outputs["policy"])
        assert {value.shape[0] for value in units.values()} == {4}


@pytest.mark.sample(2)
def test_what_is_kept_is_that_of_the_run_alone(store, tmp_path, monkeypatch):
    alone = Store(tmp_path / "alone")
    words = (*CLEANRL, "benchmark.test_episodes=3", "seed=1", *KEPT)
    trained(alone, *words)
    (run,) = runs_of(*words)
    one, other = (read_statistics(each, run.id) for each in (store, alone))
    assert one.keys() == other.keys()
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    assert one["sliders.observations.count"] > 96


def test_an_agent_that_scales_nothing_has_no_statistics_and_lacks_none(store):
    run = runs_of(*UNSCALED)[0]
    network = load_network(store, run.id)
    assert (network.lacks_statistics, network.statistics) == (False, {})
    assert set(read_record(store, run.id)["files"]) == {"metrics.parquet", "weights.pt"}
    x = torch.randn(3, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(network.prepared(x, "sliders"), x)
    with pytest.raises(InputError, match=r"frictions=\[1.0\]"):
        network.test_return("sliders")
    assert np.isfinite(network.test_return("sliders", frictions=[1.0] * 2))


def test_statistics_that_are_damaged_or_another_bodys_are_a_sentence(store):
    run = runs_of(*TESTED)[0]
    path, record = store.statistics(run.id), read_record(store, run.id)
    content = path.read_bytes()
    try:
        path.write_bytes(content[:-30])
        with pytest.raises(StoreError, match=r"statistics\.pt.*rerun=true"):
            load_network(store, run.id)
        path.unlink()
        with pytest.raises(StoreError, match=r"statistics\.pt"):
            load_network(store, run.id)
        whole = tensors_of(content)
        for name, wrong in (
            ("chosen.observations.mean", {name: value for name, value in whole.items() if "chosen" not in name}),
            ("sliders.rewards.count", whole | {"sliders.rewards.count": whole["sliders.rewards.count"].float()}),
            ("sliders.observations.mean", whole | {"sliders.observations.mean": torch.zeros(3).double()}),
        ):
            written = {"statistics.pt": write_statistics(store, run.id, wrong)}
            write_record(store, record | {"files": record["files"] | written})
            with pytest.raises(StoreError, match=f"statistics.*{run.id}.*{name}"):
                load_network(store, run.id)
    finally:
        path.write_bytes(content)
        write_record(store, record)
    assert not load_network(store, run.id).lacks_statistics


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda network: network(torch.zeros(2, 6)), "sliders, chosen"),
        (lambda network: network(torch.zeros(2, 6), "hopper"), "hopper.*sliders, chosen"),
        (lambda network: network(torch.zeros(2, 5), "sliders"), r"\(2, 5\).*\(B, 6\).*without B"),
        (lambda network: network.act(np.zeros((1, 2, 6)), "sliders"), r"\(1, 2, 6\).*\(B, 6\)"),
        (lambda network: network(torch.zeros(2, 6, requires_grad=True), "sliders"), "prepared=True"),
        (lambda network: network.test_return("sliders", frictions=[0.5]), "no friction"),
        (lambda network: network.test_return("sliders", frictions=[]), "frictions"),
    ],
)
def test_what_it_cannot_take_is_a_sentence(store, asked, said):
    with pytest.raises(InputError, match=said):
        asked(load_network(store, runs_of(*TESTED)[0].id))


@pytest.mark.sample(2)
@pytest.mark.parametrize("scaled", ["true", "false"])
def test_a_policy_that_was_shown_pixels_is_shown_pixels_again(tmp_path, scaled):
    words, store = (*PIXELS, f"agent.normalise_observations={scaled}"), Store(tmp_path / "store")
    trained(store, *words)
    (run,) = runs_of(*words)
    network = load_network(store.root, run.id)
    assert network.test_return() == last_test(store, run)
    environments = Environments(network.benchmark.body, [run.seed_of("stream_seed")], 3, 0, purpose="test")
    total = np.zeros(3)
    for _ in range(network.benchmark.body.max_steps):
        shown = environments.observations[0]
        assert shown.dtype == np.uint8
        total += environments.step(network.act(shown)[None]).rewards[0]
    assert total.tolist() == network.test_returns().tolist()
    given, prepared = network(shown), network.prepared(shown)
    assert torch.equal(given["policy"], network(prepared, prepared=True)["policy"])
    assert prepared.abs().max() == 1 or scaled == "true"
    for others in (shown / 255, shown.astype(int) + 1):
        with pytest.raises(InputError, match=r"pixels.*prepared=True"):
            network(others)
