"""Interventions of weights on modules that the laboratory's networks do not have, compared with slow forms."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, glu, relu

from plasticity_lab.errors import ConfigError, InputError
from plasticity_lab.outside import Plastic
from tests.helpers.twins import Net

DRAW = torch.Generator().manual_seed(0)
IMAGES, ROWS, WORDS = (
    torch.rand(8, 4, 6, 6, generator=DRAW),
    torch.rand(8, 5, 6, generator=DRAW),
    torch.arange(24).view(8, 3),
)
LABELS = torch.arange(8) % 3


def tied() -> nn.Module:
    module = Net(lambda m, x: m.out(m.table(x).mean(1)), table=nn.Embedding(24, 6), out=nn.Linear(6, 24, bias=False))
    module.out.weight = module.table.weight
    return module


def normed() -> nn.Module:
    computed = nn.utils.parametrizations.weight_norm(nn.Linear(6, 4))
    return Net(lambda m, x: m.out(relu(m.first(x[:, 0]))), first=computed, out=nn.Linear(4, 3))


def grouped() -> nn.Module:
    layers = {"depth": nn.Conv2d(4, 4, 3, groups=4), "pairs": nn.Conv2d(4, 6, 3, groups=2), "out": nn.Linear(6, 3)}
    return Net(lambda m, x: m.out(relu(m.pairs(relu(m.depth(x)))).mean((2, 3))), **layers)


def gated() -> nn.Module:
    return Net(lambda m, x: m.out(glu(m.first(x[:, 0]))), first=nn.Linear(6, 8), out=nn.Linear(4, 3))


def recurrent() -> nn.Module:
    return Net(lambda m, x: m.out(m.cell(x)[0][:, -1]), cell=nn.LSTM(6, 4, batch_first=True), out=nn.Linear(4, 3))


def attentive() -> nn.Module:
    layers = {"block": nn.TransformerEncoderLayer(6, 2, 8, dropout=0, batch_first=True), "out": nn.Linear(6, 3)}
    return Net(lambda m, x: m.out(m.block(x).mean(1)), **layers)


KINDS: dict[str, tuple[Any, Tensor]] = {
    "tied": (tied, WORDS), "normed": (normed, ROWS), "grouped": (grouped, IMAGES), "gated": (gated, ROWS),
    "recurrent": (recurrent, ROWS), "attentive": (attentive, ROWS),
}  # fmt: skip
LAYERED = sorted(KINDS.keys() - {"normed"})


def begun(kind: str, name: str, **more: Any) -> tuple[nn.Module, Tensor, Plastic, torch.optim.Optimizer]:
    torch.random.manual_seed(1)
    make, x = KINDS[kind]
    module = make()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    return module, x, Plastic(module, optimizer, name, example=x, **more), optimizer


def step(module, x, keep: Plastic, optimizer) -> None:
    (cross_entropy(module(x), LABELS) + keep.penalty()).backward()
    optimizer.step()
    keep.step()
    optimizer.zero_grad()


def of_layers(module: nn.Module) -> list[Tensor]:
    """Weights and biases of layers: everything but norms."""
    norms = {id(value) for own in module.modules() if isinstance(own, nn.LayerNorm) for value in own.parameters()}
    return [value for value in module.parameters() if id(value) not in norms]


def matrices(module: nn.Module) -> list[Tensor]:
    """The matrix from inputs to outputs of each layer, written out."""
    found = []
    for own in module.modules():
        if isinstance(own, nn.Conv2d):
            probe = torch.zeros(own.out_channels, own.in_channels, *own.kernel_size)
            size, channels = own.out_channels // own.groups, own.in_channels // own.groups
            for group in range(own.groups):
                outputs, inputs = (
                    slice(group * size, group * size + size),
                    slice(group * channels, (group + 1) * channels),
                )
                probe[outputs, inputs] = own.weight.detach()[outputs]
            found.append(probe.flatten(1))
        elif isinstance(own, nn.MultiheadAttention):
            found += own.in_proj_weight.detach().chunk(3)
        elif isinstance(own, nn.LSTM):
            found += [own.weight_ih_l0.detach(), own.weight_hh_l0.detach()]
        elif isinstance(own, nn.Linear):
            found.append(own.weight.detach())
    return found


@pytest.mark.parametrize("kind", LAYERED)
def test_l2_is_the_sum_of_squares_of_all_weights_and_biases(kind):
    module, _, keep, _ = begun(kind, "l2", strength=0.5)
    term = keep.penalty()
    torch.testing.assert_close(term, 0.5 * sum(value.square().sum() for value in of_layers(module)))
    term.backward()
    for value in of_layers(module):
        torch.testing.assert_close(value.grad, value.detach())


@pytest.mark.parametrize("kind", KINDS)
def test_l2_init_pulls_every_parameter_once_towards_its_first_value(kind):
    module, x, keep, optimizer = begun(kind, "l2_init", strength=0.5)
    first = [value.detach().clone() for value in module.parameters()]
    step(module, x, keep, optimizer)
    away = sum((value - old).square().sum() for value, old in zip(module.parameters(), first, strict=True))
    torch.testing.assert_close(keep.penalty(), 0.5 * away)
    assert away > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_tortoise_is_the_average_of_the_hares(kind):
    module, x, keep, optimizer = begun(kind, "hare_tortoise", strength=0.75, every=None)
    slow = [value.detach().clone() for value in module.parameters()]
    for _ in range(3):
        step(module, x, keep, optimizer)
        slow = [0.75 * old + 0.25 * value.detach() for old, value in zip(slow, module.parameters(), strict=True)]
    fast = [value.detach().clone() for value in module.parameters()]
    with keep.tested() as tested:
        for value, wanted in zip(tested.parameters(), slow, strict=True):
            torch.testing.assert_close(value.detach(), wanted)
    assert all(torch.equal(value, old) for value, old in zip(module.parameters(), fast, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_ewc_squares_the_gradient_of_each_example(kind):
    module, x, keep, _ = begun(kind, "ewc", strength=2.0)
    keep.task_ended(examples=(x, LABELS))
    fisher = [torch.zeros_like(value) for value in module.parameters()]
    for example, label in zip(x.split(1), LABELS.split(1), strict=True):
        module.eval()
        slopes = torch.autograd.grad(cross_entropy(module(example), label), list(module.parameters()))
        fisher = [old + slope.square() / 8 for old, slope in zip(fisher, slopes, strict=True)]
    with torch.no_grad():
        for value in module.parameters():
            value.add_(0.5)
    torch.testing.assert_close(keep.penalty(), 2 * sum((each * 0.25).sum() for each in fisher), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", sorted({*LAYERED} - {"tied"}))
def test_spectral_finds_the_largest_singular_value_of_each_layer(kind):
    module, x, keep, optimizer = begun(kind, "spectral", strength=1.0, power=1)
    optimizer.param_groups[0]["lr"] = 0.0
    for _ in range(60):  # iterations of the power method
        step(module, x, keep, optimizer)
    layers = matrices(module)
    largest = sum((torch.linalg.matrix_norm(each, 2) - 1) ** 2 for each in layers)
    ids = {id(value) for value in of_layers(module)}
    biases = sum(value.square().sum() for value in module.parameters() if id(value) in ids and value.dim() == 1)
    norms = [own for own in module.modules() if isinstance(own, nn.LayerNorm)]
    scales = sum((own.weight.abs().max() - 1) ** 2 + own.bias.square().sum() for own in norms)
    torch.testing.assert_close(keep.penalty(), largest + biases + scales, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["gated", "recurrent", "attentive"])
def test_fire_makes_matrices_orthogonal(kind):
    """√(O / I) times orthogonal: all singular values are equal; with attention queries and keys alone."""
    module, _, keep, _ = begun(kind, "fire", iterations=60)
    before = matrices(module)
    keep.task_ended()
    for at, (own, old) in enumerate(zip(matrices(module), before, strict=True)):
        values = torch.linalg.svdvals(own)
        if kind == "attentive" and at > 1:
            assert torch.equal(own, old)
        else:
            torch.testing.assert_close(values, torch.full_like(values, (own.shape[0] / own.shape[1]) ** 0.5))


@pytest.mark.parametrize("kind", LAYERED)
def test_shrink_and_perturb_keeps_a_share_and_adds_fresh_weights_of_the_layers_own_law(kind):
    """With noise 1 and nothing kept: other numbers in the range of the module's own reset."""
    module, _, keep, _ = begun(kind, "shrink_and_perturb", strength=0.25, noise=0.0)
    before = {name: value.detach().clone() for name, value in module.named_parameters()}
    keep.task_ended()
    ids = {id(value) for value in of_layers(module)}
    for name, value in module.named_parameters():
        torch.testing.assert_close(value.detach(), before[name] * (0.75 if id(value) in ids else 1))
    module, _, keep, _ = begun(kind, "shrink_and_perturb", strength=1.0, noise=1.0)
    before = {name: value.detach().clone() for name, value in module.named_parameters()}
    keep.task_ended()
    for name, value in module.named_parameters():
        if id(value) in {id(each) for each in of_layers(module)} and before[name].any():
            assert not (value == before[name]).any()
            if kind != "tied" and value.numel() > 8:
                assert 0.5 < value.detach().abs().max() / before[name].abs().max() < 2, name


