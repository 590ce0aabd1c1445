"""The one equation: a run's numbers do not depend on its mates, its place, the pack's width, or on being resumed.

Bit for bit, on one kind of device and in one mode, for every activation of conf/ at the shapes that benchmarks have.
"""

import numpy as np
import pytest
import torch

from plasticity_lab.benchmarks.labelled import stream
from plasticity_lab.component import load
from tests.helpers.packs import Trained, choice, choices, differing, images, needs_compiler, needs_kernels, run, trained

DIGITS, MNIST, COLOURED = images(8, 189, 45), images(28, 180, 45), images(32, 61, 45, channels=3)
SHAPES = {  # images, and the run: 12 steps a task, the last of 13 examples or of 4; of the CNN 2 × 4, 13 in the last
    "digits": (DIGITS, {"images": 189, "tasks": 2}),
    "mnist": (MNIST, {"images": 180}),
    "width 91": (MNIST, {"images": 180, "network": {"width": 91}}),
    "cnn": (
        COLOURED,
        {"images": 61, "epochs": 2, "network": {"name": "cnn"}, "normalise": "std", "benchmark": "labels"},
    ),
}
VARIANTS = {  # choices of structure that are not their file's
    "prelu": [{"scope": "layer"}, {"scope": "neuron"}],
    "bo_prelu": [{"scope": "layer"}, {"scope": "neuron"}],
    "rrelu": [{"eval_slope": 0.2}],
    "gelu": [{"form": "gate"}],
    "crelu": [{"width": "matched"}, {"width": "double"}],
    "deep_fourier": [{"width": "matched"}, {"width": "double"}],
    "swiglu": [{"width": "half"}],
    "rational": [{"version": version} for version in "BCD"]
    + [{"numerator_degree": 3, "denominator_degree": 2}, {"numerator_degree": 7, "denominator_degree": 6}],
}
OPTIMIZERS = {  # what of an optimizer's settings the mates have of their own, beside the learning rate
    "adamw": {"weight_decay": 0.5},
    "sgd": {"momentum": 0.9, "weight_decay": 0.1},
    "rmsprop": {"alpha": 0.9, "weight_decay": 0.1},
    "upgd": {"utility_decay": 0.9, "sigma": 0.3, "weight_decay": 0.1},
    "adaupgd": {"beta1": 0.5, "utility_decay": 0.9, "sigma": 0.3},
    "trac_adam": {"beta1": 0.5, "scale": 1e-3},
    "trac_adamw": {"weight_decay": 0.5, "scale": 1e-3},
    "trac_sgd": {"momentum": 0.9, "scale": 1e-3},
}
FAMILIES = [(name, {}) for name in choices("activation")]
KINDS = ("leaky_relu", "crelu", "deep_fourier", "swiglu", "bo_prelu", "rand_smooth_leaky")
"""Plain, concatenating (with one function, with two), gated, learnable, randomised: one of each."""
STRUCTURES = [(name, own) for name, several in VARIANTS.items() for own in several]


def named(family: tuple[str, dict]) -> str:
    name, own = family
    return " ".join([name, *map(str, own.values())])


class Case:
    """Our run and its mates, for one activation at one shape."""

    def __init__(self, family: tuple[str, dict], shape: str, optimizer: str = "adam", **longer) -> None:
        self.activation, self.own = family
        self.optimizer = optimizer
        self.images, self.settings = SHAPES[shape]
        self.settings = self.settings | longer
        target, self.default = choice("activation", self.activation)
        if shape == "width 91" and (self.default | self.own).get("width") == "half":
            self.settings = self.settings | {"network": {"width": 182}}  # whose half is 91
        self.real = load(target).run_axis_settings()

    def ours(self) -> dict:
        return run(1, self.activation, self.own, optimizer={"name": self.optimizer}, **self.settings)

    def mate(self, i: int) -> dict:
        """Another seed, learning rate and activation: earlier settings shrink more, so that bounds stay in order."""
        shrunk = {
            name: self.default[name] * (1 - 0.01 * i) ** (len(self.real) - place)
            for place, name in enumerate(self.real)
        }
        own = shrunk | self.own
        optimizer = {"name": self.optimizer, "lr": 10.0 ** -(2 + i % 3), **OPTIMIZERS.get(self.optimizer, {})}
        return run(100 + i, self.activation, own, optimizer=optimizer, **self.settings)

    def packed(self, runs: int, places: tuple[int, ...], **how) -> Trained:
        """A pack with our run at each of those places."""
        return trained([self.ours() if k in places else self.mate(k) for k in range(runs)], self.images, **how)

    def alone(self, **how) -> dict[str, np.ndarray]:
        return self.packed(1, (0,), **how).of(0)


