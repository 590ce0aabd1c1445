import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d, max_pool2d

from plasticity_lab.activations.activation import Activation, Learnable, Site
from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.deep_fourier import DeepFourier
from plasticity_lab.activations.leaky_relu import LeakyReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.rational import Rational
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.cnn_case_study import CNNCaseStudy
from plasticity_lab.networks.convolutional import ORDERS
from plasticity_lab.randomness.host import host_stream
from tests.helpers.networks import classifier, logits
from tests.helpers.packs import CPU, choices, differing, images, run, trained

CIFAR, DIGITS = (3, 32, 32), (1, 8, 8)
SMALL = {"name": "cnn", "kernel": 3, "padding": "same", "channels": 8, "width": 22}
FAMILIES = {  # one of each kind
    "plain": ("leaky_relu", {}),
    "concatenating": ("crelu", {}),
    "trimmed to odd widths": ("deep_fourier", {"width": "matched"}),
    "gated": ("swiglu", {}),
    "learnable": ("prelu", {"scope": "neuron"}),
    "randomised": ("rand_smooth_leaky", {}),
}
SETTINGS = {
    "32×32×3": (images(32, 36, 20, channels=3), {}),
    "digits": (images(8, 36, 20), {"network": SMALL}),
    "digits, 5×5, pooled first": (
        images(8, 36, 20),
        {"network": {"name": "cnn", "padding": "same", "order": "pool_activation"}},
    ),
}


class Numbered(Activation):
    """Keeps the numbers it is given for its elements; learns a slope for each channel."""

    randomised = True

    def __init__(self) -> None:
        self.taken = []

    def __call__(self, x, site):
        self.taken.append(site.uniform)
        assert site.uniform.shape == x.shape
        return x

    def learnable(self, produced):
        return {"own": Learnable([0.0] * produced)}


def model(activation=None, image=CIFAR, network=None, classes=10, runs=1):
    return classifier(network or CNN(), [activation or ReLU()] * runs, image, classes)


@pytest.mark.parametrize(
    ("activation", "channels", "width", "size"),
    [
        (ReLU(), 16, 100, 58_842),
        (CReLU("half"), 8, 50, 29_926),
        (DeepFourier("half"), 8, 50, 29_926),
        (CReLU("double"), 16, 100, 116_242),
        (SwiGLU("double"), 32, 200, 116_674),
        (SwiGLU("half"), 16, 100, 30_142),
        (PReLU("global"), 16, 100, 58_843),
        (PReLU("layer"), 16, 100, 58_846),
        (PReLU("neuron"), 16, 100, 59_074),
        (Rational("A"), 16, 100, 58_882),
    ],
)
def test_parameters_are_as_many_as_published(activation, channels, width, size):
    """32 × 32 × 3, 10 classes."""
    built = model(activation)
    assert [unit.produced for unit in built.units] == [(channels, 28, 28), (channels, 10, 10), (width,), (width,)]
    assert built.size == size


def test_the_network_of_the_case_studies_pools_behind_every_other_convolution():
    built = model(network=CNNCaseStudy(), classes=100)
    sides = [unit.produced for unit in built.units]
    assert sides == [(32, 32, 32), (32, 32, 32), (32, 16, 16), (32, 16, 16), (256,)]
    assert built.size == 896 + 3 * 9_248 + 524_544 + 25_700
    assert [unit.outgoing for unit in built.units][-2:] == [("hidden1",), ("output",)]
    assert {unit.kind for unit in built.units[:4]} == {"channel"}
    assert CNNCaseStudy().gain(None, LeakyReLU(0.5)) == LeakyReLU(0.5).gain()


@pytest.mark.parametrize(("classes", "percent", "size"), [(10, 27, 59_321), (2, 27, 58_145), (100, 31, 68_407)])
def test_matching_trims_what_kumar_trims(classes, percent, size):
    built = model(CReLU("matched"), classes=classes)
    assert built.units[3].produced == (100 - percent,)
    assert built.units[0].produced[0] == 11
    assert built.size == size >= model(classes=classes).size


def test_units_say_which_layers_stand_around_them_and_what_the_activation_is_given():
    named = [("conv1", "conv1", ("conv2",)), ("conv2", "conv2", ("hidden1",)), ("hidden1", "hidden1", ("hidden2",)),
             ("hidden2", "hidden2", ("output",))]  # fmt: skip
    for settings, sides in [({}, (28, 10)), ({"padding": "same"}, (32, 16)), ({"order": "pool_activation"}, (14, 5))]:
        units = model(network=CNN(**settings)).units
        assert [(unit.incoming, unit.name, unit.outgoing) for unit in units] == named
        assert [unit.produced for unit in units[:2]] == [(16, side, side) for side in sides]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("activation", [LeakyReLU(0.3), CReLU(), DeepFourier("matched"), SwiGLU()])
