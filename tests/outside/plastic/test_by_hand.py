"""Resets in small networks, worked by hand: which weights change, and which moments become zero."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import glu, leaky_relu, relu

from plasticity_lab.outside import Plastic
from tests.helpers.twins import Net


def silenced(layer: nn.Module, unit: int) -> None:
    """A unit's weights of zero and its bias of −100: a ReLU passes on 0. All other units pass on about 1."""
    with torch.no_grad():
        layer.weight.mul_(0.1)
        layer.weight[unit] = 0
        layer.bias.fill_(1)
        layer.bias[unit] = -100


def reset(module: nn.Module, *x: Tensor, of=torch.optim.Adam, name: str = "redo", **more) -> dict[str, Tensor]:
    """One step of SGD with lr 0, all moments 1, and a reset of units that gave nothing → which entries changed."""
    optimizer = of(module.parameters(), lr=1e-30)
    keep = Plastic(module, optimizer, name, **_given({"every": 1, "average": 1, "strength": 0.0} | more))
    module(*x).sum().backward()
    optimizer.step()
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, Tensor) and value.dim():
                value.fill_(1)
    before = {key: value.detach().clone() for key, value in module.named_parameters()}
    keep.step()
    module.keep, found = keep, {}
    for key, value in module.named_parameters():
        found[key] = value != before[key]
        for kind, moment in optimizer.state[value].items():
            if isinstance(moment, Tensor) and moment.dim():
                found[f"{kind} {key}"] = moment == 0
    return found


def _given(settings: dict) -> dict:
    """The settings that are not None."""
    return {key: value for key, value in settings.items() if value is not None}


def ones(*shape: int, at) -> Tensor:
    """False, and True at some entries."""
    wanted = torch.zeros(shape, dtype=torch.bool)
    wanted[at] = True
    return wanted


def test_a_channel_in_front_of_a_dense_layer_is_cut_off_at_all_its_pixels():
    """Channel 1 of two, on 4 × 4 pixels: 18 fresh weights, and inputs 16 to 31 of the dense layer."""
    module = Net(lambda m, x: m.dense(relu(m.conv(x)).flatten(1)), conv=nn.Conv2d(2, 2, 3), dense=nn.Linear(32, 5))
    silenced(module.conv, 1)
    found = reset(module, torch.rand(3, 2, 6, 6))
    for kind in ("exp_avg ", "exp_avg_sq ", ""):
        assert torch.equal(found[f"{kind}conv.weight"], ones(2, 2, 3, 3, at=1))
        assert torch.equal(found[f"{kind}dense.weight"], ones(5, 32, at=(slice(None), slice(16, 32))))
        assert torch.equal(found[f"{kind}conv.bias"], ones(2, at=1))
        assert not found[f"{kind}dense.bias"].any()
    assert module.conv.bias.tolist()[1] == 0
    assert 0 < module.conv.weight[1].abs().max() <= 18**-0.5
    assert not module.dense.weight[:, 16:].any()
    assert module.keep.measured() == {"resets": 1}


@pytest.mark.parametrize("of", [torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad])
def test_the_moments_of_every_optimizer_start_again(of):
    module = Net(lambda m, x: m.out(relu(m.dense(x))), dense=nn.Linear(3, 4), out=nn.Linear(4, 2))
    silenced(module.dense, 2)
    found = reset(module, torch.rand(3, 3), of=of)
    kinds = [key.split()[0] for key in found if key.endswith(" dense.weight")]
    assert kinds
    for kind in kinds:
        assert torch.equal(found[f"{kind} dense.weight"], ones(4, 3, at=2))
        assert torch.equal(found[f"{kind} out.weight"], ones(2, 4, at=(slice(None), 2)))


def test_all_successors_of_a_unit_are_cut_off():
    """A dueling head: value and advantages read the same features."""
    layers = {"dense": nn.Linear(3, 4), "value": nn.Linear(4, 1), "advantage": nn.Linear(4, 2)}
    module = Net(lambda m, x: m.value(h := torch.relu(m.dense(x))) + m.advantage(h), **layers)
    silenced(module.dense, 3)
    found = reset(module, torch.rand(3, 3))
    assert torch.equal(found["value.weight"], ones(1, 4, at=(0, 3)))
    assert torch.equal(found["advantage.weight"], ones(2, 4, at=(slice(None), 3)))
    assert torch.equal(found["dense.weight"], ones(4, 3, at=3))


def test_units_within_a_residual_branch_are_reset_and_sums_are_left_alone():
    """stem → relu → x;  x + b(relu(a(x))) → relu → out: only the units of a have weights that no other value uses."""
    layers = {"stem": nn.Linear(3, 4), "a": nn.Linear(4, 4), "b": nn.Linear(4, 4), "out": nn.Linear(4, 2)}
    module = Net(lambda m, x: m.out(relu((h := relu(m.stem(x))) + m.b(relu(m.a(h))))), **layers)
    for layer in (module.stem, module.a, module.b):
        silenced(layer, 1)
    found = reset(module, torch.rand(3, 3))
    assert module.keep.places == ["a"]
    assert set(module.keep.left_alone) == {"stem.sum", "b.sum"}
    changed = {key for key, value in found.items() if value.any() and " " not in key}
    assert changed == {"a.weight", "a.bias", "b.weight"}
    assert torch.equal(found["b.weight"][[0, 2, 3]], ones(3, 4, at=(slice(None), 1)))  # row 1 was zero before


