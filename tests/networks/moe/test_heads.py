"""Heads that take tokens: against a slow, obvious implementation, forward and gradients; sizes; what is refused."""

import pytest
import torch

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.encoder import headed
from plasticity_lab.networks.heads.expert_choice import ExpertChoice
from plasticity_lab.networks.heads.softmoe import SoftMoE
from plasticity_lab.networks.heads.token_choice import TokenChoice
from plasticity_lab.networks.heads.tokenised import Tokenised
from plasticity_lab.networks.impala import Impala
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Noise, Shapes
from plasticity_lab.networks.small_impala import SmallImpala
from tests.helpers.packs import CPU

BOARD = (3, 10, 10)
IMAGE = torch.rand(1, 4, 300, generator=torch.Generator().manual_seed(0))


def model(head, network=None, image=BOARD, activation=None, noise=None):
    shapes = Shapes(image, {"q": 3}, noise=noise)
    return Model(headed(network or SmallImpala(hidden=12), head), [activation or ReLU()], {"game": shapes})


def features(built: Model, parameters) -> torch.Tensor:
    """The encoder's map, (B, C, H, W): what the activation behind the last sum passes on."""
    return built.forward(parameters, {}, IMAGE, None)[1]["stream"][0]


def expert(parameters, number: int, row: torch.Tensor) -> torch.Tensor:
    """One expert on one slot."""
    first, second = ((parameters[f"experts.{name}.weight"][0, number], parameters[f"experts.{name}.bias"][0, number, 0])
                     for name in ("hidden", "output"))  # fmt: skip
    width, given = second[0].shape[0], row.shape[0]
    hidden = torch.relu(row @ first[0][:, :width] + first[1][:width])
    return (hidden @ second[0] + second[1])[:given]


