"""Networks out of the store: rebuilt from their records, with the weights that were saved."""

import json

import pytest
import torch

from plasticity_lab.agents.supervised.images import Pixels, laid_out
from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.sources import load_images
from plasticity_lab.errors import StoreError
from plasticity_lab.records.record import read_metrics
from plasticity_lab.records.store import Store
from plasticity_lab.saved_network import load_network
from tests.helpers.sweeps import runs_of, trained

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


def test_the_classes_of_an_old_record_are_those_of_today_and_it_says_so(store):
    trained(store, "save_weights=final")
    (run,) = runs_of()
    path = store.record(run.id)
    record = json.loads(path.read_text()) | {"format": 1}
    del record["targets"]
    path.write_text(json.dumps(record))
    network = load_network(store, run.id)
    assert network.assumed
    assert network.run.targets == run.targets
    record["science"]["activation"]["name"] = "forgotten"
    path.write_text(json.dumps(record))
    with pytest.raises(StoreError, match="activation=forgotten"):
        load_network(store, run.id)


def test_what_cannot_be_loaded_is_a_sentence(store):
    with pytest.raises(StoreError, match="no record of run 0123"):
        load_network(store, "0123")
    trained(store, "seed=0")
    with pytest.raises(StoreError, match="save_weights=final"):
        load_network(store, runs_of("seed=0")[0].id)