@pytest.mark.parametrize("kind", ["gated", "recurrent", "attentive"])
def test_weights_are_clipped_to_one_over_the_root_of_their_inputs(kind):
    module, x, keep, optimizer = begun(kind, "weight_clipping", strength=0.2)
    step(module, x, keep, optimizer)
    for own in matrices(module):
        assert own.abs().max() == pytest.approx(0.2 / own.shape[1] ** 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_self_distillation_and_logit_norm_read_the_outputs(kind):
    module, x, keep, _ = begun(kind, "logit_norm", strength=1.0)
    logits = module(x)
    torch.testing.assert_close(keep.penalty(), logits.square().mean())
    module, x, keep, optimizer = begun(kind, "self_distillation", strength=1.0)
    step(module, x, keep, optimizer)
    logits, state = module(x), keep.state_dict()["state"]
    term = keep.penalty()
    assert len(state) >= len(list(module.parameters()))
    with torch.no_grad():
        for name, piece in keep._now.model.pieces.items():
            piece.write(state[f"average {name}"], piece.value)
        reference = module.eval()(x).softmax(1)
    torch.testing.assert_close(term.detach(), -(reference * logits.detach().log_softmax(1)).sum(1).mean())


def test_features_that_the_output_layer_joins_are_normed_place_by_place():
    layers = {"a": nn.Linear(6, 4), "b": nn.Linear(6, 2), "out": nn.Linear(12, 3)}
    module = Net(lambda m, x: m.out(torch.cat([relu(m.a(x)), x, relu(m.b(x))], 1)), **layers)
    keep = Plastic(module, torch.optim.SGD(module.parameters()), "feature_norm", strength=1.0)
    x = ROWS[:, 0]
    module(x)
    torch.testing.assert_close(keep.penalty(), relu(module.a(x)).square().mean() + relu(module.b(x)).square().mean())
    both = {"feature_norm": {}, "redo": {}}
    with pytest.raises(InputError, match="a Plastic for each"):
        Plastic(module, torch.optim.SGD(module.parameters()), both, example=x)


def test_a_module_without_features_before_its_outputs_is_refused():
    """The hidden units of a transformer's blocks are read by layers that are no outputs."""
    module, x, keep, _ = begun("attentive", "feature_norm", sites="all")
    module(x)
    assert keep.penalty() > 0
    _, _, keep, _ = begun("attentive", "feature_norm")
    keep.model(x)
    with pytest.raises(ConfigError, match="Net has an output layer"):
        keep.penalty()