def soft_slowly(parameters, maps: torch.Tensor, experts: int, slots: int) -> torch.Tensor:
    """Equation by equation, sum by sum, of one example's map (C, H, W): what the tokens become, flattened."""
    rows, columns = maps.shape[1:]
    tokens = [maps[:, place // columns, place % columns] for place in range(rows * columns)]
    phi = parameters["router.weight"][0]
    logits = torch.stack([torch.stack([token @ phi[:, slot] for slot in range(experts * slots)]) for token in tokens])
    made = []
    for slot in range(experts * slots):
        weights = logits[:, slot].exp() / logits[:, slot].exp().sum()
        made.append(expert(parameters, slot // slots, sum(w * token for w, token in zip(weights, tokens, strict=True))))
    shares = [row.exp() / row.exp().sum() for row in logits]
    return torch.cat([sum(s * y for s, y in zip(share, made, strict=True)) for share in shares])


@pytest.mark.walk(1)
@pytest.mark.parametrize(("experts", "slots"), [(1, 25), (2, 3), (4, 1)])
def test_softmoe_is_what_its_equations_say_forward_and_backward(experts, slots):
    built = model(SoftMoE(experts, slots=slots))
    parameters = {name: value.requires_grad_() for name, value in built.start([2], CPU).items()}

    def slowly() -> torch.Tensor:
        maps = features(built, parameters)
        rows = torch.stack([soft_slowly(parameters, each, experts, slots) for each in maps])
        return rows @ parameters["q.weight"][0, :, :3] + parameters["q.bias"][0, :, :3]

    found = built.forward(parameters, {}, IMAGE, None)[0]["q"][0]
    torch.testing.assert_close(found, slowly(), atol=1e-5, rtol=1e-5)
    target = torch.randn(4, 3)
    for name, value in parameters.items():
        ours, theirs = (torch.autograd.grad((q * target).sum(), value, retain_graph=True)[0] for q in (found, slowly()))
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4, msg=name)


def test_one_expert_that_takes_all_tokens_is_the_layer_for_each_token():
    built = model(ExpertChoice(1, slots="tokens"))
    parameters = built.start([1], CPU)
    maps = features(built, parameters)
    rows = torch.stack(
        [torch.cat([expert(parameters, 0, each[:, place // 5, place % 5]) for place in range(25)]) for each in maps]
    )
    q = rows @ parameters["q.weight"][0, :, :3] + parameters["q.bias"][0, :, :3]
    torch.testing.assert_close(built.forward(parameters, {}, IMAGE, None)[0]["q"][0], q, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("experts", "slots", "parameters"), [(1, 121, 37_185), (2, 61, 70_529), (4, 31, 137_217)])
def test_slots_and_parameters_are_those_of_dopamines_code(experts, slots, parameters):
    """Its count has the learned scalar, which is in use where the router is normalised."""
    built = model(SoftMoE(experts, normalised=True), Impala(), (4, 84, 84))
    own = [built.design.layer(name) for name in ("router", "experts.hidden", "experts.output")]
    assert own[0].outputs == experts * slots
    assert sum(layer.size for layer in own) == parameters


@pytest.mark.parametrize("pooled", ["sum", "mean"])
def test_the_tokenised_baseline_pools_what_one_layer_makes_of_each_token(pooled):
    built = model(Tokenised(pooled, scale=2.0))
    parameters = built.start([1], CPU)
    maps = features(built, parameters).flatten(2)  # (B, C, P)
    hidden = torch.relu(maps.transpose(1, 2) @ parameters["hidden.weight"][0] + parameters["hidden.bias"][0])
    assert hidden.shape == (4, 25, 24)
    row = getattr(hidden, pooled)(dim=1)
    q = row @ parameters["q.weight"][0, :, :3] + parameters["q.bias"][0, :, :3]
    torch.testing.assert_close(built.forward(parameters, {}, IMAGE, None)[0]["q"][0], q, atol=1e-5, rtol=1e-5)


def test_experts_can_be_addressed_and_sums_and_shuffled_channels_cannot():
    def units(tokens: str) -> list[str]:
        built = model(SoftMoE(2), SmallImpala(hidden=12, tokens=tokens))
        return [unit.name for unit in Now(built, built.start([0], CPU), {}, {}).units]

    assert units("per_conv") == ["stack1.block1.conv1", "stack1.block2.conv1", "experts.hidden"]
    assert units("per_feat") == units("per_conv")


@pytest.mark.parametrize("head", [SoftMoE(2), ExpertChoice(2), TokenChoice(2), Tokenised()])
def test_what_an_activation_adds_reaches_the_experts_second_layer(head):
    built = model(head, activation=CReLU())
    assert built.forward(built.start([0], CPU), {}, IMAGE, None)[0]["q"].shape == (1, 4, 3)


def test_what_means_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"MLP makes no feature map"):
        headed(MLP(), SoftMoE())
    with pytest.raises(ConfigError, match=r"head=tokenised has no noisy layers.*agent\.noisy=false"):
        model(Tokenised(), noise=Noise(0.1))
    with pytest.raises(ConfigError, match=r"network\.patch is 6.*5 × 5"):
        model(SoftMoE(), SmallImpala(tokens="per_patch", patch=6))
    with pytest.raises(ConfigError, match=r"network\.patch=5 is a patch's side, and with network\.tokens=per_conv"):
        model(SoftMoE(), SmallImpala(patch=5))
    with pytest.raises(ConfigError, match=r"head\.capacity=0\.5 .* head\.slots=tokens"):
        SoftMoE(2, slots="tokens", capacity=0.5)
    with pytest.raises(ConfigError, match=r"would have 26 slots, and there are 25 tokens"):
        model(ExpertChoice(2, slots=26))
    with pytest.raises(ConfigError, match=r"head\.shared_noise=false .* without noise"):
        model(SoftMoE(2, shared_noise=False))
    with pytest.raises(ConfigError, match=r"head\.slots is 'token'.*tokens"):
        SoftMoE(slots="token")
    with pytest.raises(ConfigError, match=r"head\.experts is 0"):
        SoftMoE(0)
    with pytest.raises(ConfigError, match=r"network\.tokens is 'per_pixel'.*per_conv"):
        SmallImpala(tokens="per_pixel")


@pytest.mark.parametrize(("normalised", "version"), [(True, 2), (False, 1)])
def test_only_a_normalised_router_has_other_numbers_than_before(normalised, version):
    assert SoftMoE.version_beside({"normalised": normalised}, {}) == version
