"""Networks out of the store: rebuilt from their records, with the weights that were saved."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from plasticity_lab.agents.supervised.images import Pixels, laid_out
from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.sources import load_images
from plasticity_lab.errors import InputError, StoreError
from plasticity_lab.records.record import new_record, read_metrics, read_record, write_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import read_weights, write_weights
from plasticity_lab.saved_network import load_network
from tests.helpers.old_files import record_in_format_1
from tests.helpers.sweeps import runs_of, trained
from tests.tenants.packs import BODIES

pytestmark = pytest.mark.sample(2)

WORDS = ("activation=rrelu,crelu,prelu", "seed=1", "save_weights=final")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def last_accuracy(network, run):
    """Of the run's last task's held-out images, by the network alone."""
    images = load_images("digits", data_folder(None))
    benchmark = run.component("benchmark")
    lesson = benchmark.lesson(images, run.seed_of("stream_seed"), benchmark.tasks - 1)
    shown, labels = laid_out(images, [lesson], torch.device("cpu"), held_out=True)
    x = Pixels(images, benchmark.normalise, torch.device("cpu")).scaled(shown[0])
    return (network(x)["logits"].argmax(dim=1) == labels[0]).float().mean().item()


def test_a_saved_network_is_as_accurate_as_its_record_says(store):
    trained(store, *WORDS)
    for run in runs_of(*WORDS):
        network = load_network(store, run.id)
        assert not network.assumed
        said = read_metrics(store, run.id).to_pylist()[-1]["final_accuracy"]
        assert last_accuracy(network, run) == pytest.approx(said, abs=1e-6)
        assert network.units(torch.zeros(2, 64))[1]["hidden1"].shape[0] == 2


def test_an_old_record_is_refused(store):
    trained(store, "save_weights=final")
    (run,) = runs_of()
    record_in_format_1(store, run.id)
    with pytest.raises(StoreError, match="format 1"):
        load_network(store, run.id)


def test_classes_that_a_record_assumes_are_said_to_be(store):
    trained(store, "save_weights=final")
    (run,) = runs_of()
    write_record(store, read_record(store, run.id) | {"targets_assumed": True})
    network = load_network(store, run.id)
    assert network.assumed
    assert network.run.trained_by == run.trained_by


def test_what_cannot_be_loaded_is_a_sentence(store):
    with pytest.raises(StoreError, match="0123"):
        load_network(store, "0123")
    trained(store, "seed=0")
    with pytest.raises(StoreError, match="save_weights=final"):
        load_network(store, runs_of("seed=0")[0].id)


def test_a_store_is_named_by_its_path_too_and_a_run_by_the_beginning_of_its_id(store):
    trained(store, *WORDS)
    ids = sorted(run.id for run in runs_of(*WORDS))
    for named in (store, store.root, str(store.root)):
        for run in ids:
            start = next(run[:n] for n in range(1, 13) if sum(other.startswith(run[:n]) for other in ids) == 1)
            assert load_network(named, start).run.id == run
    twins = [store.run_folder(f"{ids[0][:11]}{last}") for last in "xy"]
    for folder in twins:
        folder.mkdir()
    with pytest.raises(StoreError, match=f"3 .*{ids[0]}, {twins[0].name}, {twins[1].name}"):
        load_network(store, ids[0][:11])
    assert load_network(store, ids[0]).run.id == ids[0]
    with pytest.raises(StoreError, match=f"run zz.*{ids[0]}"):
        load_network(store, "zz")


def test_weights_that_are_damaged_gone_or_others_are_a_sentence(store):
    trained(store, "save_weights=final")
    (run,) = runs_of()
    path, whole = store.weights(run.id), read_weights(store, run.id)
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    with pytest.raises(StoreError, match=r"weights\.pt.*rerun=true"):
        load_network(store, run.id)
    path.unlink()
    with pytest.raises(StoreError, match=r"weights\.pt.*rerun=true"):
        load_network(store, run.id)
    record = read_record(store, run.id)
    for wrong in (
        {name: value for name, value in whole.items() if name != "output.bias"},
        whole | {"output.bias": whole["output.bias"].double()},
        whole | {"output.bias": torch.zeros(3)},
    ):
        seal = write_weights(store, run.id, wrong)
        write_record(store, record | {"files": record["files"] | {"weights.pt": seal}})
        with pytest.raises(StoreError, match=r"\(output\.bias\)"):
            load_network(store, run.id)


def test_runs_that_diverged_are_loaded_and_say_so_and_those_that_failed_are_not(store):
    words = ("activation=rational", "optimizer=sgd", "optimizer.lr=1e6", "save_weights=final")
    trained(store, *words)
    (run,) = runs_of(*words)
    assert load_network(store, run.id).status == "diverged"
    write_record(store, new_record(replace(run, id="0" * 12), "failed", {}, error="out of memory"))
    with pytest.raises(StoreError, match=r"0{12}.*failed"):
        load_network(store, "0000")


def test_a_network_of_an_agent_of_ones_own_is_loaded_too(store):
    trained(store, *BODIES, "seed=0", "save_weights=final", "launch.workers=1")
    (run,) = runs_of(*BODIES, "seed=0")
    network = load_network(store, run.id)
    outputs, units = network.units([[0.0, 0.1, 0.2, 0.3]])
    assert outputs["policy"].shape == (1, 2)
    assert units
    with pytest.raises(InputError, match=r"\(1, 5\).*\(B, 4\)"):
        network(np.zeros((1, 5)))
    with pytest.raises(InputError, match=r"hopper.*cartpole"):
        network(np.zeros((1, 4)), "hopper")
