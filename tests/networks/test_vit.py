"""The vision transformer: parameters and numbers of a definition in plain torch, units that can be reset, packs."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from plasticity_lab.activations.gelu import GELU
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.feature_norm import FeatureNorm
from plasticity_lab.interventions.fire import FIRE
from plasticity_lab.interventions.infer import InFeR
from plasticity_lab.interventions.nap import NormalizeAndProject
from plasticity_lab.interventions.now import Now
from plasticity_lab.kernels.through import ThroughKernels, prepare
from plasticity_lab.networks.encoder import headed
from plasticity_lab.networks.heads.dense import Flatten
from plasticity_lab.networks.heads.softmoe import SoftMoE
from plasticity_lab.networks.layer_kinds import hidden_layers
from plasticity_lab.networks.units import cut_off, start_anew
from plasticity_lab.networks.vit import ViT
from plasticity_lab.others import Others
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.adam import Adam
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, differing, images, needs_kernels, run, trained

IMAGE, CLASSES, PATCH, WIDTH, HEADS = (3, 6, 4), 5, 2, 6, 2
"""Seven tokens of six numbers, three of each head: neither is a multiple of 4."""
IMAGES = images(8, 29, 12)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.attended = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.hidden, self.output = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        h = self.norm1(x)
        each = (of(h).unflatten(2, (HEADS, -1)).transpose(1, 2) for of in (self.query, self.key, self.value))
        x = x + self.attended(scaled_dot_product_attention(*each).transpose(1, 2).flatten(2))
        return x + self.output(gelu(self.hidden(self.norm2(x))))


class Plain(nn.Module):
    """Dosovitskiy et al. 2021."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(IMAGE[0], WIDTH, PATCH, PATCH)
        self.tokens = nn.Parameter(torch.zeros(7, WIDTH))
        self.block1, self.block2 = Block(), Block()
        self.norm, self.output = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        patches = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([torch.zeros_like(patches[:, :1]), patches], dim=1) + self.tokens
        return self.output(self.norm(self.block2(self.block1(x))[:, 0]))


def parameter(plain: Plain, name: str) -> nn.Parameter:
    """Its parameter, by our name."""
    layer, _, part = name.rpartition(".")
    if part == "value":
        return plain.tokens
    return plain.get_submodule(layer).get_parameter({"scale": "weight", "shift": "bias"}.get(part, part))


def as_stored(name: str, value: torch.Tensor) -> torch.Tensor:
    """A value of that parameter → (N, D), (I, O) or (1, O)."""
    if name == "tokens.value":
        return value
    return value.flatten(1).T if value.dim() > 1 else value.unsqueeze(0)


def of_plain(runs: int):
    """The pack, its parameters in float64 and a plain network for each run, with the same numbers."""
    model = classifier(ViT(PATCH, WIDTH, 2, HEADS), [GELU()] * runs, IMAGE, CLASSES)
    plains = [Plain().double() for _ in range(runs)]
    draw = host_stream(0, "values")
    for value in (value for plain in plains for value in plain.parameters()):
        value.data = torch.from_numpy(draw.normal(scale=0.4, size=value.shape))
    stored = {}
    for name, like in model.start(range(runs), CPU).items():
        each = torch.stack([as_stored(name, parameter(plain, name).data) for plain in plains])
        stored[name] = nn.functional.pad(each, (0, like.shape[-1] - each.shape[-1]))
    return model, stored, plains


def test_outputs_and_gradients_are_plain_torchs():
    model, stored, plains = of_plain(2)
    assert model.size == sum(value.numel() for value in plains[0].parameters())
    parameters = {name: value.requires_grad_() for name, value in stored.items()}
    x, towards = (torch.from_numpy(host_stream(0, name).normal(size=size)) for name, size in
                  (("x", (2, 4, *IMAGE)), ("towards", (2, 4, CLASSES))))  # fmt: skip
    settings = {"beta": torch.ones(2, dtype=torch.float64)}
    found = model.forward(parameters, settings, x.flatten(2), None)[0]["logits"]
    (found * towards).sum().backward()
    for at, plain in enumerate(plains):
        expected = plain(x[at])
        torch.testing.assert_close(found[at], expected, rtol=1e-6, atol=1e-9)
        (expected * towards[at]).sum().backward()
        for name, own in parameters.items():
            gradient = as_stored(name, parameter(plain, name).grad)
            torch.testing.assert_close(own.grad[at, ..., : gradient.shape[-1]], gradient, rtol=1e-6, atol=1e-9)