def test_the_forward_pass_is_a_plain_one_for_every_run(activation, padding, order):
    built = model(activation, (2, 19, 18), CNN(kernel=3, padding=padding, order=order), runs=3)
    parameters = built.start([3, 1, 2], CPU)
    x_KBD = torch.from_numpy(host_stream(0, "x").normal(size=(3, 5, 2 * 19 * 18)).astype(np.float32))
    shape = {name: torch.full((3,), value) for name, value in activation.on_run_axis().items()}
    logits_KBO, hidden = logits(built, parameters, shape, x_KBD, None)
    assert logits_KBO.shape == (3, 5, 10)
    for k in range(3):
        site = Site({name: value[k : k + 1] for name, value in shape.items()}, {})
        x = x_KBD[k].view(5, 2, 19, 18)
        for layer in built.design.layers:
            weight, bias = (parameters[f"{layer.name}.{part}"][k, :, : layer.outputs] for part in ("weight", "bias"))
            if layer.name.startswith("conv"):
                x = conv2d(x, weight.T.reshape(layer.outputs, x.shape[1], 3, 3), bias[0], padding=padding)
                x = max_pool2d(x, 2) if order == "pool_activation" else x
                x = activation(x.unsqueeze(0), site)[0]
                torch.testing.assert_close(hidden[layer.name][k], x, rtol=1e-5, atol=1e-5)
                x = max_pool2d(x, 2) if order == "activation_pool" else x
            else:
                x = x.flatten(1) @ weight + bias
                x = x if layer.name == "output" else activation(x.unsqueeze(0), site)[0]
        torch.testing.assert_close(logits_KBO[k], x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_every_element_before_an_activation_gets_a_number_of_its_own(order):
    built = model(Numbered(), DIGITS, CNN(kernel=3, padding="same", channels=2, width=7, order=order))
    numbers = torch.arange(built.draws(5)).reshape(1, -1).float()
    parameters = built.start([0], CPU)
    assert parameters["conv1.activation.own"].shape == (1, 2)
    built.forward(parameters, {}, torch.zeros(1, 5, 64), numbers)
    taken = built.activation.taken
    assert torch.equal(torch.cat([uniform.movedim(2, -1).flatten() for uniform in taken]), numbers.flatten())


@pytest.mark.parametrize(
    "settings",
    [{"channels": 0}, {"kernel": 0}, {"width": 0}, {"padding": "full"}, {"order": "none"}, {"init": "xavier"}],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ConfigError, match=f"network.{next(iter(settings))} is"):
        CNN(**settings)


def test_a_kernel_that_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match=r"conv2.*2 × 2"):
        model(image=DIGITS)


def test_an_even_kernel_keeps_the_size_of_images_too():
    built = model(image=DIGITS, network=CNN(kernel=4, padding="same", order="pool_activation"))
    assert [unit.produced for unit in built.units[:2]] == [(16, 4, 4), (16, 2, 2)]


def ours(family: tuple[str, dict], seed: int, lr: float = 1e-3, **settings) -> dict:
    """A batch of 32 and a last one of 4."""
    stream = {"images": 36, "batch_size": 32, "normalise": "half", "network": {"name": "cnn"}}
    return run(seed, *family, optimizer={"lr": lr}, **(stream | settings))


def hold(family: tuple[str, dict], setting: str, packs: dict[int, tuple[int, ...]], **how) -> None:
    """Our run alone has the bits that it has at those places of packs of those widths."""
    image_set, settings = SETTINGS[setting]
    alone = trained([ours(family, 1, **settings)], image_set, **how).of(0)
    assert np.isfinite(alone["loss"]).all()
    assert len(alone["loss"]) == 2
    for runs, places in packs.items():
        mates = [ours(family, 100 + k, 10.0 ** -(2 + k % 3), **settings) for k in range(runs)]
        pack = trained(
            [ours(family, 1, **settings) if k in places else mates[k] for k in range(runs)], image_set, **how
        )
        for place in places:
            assert not differing(alone, pack.of(place)), f"place {place} of {runs}"


@pytest.mark.walk(4)
@pytest.mark.parametrize("setting", ["digits", "digits, 5×5, pooled first"])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_run_is_the_same_alone_and_at_every_place_of_a_pack(family, setting):
    hold(family, setting, {2: (1,), 3: (0, 2), 4: (1, 3), 8: (0, 5)})


@pytest.mark.parametrize("name", choices("activation"))
def test_every_activation_works_with_convolutions(name):
    hold((name, {}), "digits", {3: (1,)})


@pytest.mark.parametrize(("name", "network"), [("cnn", CNN()), ("cnn_case_study", CNNCaseStudy())])
def test_what_is_no_image_is_refused_by_the_networks_own_name(name, network):
    with pytest.raises(ConfigError, match=rf"network={name}.*network=mlp"):
        model(image=(64,), network=network)
