"""A classifier out of the store: images prepared as its training prepared them, for any of its tasks."""

import numpy as np
import pytest
import torch

from plasticity_lab.agents.supervised.images import Pixels, laid_out
from plasticity_lab.assembly import model_of
from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.sources import load_images
from plasticity_lab.errors import DataError, InputError
from plasticity_lab.records.record import new_record, read_metrics, write_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import write_weights
from plasticity_lab.saved_network import SavedClassifier, load_network
from tests.helpers.packs import CPU
from tests.helpers.sweeps import runs_of, trained

KEPT = ("seed=3", "save_weights=final", "launch.workers=1")
BENCHMARKS = {
    "permuted_digits": (),
    "permuted_digits_20": ("benchmark.unpermuted_first=true", "network=cnn_case_study", "benchmark.normalise=half"),
    "random_label_digits": ("benchmark.normalise=std",),
    "continual_digits": (),
    "digits51": (),
    "split_digits": ("agent=experience_replay",),
    "split_digits_joint": (),
}


def words_of(name: str) -> tuple[str, ...]:
    return (f"benchmark={name}", *BENCHMARKS[name], *KEPT)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    store = Store(tmp_path_factory.mktemp("classifiers") / "store")
    for name in BENCHMARKS:
        trained(store, *words_of(name))
    return store


@pytest.fixture
def permuted(store):
    return load_network(store, runs_of(*words_of("permuted_digits"))[0].id)


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_images_are_prepared_as_in_every_task_of_the_training(store, name):
    """Its own images under their own labels give the accuracy that the record says of the last task, too."""
    (run,) = runs_of(*words_of(name))
    network, benchmark = load_network(str(store.root), run.id[:9]), run.component("benchmark")
    images = load_images("digits", data_folder(None))
    for task in range(benchmark.tasks):
        lesson = benchmark.lesson(images, run.seed_of("stream_seed"), task)
        shown, labels = laid_out(images, [lesson], CPU, held_out=True)
        expected = Pixels(images, benchmark.normalise, CPU).scaled(shown[0])
        split = images.test_images if lesson.held_out_split == "test" else images.train_images
        raw = split[lesson.held_out]
        assert torch.equal(network.prepared(raw, task), expected)
        flat = raw.reshape(len(raw), -1)
        assert torch.equal(network.prepared(flat[:, network.pixel_order(task)]), expected)
        found = network.lesson(task)
        assert np.array_equal(found.held_out_labels, labels[0])
    accuracy = (network(raw, task)["logits"].argmax(dim=1) == labels[0]).float().mean().item()
    rows = [row for row in read_metrics(store, run.id).to_pylist() if row["kind"] == "task"]
    assert accuracy == pytest.approx(rows[-1]["final_accuracy"], abs=1e-6)


def test_pixel_orders_are_permutations_of_their_own_and_the_first_may_be_none(store, permuted):
    orders = [permuted.pixel_order(task) for task in range(3)]
    assert all(sorted(order) == list(range(64)) for order in orders)
    assert not np.array_equal(orders[0], orders[1])
    first = load_network(store, runs_of(*words_of("permuted_digits_20"))[0].id)
    assert first.pixel_order(0).tolist() == list(range(64))
    assert first.pixel_order(np.int64(1)).tolist() != list(range(64))
    x = torch.rand(2, 64, generator=torch.Generator().manual_seed(0))
    permuted_x = x[:, torch.from_numpy(orders[1])]
    assert torch.equal(permuted(x, task=1)["logits"], permuted(permuted_x)["logits"])


def test_it_says_which_class_an_output_stands_for(store):
    digits = load_images("digits", data_folder(None))
    for name in ("continual_digits", "digits51", "split_digits"):
        (run,) = runs_of(*words_of(name))
        network, benchmark = load_network(store, run.id), run.component("benchmark")
        for task in range(benchmark.tasks):
            own = benchmark.classes_of(run.seed_of("stream_seed"), task, digits.classes).tolist()
            renamed = name == "continual_digits"
            assert network.classes(task) == (dict(enumerate(own)) if renamed else {each: each for each in sorted(own)})
    everything = load_network(store, runs_of(*words_of("permuted_digits"))[0].id)
    assert everything.classes(2) == {each: each for each in range(10)}
    with pytest.raises(InputError, match=r"random_label_digits.*network\.lesson"):
        load_network(store, runs_of(*words_of("random_label_digits"))[0].id).classes(0)


