"""The network of SAC on images beside plain torch, and by hand: places, sums over tokens, and where gradients go."""

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d, layer_norm, linear, pad, relu

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.networks.heads.dense import Flatten
from plasticity_lab.networks.heads.tokenised import Tokenised
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.networks.pixel_actor_critic import PixelActorCritic
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.token_sum import StackedTokenSum
from tests.helpers.packs import CPU

OUTPUTS = {"mean": 3, "log_std": 3, "q1": 1, "q2": 1}


def model(image, head=None, **settings):
    network = PixelActorCritic(**settings).headed(head or Flatten())
    return Model(network, [ReLU()] * 2, {"game": Shapes(image, OUTPUTS, beside=3)})


def drawn(*shape, seed=0):
    return torch.from_numpy(host_stream(seed, "drawn", *shape).normal(size=shape).astype(np.float32))


def test_of_84_pixels_it_has_the_places_and_the_parameters_of_dopamines():
    built = model((4, 84, 84))
    assert [unit.produced for unit in built.units[:4]] == [(32, 42, 42)] * 4
    convolutions = (4 * 9 + 1) * 32 + 3 * (32 * 9 + 1) * 32
    projections = 2 * ((42 * 42 * 32 + 1) * 50 + 2 * 50)
    critics, actor = 2 * (54 * 512 + 513), 51 * 512 + 2 * 513 * 3
    assert built.size == convolutions + projections + critics + actor
    tokenised = model((4, 84, 84), Tokenised())
    assert built.size - tokenised.size == 2 * (42 * 42 - 1) * 32 * 50
    channels = model((4, 84, 84), Tokenised(), tokens="per_feat")
    assert channels.size - tokenised.size == 2 * (42 * 42 - 32) * 50


def test_the_first_convolution_pads_as_jax_does_by_hand():
    """4 × 4 places, 1 to 16, the sum of 3 × 3 from each second one: nothing is added above and left, a row and a column
    of zeros below and right."""
    built = model((1, 4, 4), channels=1, projection=4, hidden=4)
    parameters = built.start([0, 1], CPU)
    parameters["conv1.weight"].fill_(1.0)
    x = torch.arange(1.0, 17.0).expand(2, 4, 16)
    _, hidden = built.forward(parameters, {}, x, None)
    assert hidden["conv1"][1, 2, 0].tolist() == [[54.0, 45.0], [72.0, 54.0]]


def plain(parameters, image, x, tokens):
    """One run, literally: each token through the dense layer by itself, then the sum."""
    own = {name: value for name, value in parameters.items()}

    def dense(name, x):
        return linear(x, own[f"{name}.weight"].T, own[f"{name}.bias"][0])[..., : OUTPUTS.get(name.split(".")[1], 99)]

    pixels = int(np.prod(image))
    h, action = x[:, :pixels].unflatten(1, image), x[:, pixels:]
    for number, stride in enumerate((2, 1, 1, 1), start=1):
        kernel = own[f"conv{number}.weight"].T.unflatten(1, (h.shape[1], 3, 3))
        h = pad(h, (0, 1, 0, 1)) if stride == 2 else pad(h, (1, 1, 1, 1))
        h = relu(conv2d(h, kernel, own[f"conv{number}.bias"][0], stride=stride))

    def projected(name, maps):
        if tokens is None:
            h = dense(name, maps.flatten(1))
        else:
            each = maps.flatten(2) if tokens == "per_feat" else maps.flatten(2).transpose(1, 2)
            h = sum(dense(name, each[:, token]) for token in range(each.shape[1]))
        h = layer_norm(h, h.shape[1:], own[f"{name}.scale"][0], own[f"{name}.shift"][0])
        return torch.tanh(h)

    z = torch.cat([projected("critic.projection", h), action], 1)
    values = [dense(f"critic{n}.q", relu(dense(f"critic{n}.hidden1", z)))[:, :1] for n in (1, 2)]
    behind = relu(dense("actor.hidden1", projected("actor.projection", h.detach())))
    return {
        "q1": values[0], "q2": values[1], "mean": dense("actor.mean", behind), "log_std": dense("actor.log_std", behind)
    }  # fmt: skip


@pytest.mark.parametrize("tokens", [None, "per_conv", "per_feat"])
def test_outputs_and_gradients_are_those_of_plain_torch(tokens):
    image, settings = (2, 8, 8), {} if tokens is None else {"tokens": tokens}
    built = model(image, None if tokens is None else Tokenised(), channels=4, projection=8, hidden=16, **settings)
    parameters = {name: value.requires_grad_() for name, value in built.start([0, 1], CPU).items()}
    with torch.no_grad():
        for name, value in parameters.items():
            if name.endswith(("bias", "shift", "scale")):
                value += 0.3 * drawn(*value.shape, seed=len(name))
    x = drawn(2, 4, 128 + 3)
    ours, _ = built.forward(parameters, {}, x, None)
    weights = {name: drawn(*value.shape, seed=7) for name, value in ours.items()}
    sum((ours[name] * weights[name]).sum() for name in ours).backward()
    for run in range(2):
        own = {name: value[run].detach().clone().requires_grad_() for name, value in parameters.items()}
        theirs = plain(own, image, x[run], tokens)
        for name, value in theirs.items():
            torch.testing.assert_close(ours[name][run], value, rtol=1e-4, atol=1e-5)
        sum((theirs[name] * weights[name][run]).sum() for name in theirs).backward()
        for name, value in own.items():
            torch.testing.assert_close(parameters[name].grad[run], value.grad, rtol=1e-3, atol=1e-4)


def test_the_actor_trains_no_convolution_and_answers_alone_without_an_action():
    built = model((2, 8, 8), channels=4, projection=8, hidden=16)
    parameters = {name: value.requires_grad_() for name, value in built.start([0, 1], CPU).items()}
    x = drawn(2, 4, 128)
    outputs, _ = built.forward(parameters, {}, x, None)
    assert set(outputs) == {"mean", "log_std"}
    (outputs["mean"].sum() + outputs["log_std"].sum()).backward()
    trained = {name.split(".")[0] for name, value in parameters.items() if value.grad is not None and value.grad.any()}
    assert trained == {"actor"}
    with_action, _ = built.forward(parameters, {}, torch.cat([x, drawn(2, 4, 3)], 2), None)
    assert torch.equal(with_action["mean"], outputs["mean"])


def test_a_sum_over_tokens_is_that_of_each_and_so_are_its_squares():
    layer = StackedTokenSum("own", tokens=5, inputs=3, outputs=4)
    parameters = {"own.weight": drawn(2, 3, 4), "own.bias": drawn(2, 1, 4)}
    x, delta = drawn(2, 6, 5, 3), drawn(2, 6, 4)
    literal = (torch.einsum("kbmi,kio->kbmo", x, parameters["own.weight"]) + parameters["own.bias"].unsqueeze(2)).sum(2)
    torch.testing.assert_close(layer(parameters, x), literal, rtol=1e-4, atol=1e-5)
    squares = layer.squares({}, x, delta)
    each = torch.einsum("kbmi,kbo->kbio", x, delta).square().sum(1)
    torch.testing.assert_close(squares["own.weight"], each, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(squares["own.bias"], (5 * delta).square().sum(1, keepdim=True), rtol=1e-4, atol=1e-4)