def hold(case: Case, packs: dict[int, tuple[int, ...]], monkeypatch, **how) -> None:
    """The equation, for our run alone, at those places of packs of those widths, and interrupted."""
    alone = case.alone(**how)
    assert np.isfinite(alone["loss"]).all()
    for runs, places in packs.items():
        pack = case.packed(runs, places, **how)
        for place in places:
            assert not differing(alone, pack.of(place)), f"place {place} of {runs}"
        assert differing(alone, pack.of(next(k for k in range(runs) if k not in places)))
    # In mid-epoch, between the last step of a task and its evaluation, and after it; with chunks of another length.
    monkeypatch.setattr(stream, "CHUNK_STEPS", 3)
    resumed = case.packed(4, (2,), stops=(1, 3, 1), **how)
    assert resumed.measured.chunks[0] == (0, 3)
    assert not differing(alone, resumed.of(2)), "interrupted"


@pytest.mark.walk(5)
@pytest.mark.parametrize("family", FAMILIES, ids=named)
def test_a_run_is_the_same_alone_packed_and_resumed(family, monkeypatch):
    hold(Case(family, "digits"), {4: (1,), 32: (0, 13, 31)}, monkeypatch)


@pytest.mark.walk(3)
@pytest.mark.parametrize("shape", ["mnist", "width 91"])
@pytest.mark.parametrize(
    "family",
    [pytest.param(each, marks=() if each[0] in KINDS else pytest.mark.slow) for each in FAMILIES],
    ids=list(map(named, FAMILIES)),
)
def test_so_it_is_at_other_shapes(family, shape, monkeypatch):
    hold(Case(family, shape), {4: (1,), 32: (0, 13, 31)}, monkeypatch)


@pytest.mark.walk(4)
@pytest.mark.parametrize("family", STRUCTURES, ids=named)
def test_so_is_every_other_structure_of_an_activation(family, monkeypatch):
    hold(Case(family, "digits"), {4: (3,)}, monkeypatch)


@pytest.mark.parametrize("activation", ["leaky_relu", "rand_smooth_leaky"])
def test_so_is_a_convolutional_network(activation, monkeypatch):
    hold(Case((activation, {}), "cnn"), {2: (1,)}, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES + STRUCTURES, ids=named)
def test_so_is_a_convolutional_network_with_every_activation(family, monkeypatch):
    hold(Case(family, "cnn"), {4: (1,), 13: (12,)}, monkeypatch)


@pytest.mark.walk(2)
@pytest.mark.parametrize("optimizer", choices("optimizer"))
def test_so_is_every_optimizer(optimizer, monkeypatch):
    """Of odd widths, and with a value of the activation's own to learn."""
    hold(Case(("prelu", {"scope": "neuron"}), "width 91", optimizer, tasks=2), {4: (1,), 13: (12,)}, monkeypatch)


@pytest.mark.walk(2)
@pytest.mark.parametrize(
    "settings",
    [{"batch_size": 7}, {"batch_size": 10, "network": {"width": 91}}, {"batch_size": 1, "steps": 12}],
    ids=["batches of 7", "batches of 10, width 91", "batches of 1"],
)
@pytest.mark.parametrize("activation", ["relu", "rand_smooth_leaky"])
def test_batches_of_any_size(activation, settings):
    """Not a multiple of 4: a run's rows would begin off 16-byte boundaries if they were not padded."""
    alone = Case((activation, {}), "digits", **settings).alone()
    for runs, place in ((2, 1), (3, 1), (4, 3), (7, 6)):
        packed = Case((activation, {}), "digits", **settings).packed(runs, (place,))
        assert not differing(alone, packed.of(place)), f"place {place} of {runs}"


@pytest.mark.parametrize("batch", [{"batch_size": 16}, {"batch_size": 4, "steps": 12}, {"batch_size": 1, "steps": 12}])
@pytest.mark.parametrize(
    ("activation", "own", "network"),
    [("leaky_relu", {}, {"width": 1}), ("leaky_relu", {}, {"width": 1, "depth": 3}), ("crelu", {}, {"width": 2})],
)
def test_layers_of_one_unit_or_one_input(activation, own, network, batch):
    case = Case((activation, own), "mnist", network=network, **batch)
    alone = case.alone()
    for runs, place in ((2, 1), (3, 0), (5, 4), (8, 3)):
        assert not differing(alone, case.packed(runs, (place,)).of(place)), f"place {place} of {runs}"