def test_the_tiny_network_has_the_parameters_of_its_layers():
    """In a block 4 · 192² of the attention, 8 · 192² behind it, biases and two normalisations; then all else."""
    tiny = classifier(ViT(), [GELU()], (3, 32, 32), 10)
    block = 12 * 192**2 + (4 + 4 + 1) * 192 + 4 * 192
    assert tiny.size == 12 * block + (48 + 1) * 192 + 65 * 192 + 2 * 192 + 193 * 10 == 5_362_570


def test_units_are_those_of_the_hidden_layers_and_can_be_reset_without_a_trace():
    """Attention has none: no activation follows queries, keys, values, or the map of the heads."""
    model = classifier(ViT(PATCH, WIDTH, 2, HEADS), [GELU()], IMAGE, CLASSES)
    parameters = model.start([1], CPU)
    units = Now(model, parameters, {}, {}).units
    assert [(unit.name, unit.produced, unit.outgoing) for unit in units] == [
        (f"block{n}.hidden", (4 * WIDTH, 7, 1), (f"block{n}.output",)) for n in (1, 2)
    ]
    x, chosen, settings = torch.rand(1, 4, 72), np.array([2, 5]), {"beta": torch.ones(1)}
    for unit in units:
        cut_off(model, parameters, 0, unit, chosen)
        before = model.forward(parameters, settings, x, None)
        start_anew(model, parameters, 0, unit, chosen, host_stream(0, "a test", unit.name))
        after = model.forward(parameters, settings, x, None)
        assert not torch.equal(before[1][unit.name][:, :, chosen], after[1][unit.name][:, :, chosen])
        assert torch.equal(before[0]["logits"], after[0]["logits"])


def pack(norm: str, width: int, heads: int) -> list:
    """Runs that differ in seed, rate and slope; five tokens, and three examples in the last batch of an epoch."""
    network = {"name": "vit", "patch": 4, "width": width, "depth": 2, "heads": heads, "norm": norm}
    return [run(seed, "leaky_relu", {"negative_slope": 0.1 * seed}, optimizer={"lr": 10.0 ** (-2 - seed)},
                network=network, images=29, batch_size=13) for seed in range(3)]  # fmt: skip


@pytest.mark.parametrize(
    ("norm", "width", "heads", "how"),
    [
        ("layer", 13, 1, {}),
        pytest.param("layer", 15, 3, {"kernels": True}, marks=needs_kernels),
        pytest.param("layer", 12, 4, {}, marks=pytest.mark.slow),
        pytest.param("batch", 15, 3, {}, marks=pytest.mark.slow),
        pytest.param("layer", 15, 3, {"compiled": True, "kernels": True}, marks=[pytest.mark.slow, needs_kernels]),
    ],
)
def test_a_run_is_the_same_alone_packed_and_resumed(norm, width, heads, how):
    runs = pack(norm, width, heads)
    packed = trained(runs, IMAGES, stops=(2,), **how)
    assert not differing(packed.of(1), trained(runs[1:2], IMAGES, **how).of(0))
    assert not packed.agent.weights()["block2.query.weight"][..., width:].any()


@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize("shape", [{}, {"beta": 0.5, "form": "gate"}])
def test_with_kernels_the_other_runs_of_a_pack_change_nothing_in_compiled_code(shape):
    """GELU and attention by kernels, in packs of one, two and five."""
    network = {"name": "vit", "patch": 4, "width": 14, "depth": 1, "heads": 2}
    runs = [run(seed, "gelu", shape, network=network, images=29, batch_size=13) for seed in range(5)]
    wide, two, alone = (trained(some, IMAGES, compiled=True, kernels=True) for some in (runs, runs[1:3], runs[2:3]))
    assert not differing(wide.of(2), alone.of(0))
    assert not differing(wide.of(1), two.of(0))
    assert not differing(two.of(1), alone.of(0))