def test_a_normalisation_between_layer_and_activation_starts_again_at_the_unit():
    """Batch normalisation without biases before it, an activation in place, dropout and pooling behind it."""
    layers = {"conv": nn.Conv2d(1, 3, 3, bias=False), "norm": nn.BatchNorm2d(3), "act": nn.ReLU(inplace=True)}
    layers |= {"rest": nn.Sequential(nn.MaxPool2d(2), nn.Dropout(0.1), nn.Flatten()), "out": nn.Linear(12, 2)}
    module = Net(lambda m, x: m.out(m.rest(m.act(m.norm(m.conv(x))))), **layers)
    with torch.no_grad():
        module.norm.weight.copy_(torch.tensor([2.0, 0.0, 2.0]))
        module.norm.bias.copy_(torch.tensor([0.5, -1.0, 0.5]))
    found = reset(module, torch.rand(3, 1, 6, 6))
    assert module.norm.weight.tolist() == [2, 1, 2]
    assert module.norm.bias.tolist() == [0.5, 0, 0.5]
    assert torch.equal(found["exp_avg norm.weight"], ones(3, at=1))
    assert torch.equal(found["out.weight"], ones(2, 12, at=(slice(None), slice(4, 8))))
    assert torch.equal(found["conv.weight"], ones(3, 1, 3, 3, at=1))


def test_both_units_of_a_gate_start_again():
    """glu: units 1 and 4 of six make value 1 of three."""
    module = Net(lambda m, x: m.out(glu(m.dense(x))), dense=nn.Linear(3, 6), out=nn.Linear(3, 2))
    silenced(module.dense, 4)
    with torch.no_grad():
        module.dense.weight[1], module.dense.bias[1] = 0, 0
    found = reset(module, torch.rand(3, 3))
    assert torch.equal(found["dense.weight"], ones(6, 3, at=[1, 4]))
    assert torch.equal(found["out.weight"], ones(2, 3, at=(slice(None), 1)))


def test_channels_around_a_depthwise_convolution():
    """Channel 2 of four is cut off from the one kernel that reads it; a kernel's channel has the next layer's row."""
    layers = {"first": nn.Conv2d(1, 4, 1), "depth": nn.Conv2d(4, 4, 3, groups=4), "last": nn.Conv2d(4, 2, 1)}
    module = Net(lambda m, x: m.last(relu(m.depth(relu(m.first(x))))).flatten(1), **layers)
    silenced(module.first, 2)
    silenced(module.depth, 0)
    found = reset(module, torch.rand(3, 1, 5, 5))
    assert torch.equal(found["first.weight"], ones(4, 1, 1, 1, at=2))
    assert torch.equal(found["exp_avg depth.weight"], ones(4, 1, 3, 3, at=[0, 2]))
    assert not module.depth.weight[2].any()
    assert 1 / 9 < module.depth.weight[0].abs().max() <= 1 / 3  # nine inputs: those of one group
    assert torch.equal(found["last.weight"], ones(2, 4, 1, 1, at=(slice(None), 0)))


def test_grouped_outputs_are_cut_off_within_their_group():
    """Four channels in two groups of two: channel 3 is the second input of the last three of six outputs."""
    layers = {"first": nn.Conv2d(1, 4, 1), "grouped": nn.Conv2d(4, 6, 1, groups=2), "out": nn.Linear(6, 2)}
    module = Net(lambda m, x: m.out(m.grouped(relu(m.first(x))).tanh().mean((2, 3))), **layers)
    silenced(module.first, 3)
    found = reset(module, torch.rand(3, 1, 4, 4), leave=["grouped"])
    assert torch.equal(found["grouped.weight"], ones(6, 2, 1, 1, at=([3, 4, 5], 1)))


def test_units_before_a_recurrent_module_are_cut_off_from_its_inputs():
    layers = {"dense": nn.Linear(3, 4), "cell": nn.LSTM(4, 2, bidirectional=True), "out": nn.Linear(4, 2)}
    module = Net(lambda m, x: m.out(m.cell(relu(m.dense(x)))[0]), **layers)
    silenced(module.dense, 0)
    found = reset(module, torch.rand(5, 3, 3))
    for name in ("weight_ih_l0", "weight_ih_l0_reverse"):
        assert torch.equal(found[f"cell.{name}"], ones(8, 4, at=(slice(None), 0)))
        assert torch.equal(found[f"exp_avg cell.{name}"], ones(8, 4, at=(slice(None), 0)))
    assert not found["cell.weight_hh_l0"].any()