@pytest.mark.parametrize("shape", [(3, 64), (3, 1, 8, 8), (3, 8, 8)])
@pytest.mark.parametrize("kind", [np.float64, np.float16, np.uint8])
def test_arrays_of_any_layout_are_taken(permuted, shape, kind):
    images = np.random.default_rng(0).integers(0, 17, (3, 64)).astype(np.uint8)
    expected = permuted(torch.from_numpy(images))["logits"]
    given = (images if kind == np.uint8 else (images / 16).astype(kind)).reshape(shape)
    for one in (given, given[:, ::-1][:, ::-1], given.tolist() if kind != np.uint8 else given, torch.tensor(given)):
        assert torch.equal(permuted(one)["logits"], expected)
    assert permuted(given[:0])["logits"].shape == (0, 10)
    for alone in (given[0].reshape(64), given[0].reshape(8, 8)):
        assert torch.equal(permuted(alone)["logits"], expected[0])


def test_gradients_go_through_to_the_pixels(permuted):
    x = torch.rand(2, 64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    permuted(x, task=1)["logits"].sum().backward()
    assert x.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.zeros((5, 63)), r"\(5, 63\).*\(B, 64\).*\(B, 1, 8, 8\).*\(B, 8, 8\).*without B"),
        (torch.zeros(5, 8, 8, 1), r"\(5, 8, 8, 1\)"),
        (0.5, r"\(\)"),
        (torch.zeros(2, 64, dtype=torch.int64), "int64.*uint8.*raw"),
        (np.zeros((2, 64), bool), "bool.*uint8"),
        (np.zeros((2, 64), complex), "complex128"),
        ("pixels", "<U6"),
        ([[0.0] * 64, [0.0] * 63], "no array of numbers"),
        (None, "object"),
        (np.full((2, 64), 255, np.uint8), "255.*16"),
    ],
)
def test_what_it_cannot_take_is_a_sentence(permuted, given, said):
    with pytest.raises(InputError, match=said):
        permuted(given)


@pytest.mark.parametrize("task", [-1, 3, 1.0, "1", True])
def test_a_task_that_there_is_not_is_a_sentence(permuted, task):
    with pytest.raises(InputError, match=r"from 0 to 2"):
        permuted.pixel_order(task)


def test_what_needs_no_files_of_the_images_answers_without_them_and_nothing_is_guessed(tmp_path):
    """Means and deviations are measured on the images; the brightest pixel and the shape are known."""
    half, std = (_untrained(tmp_path / each, f"benchmark.normalise={each}") for each in ("half", "std"))
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32)).astype(np.uint8)
    assert torch.equal(half(images)["logits"], half(images.reshape(2, -1) / np.float32(127.5) - 1)["logits"])
    assert torch.equal(half(images[0])["logits"], half(images)["logits"][0])
    assert half.pixel_order(1).tolist() == list(range(3072))
    for wrong in (images[0, 0], images.transpose(0, 2, 3, 1)):
        with pytest.raises(InputError, match=r"\(B, 3, 32, 32\)"):
            half(wrong)
    assert std(images.astype(np.float32))["logits"].shape == (2, 10)
    for asked in (lambda: std(images), lambda: half.lesson(0)):
        with pytest.raises(DataError, match="data fetch cifar10"):
            asked()


def _untrained(root, *words) -> SavedClassifier:
    """A run of which the image set is not there, with the weights that it would have begun with."""
    (run,) = runs_of("benchmark=random_label_cifar", "network=mlp", "save_weights=final", *words)
    store = Store(root)
    start = model_of([run], run.component("benchmark").outline()).start([0], CPU)
    files = {"weights.pt": write_weights(store, run.id, {name: value[0] for name, value in start.items()})}
    write_record(store, new_record(run, "done", {}, files=files))
    return load_network(store, run.id, data=root / "nowhere")
