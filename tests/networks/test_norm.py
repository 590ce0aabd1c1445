"""Normalisation as an option of every network: the formulas, the bits in packs, and that ids do not see it."""

import numpy as np
import pytest
import torch
from torch.nn.functional import layer_norm, rms_norm

from launch.command import resolve
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.networks.units import forget, start_anew
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.conv import StackedConv2d
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import EPSILON, StackedDiagonal, StackedNormed, StackedRMSNormed
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, choices, differing, images, run, trained

IMAGES = images(8, 36, 20)
SMALL = {  # networks of images that fit on 8 × 8 pixels, some widths odd
    "mlp": {"width": 26},  # whose half is odd
    "cnn": {"kernel": 3, "padding": "same", "channels": 5, "width": 22},
    "cnn_case_study": {"channels": 5, "width": 30},
}

OWN_NORM = {"resnet18": "batch", "vit": "layer"}
"""Networks with a normalisation by default, as published."""


def drawn(name: str, *shape: int) -> torch.Tensor:
    return torch.from_numpy(host_stream(0, name).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("outputs", [1, 7, 8])
@pytest.mark.parametrize("kind", ["linear", "conv"])
@pytest.mark.parametrize("norm", [StackedNormed, StackedRMSNormed, StackedDiagonal])
def test_a_normalised_layer_and_its_gradients_are_pytorchs(norm, kind, outputs):
    plain = (
        StackedLinear("another", 12, outputs)
        if kind == "linear"
        else StackedConv2d("another", (2, 6, 5), outputs, 3, "valid")
    )
    layer = norm("own", plain)
    draw = host_stream(0, "start")
    runs = [layer.start(draw, "default", 1.0) for _ in range(3)]
    parameters = {name: torch.from_numpy(np.stack([of[name] for of in runs])) for name in runs[0]}
    parts = ("scale",) if norm is StackedRMSNormed else ("scale", "shift")
    assert set(parameters) == {f"own.{part}" for part in ("weight", "bias", *parts)}
    assert layer.size == plain.size + len(parts) * outputs
    for part in parts:
        parameters[f"own.{part}"] += drawn(part, 3, 1, outputs)
    x = drawn("x", 3, 4, 12) if kind == "linear" else drawn("x", 3, 4, 2, 6, 5)
    weights = drawn("weights", *layer(parameters, x).shape)

    def as_pytorch(own: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        h = layer.layer(own, x)
        of_pytorch = {StackedNormed: layer_norm, StackedRMSNormed: rms_norm}.get(norm, lambda h, *_, **__: h)
        rows = of_pytorch(h.flatten(2), (h[0, 0].numel(),), eps=EPSILON).view_as(h)
        scale, *shift = (own[f"own.{part}"].view(3, 1, outputs, *[1] * (h.dim() - 3)) for part in parts)
        return rows * scale + shift[0] if shift else rows * scale

    def gradients(forward):
        own = {name: value.clone().requires_grad_() for name, value in parameters.items()}
        given = x.clone().requires_grad_()
        result = forward(own, given)
        (result * weights).sum().backward()
        return [result.detach(), given.grad, *(own[name].grad for name in sorted(own))]

    for ours, theirs in zip(gradients(layer), gradients(as_pytorch), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=2e-5)


def hold(
    network: str, packs: dict[int, tuple[int, ...]], activation: str = "rand_smooth_leaky", norm: str = "layer", **how
) -> None:
    """Our run alone has the bits that it has at those places of packs of those widths, and resumed."""
    settings = {"images": 36, "batch_size": 13, "normalise": "half", "tasks": 2}
    settings["network"] = {"name": network, "norm": norm} | SMALL[network]

    def of(seed: int, lr: float) -> dict:
        return run(seed, activation, optimizer={"lr": lr}, **settings)

    alone = trained([of(1, 1e-3)], IMAGES, **how).of(0)
    assert np.isfinite(alone["loss"]).all()
    assert (alone["hidden1.scale"] != 1).all()
    for runs, places in packs.items():
        pack = [of(1, 1e-3) if k in places else of(100 + k, 10.0 ** -(2 + k % 3)) for k in range(runs)]
        of_pack = trained(pack, IMAGES, stops=() if how else (2,), **how)
        for place in places:
            assert not differing(alone, of_pack.of(place)), f"place {place} of {runs}"


@pytest.mark.parametrize("norm", ["layer", "rms", "diagonal"])
@pytest.mark.parametrize("network", SMALL)
def test_a_normalised_run_is_the_same_alone_packed_and_resumed(network, norm):
    hold(network, {2: (1,), 3: (0, 2), 8: (0, 5)}, norm=norm)


@pytest.mark.parametrize("activation", ["crelu", "deep_fourier", "prelu", "swiglu"])
def test_so_it_is_with_activations_that_learn_or_change_widths(activation):
    hold("mlp", {3: (1,)}, activation)


@pytest.mark.parametrize("network", choices("network"))
def test_every_network_can_have_it_and_refuses_other_words(network):
    target, settings = choice("network", network)
    assert settings["norm"] == OWN_NORM.get(network, "none")
    assert build("network", network, target, settings | {"norm": "layer"}).norm == "layer"
    with pytest.raises(ConfigError, match=r"network\.norm.*'group'.*none, layer, rms, diagonal, batch"):
        build("network", network, target, settings | {"norm": "group"})


def test_what_no_activation_follows_is_not_normalised():
    bodies = {name: Shapes((3,), {"policy": 2, "value": 1}) for name in ("one", "other")}
    model = Model(ActorCritic(width=8, norm="layer"), [ReLU()], bodies)
    scaled = {name.removesuffix(".scale") for name in model.start([0], CPU) if name.endswith(".scale")}
    assert scaled == {"one.adapter", "other.adapter", "trunk1", "trunk2"}
    assert model.owner("one.adapter.scale") == "one"
    bare = Model(ActorCritic(width=8, norm="layer", adapter_activation=False), [ReLU()], bodies)
    assert "one.adapter.scale" not in bare.start([0], CPU)


def test_the_id_sees_it_only_where_it_is_not_none():
    plain, without, normed = (resolve(words).runs[0] for words in ([], ["network.norm=none"], ["network.norm=layer"]))
    assert plain.id == without.id != normed.id
    assert plain.science["network"]["norm"] == "none"


def test_a_unit_that_starts_anew_has_a_fresh_scale_and_shift_and_no_moments():
    model = classifier(MLP(width=8, norm="layer"), [ReLU()] * 2, (1, 8, 8), 10)
    parameters = model.start([0, 1], CPU)
    moments = {"first": {name: torch.ones_like(value) for name, value in parameters.items()}}
    for value in parameters.values():
        value.add_(1.0)
    unit, chosen = model.units[0], np.array([0, 3])
    start_anew(model, parameters, 0, unit, chosen, host_stream(0, "weights", "hidden1"))
    forget(model, moments, 0, unit, chosen)
    for name, start in (("hidden1.scale", 1.0), ("hidden1.shift", 0.0)):
        assert (parameters[name][0, 0, chosen] == start).all()
        assert (parameters[name][0, 0, [1, 2]] == start + 1).all()
        assert not moments["first"][name][0, 0, chosen].any()
        assert moments["first"][name][1].all()