def test_tokens_are_more_examples_of_a_unit():
    """A transformer's hidden layer: |h| is averaged over examples and tokens."""
    layer = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True)
    module = nn.Sequential(nn.Linear(3, 4), layer, nn.Linear(4, 2))
    silenced(layer.linear1, 5)
    found = reset(module, torch.rand(3, 7, 3))
    assert module.keep.places == ["1.linear1"]
    assert torch.equal(found["1.linear1.weight"], ones(6, 4, at=5))
    assert torch.equal(found["1.linear2.weight"], ones(4, 6, at=(slice(None), 5)))
    assert not any(found[key].any() for key in found if "attn" in key)


@pytest.mark.parametrize("inplace", [False, True])
def test_activity_is_taken_behind_the_activation_also_in_place(inplace):
    """A slope of 0.1 below zero: |h| of 1, 0.1, 1 and 1 make scores 1.29 and 0.129."""
    module = Net(
        lambda m, x: m.out(leaky_relu(m.dense(x), 0.1, inplace) * 2), dense=nn.Linear(1, 4), out=nn.Linear(4, 2)
    )
    with torch.no_grad():
        module.dense.weight.copy_(torch.tensor([[1.0], [-1.0], [1.0], [1.0]]))
        module.dense.bias.zero_()
    found = reset(module, torch.ones(3, 1), strength=0.13)
    assert torch.equal(found["dense.weight"][:, 0], ones(4, at=1))
    assert not reset(module, torch.ones(3, 1), strength=0.0)["dense.weight"].any()


@pytest.mark.parametrize("shown", [False, True])
def test_activity_is_kept_if_a_later_function_overwrites_it(shown):
    """|h| of 1, 0.1 and 1, in the first pass and in later ones; the layer behind reads 0."""
    layers = {"dense": nn.Linear(1, 3), "out": nn.Linear(3, 2)}
    module = Net(lambda m, x: m.out(torch.dropout_(leaky_relu(m.dense(x), 0.1), 1.0, True)), **layers)
    with torch.no_grad():
        module.dense.weight.copy_(torch.tensor([[1.0], [-1.0], [1.0]]))
        module.dense.bias.zero_()
    optimizer, more = torch.optim.SGD(module.parameters(), lr=1e-30), {"example": torch.ones(2, 1)} if shown else {}
    keep = Plastic(module, optimizer, "redo", every=100, average=1, **more)
    for _ in range(2):
        module(torch.ones(2, 1)).sum().backward()
        keep.step()
        assert keep.state_dict()["state"]["dense.size"].tolist() == [[1, pytest.approx(0.1), 1]]


@pytest.mark.parametrize("name", ["redo", "continual_backprop"])
def test_a_layer_that_joins_places_loses_the_inputs_of_a_unit_alone(name):
    """Inputs 0 to 2 are the network's, 3 to 6 the units of a, 7 to 11 the units of b."""
    layers = {"a": nn.Linear(3, 4), "b": nn.Linear(3, 5), "c": nn.Linear(12, 4), "out": nn.Linear(4, 2)}
    module = Net(lambda m, x: m.out(relu(m.c(torch.cat([x, relu(m.a(x)), relu(m.b(x))], 1)))), **layers)
    silenced(module.a, 1)
    silenced(module.b, 4)
    silenced(module.c, 2)
    more = {"redo": {}, "continual_backprop": {"average": None, "strength": 0.25, "maturity": 0}}[name]
    found = reset(module, torch.rand(3, 3), name=name, **more)
    assert torch.equal(found["c.weight"][[0, 1, 3]], ones(3, 12, at=(slice(None), [4, 11])))
    assert torch.equal(found["exp_avg c.weight"], ones(4, 12, at=(slice(None), [4, 11])) | ones(4, 12, at=2))
    assert torch.equal(found["a.weight"], ones(4, 3, at=1))
    assert torch.equal(found["b.weight"], ones(5, 3, at=4))
    assert torch.equal(found["out.weight"], ones(2, 4, at=(slice(None), 2)))
    assert module.c.weight[2, 4] == module.c.weight[2, 11] == 0  # fresh, but cut off
    assert module.c.weight[2, :4].all()


def test_branches_of_an_inception_block_are_cut_off_at_their_channels():
    """Channels 0 and 1 of the joined map are a's, 2 to 4 b's; the dense layer reads four pixels of each."""
    layers = {"a": nn.Conv2d(1, 2, 1), "b": nn.Conv2d(1, 3, 3, padding=1), "mix": nn.Conv2d(5, 2, 3)}
    layers |= {"out": nn.Linear(8, 2)}
    act = nn.ReLU(inplace=True)
    module = Net(lambda m, x: m.out(act(m.mix(torch.cat([act(m.a(x)), act(m.b(x))], 1))).flatten(1)), **layers)
    for layer, unit in ((module.a, 0), (module.b, 1), (module.mix, 1)):
        silenced(layer, unit)
    found = reset(module, torch.rand(3, 1, 4, 4))
    assert torch.equal(found["mix.weight"][0], ones(5, 3, 3, at=[0, 3]))
    assert torch.equal(found["out.weight"], ones(2, 8, at=(slice(None), slice(4, 8))))
    assert module.keep.places == ["a", "b", "mix"]