@needs_kernels
def test_by_kernels_outputs_gradients_and_activations_are_those_without():
    """GELU and the other activations take the rows of all tokens; their values are shown by channel."""
    model = classifier(ViT(PATCH, WIDTH, 2, HEADS), [GELU(0.7), GELU()], IMAGE, CLASSES)
    parameters, settings = model.start([1, 2], CPU), {"beta": torch.tensor([0.7, 1.0])}
    x = torch.rand(2, 4, 72)
    prepare()

    def found(kind):
        own = {name: value.clone().requires_grad_() for name, value in parameters.items()}
        before = {}
        outputs, hidden = model.forward(kind(own), settings, x, None, before=before)
        outputs["logits"].square().sum().backward()
        return outputs | hidden | {f"{name} before": value for name, value in before.items()}, own

    (ours, by_ours), (theirs, by_theirs) = found(ThroughKernels), found(dict)
    assert ours["block1.hidden"].shape == (2, 4, 4 * WIDTH, 7, 1)
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], rtol=1e-5, atol=1e-6)
    for name, value in by_ours.items():
        torch.testing.assert_close(value.grad, by_theirs[name].grad, rtol=1e-4, atol=1e-4)


def test_attention_is_priced_and_muon_takes_the_matrices_of_all_blocks():
    """Seven tokens of six numbers: 2 · 7 · 7 · 6 multiplications in addition to the four layers'."""
    model = classifier(ViT(PATCH, WIDTH, 2, HEADS), [GELU()], IMAGE, CLASSES)
    work = {layer.name: layer.work for layer in model.design.layers}
    assert work["block1.attended"] == work["block1.query"] + 2 * 7 * 7 * 6 == 7 * 6 * 6 + 588
    of_block = ("query", "key", "value", "attended", "hidden", "output")
    assert hidden_layers(model.design) == {f"block{n}.{name}" for n in (1, 2) for name in of_block}
    assert "attention" in model.kernel_parts


def test_fire_takes_queries_and_keys_alone():
    """In the second run with a strength of 1; the first has 0."""
    model = classifier(ViT(PATCH, WIDTH, 2, HEADS), [GELU()] * 2, IMAGE, CLASSES)
    parameters = model.start([1, 2], CPU)
    before = {name: value.clone() for name, value in parameters.items()}
    FIRE().before_task(Now(model, parameters, {"strength": torch.tensor([0.0, 1.0])}, {}, seeds=[1, 2]))
    moved = {name for name, value in parameters.items() if not torch.equal(value, before[name])}
    assert moved == {f"block{n}.{of}.weight" for n in (1, 2) for of in ("query", "key")}
    assert all(torch.equal(parameters[name][0], before[name][0]) for name in moved)


def test_settings_that_make_no_network_are_refused_in_a_sentence():
    with pytest.raises(ConfigError, match=r"network\.width=13 is not a multiple of network\.heads=2"):
        ViT(width=13, heads=2)
    with pytest.raises(ConfigError, match=r"network\.patch=3 does not divide the image's sides, 6 × 4 pixels"):
        classifier(ViT(patch=3), [GELU()], IMAGE, CLASSES)
    with pytest.raises(ConfigError, match="There are 0 hidden layers"):
        classifier(headed(ViT(PATCH), SoftMoE()), [GELU()], IMAGE, CLASSES)


def test_interventions_on_the_last_activations_are_refused_in_a_sentence():
    others = Others({"network": {"vit": ViT()}, "head": {"flatten": Flatten()}, "optimizer": {"adam": Adam()}})
    for refused in (InFeR(), FeatureNorm()):
        assert "they read a normalised sum of many layers" in refused.objection(others)
    assert FeatureNorm(sites="all").objection(others) is None
    assert "plain sums or layers" in NormalizeAndProject().objection(others)