@pytest.mark.parametrize("order", ["shuffle", "class_blocks"])
def test_orders_and_drawn_subsets(order, monkeypatch):
    settings = {"order": order, "subset": "drawn", "images": 178, "benchmark": "labels", "labels": "permute"}
    hold(Case(("relu", {}), "digits", **settings), {4: (1,)}, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES + STRUCTURES, ids=named)
def test_it_holds_for_hundreds_of_steps(family):
    for shape, epochs in (("digits", 15), ("width 91", 8)):
        case = Case(family, shape, epochs=epochs)
        alone = case.alone()
        for runs, places in ((4, (3,)), (32, (5, 30))):
            pack = case.packed(runs, places)
            for place in places:
                assert not differing(alone, pack.of(place)), f"{shape}, place {place} of {runs}"
        assert not differing(alone, case.packed(4, (2,), stops=(3, 2)).of(2)), f"{shape}, interrupted"


@pytest.mark.only(3)
@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("family", FAMILIES + STRUCTURES, ids=named)
def test_compiled_it_holds_too_and_agrees_with_eager_to_rounding(family):
    case = Case(family, "width 91")
    eager, alone, pack = case.alone(), case.alone(compiled=True), case.packed(4, (1, 3), compiled=True)
    torch._dynamo.reset()
    for place in (1, 3):
        assert not differing(alone, pack.of(place)), f"place {place} of 4"
    np.testing.assert_allclose(alone["loss"], eager["loss"], rtol=1e-5)
    for name in eager.keys() - {"loss", "accuracy", "final_accuracy"}:
        np.testing.assert_allclose(alone[name], eager[name], rtol=0, atol=1e-4)


ODD = Case(("leaky_relu", {}), "digits", network={"depth": 1, "width": 37})
"""Odd widths, and batches of any size, which need no padding by kernels; one hidden layer, to compile sooner."""
BY_KERNELS = {"compiled": True, "kernels": True}


@pytest.mark.slow
@needs_kernels
def test_by_our_kernels_a_run_is_the_same_alone_and_in_a_pack_that_is_interrupted():
    """A minute of compiling on a new machine, so `make test` leaves it to CI, which runs it by name."""
    alone, pack = ODD.alone(**BY_KERNELS), ODD.packed(4, (1, 3), stops=(1, 1), **BY_KERNELS)
    assert not differing(alone, pack.of(1))
    assert not differing(alone, pack.of(3))
    assert differing(alone, pack.of(0))
    np.testing.assert_allclose(alone["loss"], ODD.alone()["loss"], rtol=1e-5)


@pytest.mark.slow
@needs_kernels
@pytest.mark.parametrize(
    ("shape", "activation", "settings"),
    [
        ("mnist", "leaky_relu", {}),
        ("mnist", "rand_smooth_leaky", {"network": {"width": 1}}),
        ("width 91", "prelu", {"batch_size": 7}),
        ("digits", "relu", {"network": {"norm": "layer"}}),
        ("cnn", "relu", {}),
    ],
)
def test_by_our_kernels_so_are_other_networks(shape, activation, settings, monkeypatch):
    """Those with numbers of other layers to learn, too, which the composed step of the optimizer takes."""
    case = Case((activation, {}), shape, **settings)
    hold(case, {2: (1,), 5: (0, 4)}, monkeypatch, compiled=True, kernels=True)
    eager, ours = case.alone(), case.alone(compiled=True, kernels=True)
    np.testing.assert_allclose(ours["loss"], eager["loss"], rtol=1e-4)


@pytest.mark.slow
@needs_kernels
@pytest.mark.parametrize("optimizer", ["adam", "rmsprop"])
def test_by_our_kernels_gradients_that_somebody_needs_are_laid_out(optimizer, monkeypatch):
    """L2-Init penalises, RMSprop has no kernel: products by the kernels, the step composed."""
    pulled = "plasticity_lab.interventions.l2_init.L2Init", {"strength": 1e-3}
    case = Case(("relu", {}), "digits", optimizer, network={"depth": 1}, intervention=pulled)
    hold(case, {3: (1,)}, monkeypatch, compiled=True, kernels=True)
    eager, ours = case.alone(), case.alone(compiled=True, kernels=True)
    np.testing.assert_allclose(ours["loss"], eager["loss"], rtol=1e-5)
