"""ResNet-18: parameters, numbers and statistics of a definition in plain torch, units that can be reset, packs."""

import pytest
import torch
from torch import nn

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.encoder import headed
from plasticity_lab.networks.heads.softmoe import SoftMoE
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.networks.resnet18 import ResNet18
from plasticity_lab.networks.units import cut_off, read_by_outputs, start_anew
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.batch_normed import Learning
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, differing, images, needs_kernels, run, trained

IMAGE, CLASSES = (3, 9, 8), 5
IMAGES = images(8, 29, 12)


class Block(nn.Module):
    def __init__(self, inputs: int, channels: int, stride: int, norm) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(inputs, channels, 3, stride, 1), norm(channels))
        self.conv2 = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1), norm(channels))
        self.shortcut = nn.Sequential(nn.Conv2d(inputs, channels, 1, stride), norm(channels)) if stride > 1 else None

    def forward(self, x):
        shortcut = x if self.shortcut is None else self.shortcut(x)
        return torch.relu(self.conv2(torch.relu(self.conv1(x))) + shortcut)


class Plain(nn.Module):
    """He et al. 2016, the network for small images, as the codes of the field write it."""

    def __init__(self, width: int, norm) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(IMAGE[0], width, 3, 1, 1), norm(width))
        self.blocks = nn.ModuleDict()
        given = width
        for stage, channels in enumerate((width, 2 * width, 4 * width, 8 * width), start=1):
            for block in (1, 2):
                stride = 2 if stage > 1 and block == 1 else 1
                self.blocks[f"stage{stage}|block{block}"] = Block(given, channels, stride, norm)
                given = channels
        self.output = nn.Linear(given, CLASSES)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        for block in self.blocks.values():
            x = block(x)
        return self.output(x.mean(dim=(2, 3)))

    def ours(self, name: str) -> nn.Module:
        """The module of a layer, by our name."""
        stage, *rest = name.split(".")
        return getattr(self.blocks[f"{stage}|{rest[0]}"], rest[1]) if rest else getattr(self, name)


def group_norm(channels: int) -> nn.Module:
    return nn.GroupNorm(1, channels)


def parts(plain: Plain, layer) -> dict[str, nn.Parameter]:
    """Our names → its parameters."""
    module = plain.ours(layer.name)
    if isinstance(module, nn.Linear):
        return {f"{layer.name}.weight": module.weight, f"{layer.name}.bias": module.bias}
    conv, norm = module
    own = {"weight": conv.weight, "bias": conv.bias, "scale": norm.weight, "shift": norm.bias}
    return {f"{layer.name}.{part}": value for part, value in own.items()}


def as_stored(value: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """(O, ...) → (I, O) or (1, O), with columns of zeros up to those stored."""
    columns = value.flatten(1).T if value.dim() > 1 else value.unsqueeze(0)
    return nn.functional.pad(columns, (0, like.shape[-1] - columns.shape[1]))


def close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-8)


def test_it_has_the_published_number_of_parameters_and_the_biases_of_its_convolutions():
    model = classifier(ResNet18(), [ReLU()], (3, 32, 32), 10)
    biases = sum(layer.outputs for layer in model.design.layers[:-1])
    assert (model.size - biases, biases) == (11_173_962, 4800)
    assert len(model.design.layers) == 21, "18 without shortcuts"


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_outputs_gradients_and_statistics_are_plain_torchs(norm):
    """Two runs, six examples and two rows of padding with weight 0, in float64; then an evaluation."""
    model = classifier(ResNet18(width=3, norm=norm), [ReLU()] * 2, IMAGE, CLASSES)
    plains = [Plain(3, nn.BatchNorm2d if norm == "batch" else group_norm).double() for _ in range(2)]
    assert model.size == sum(value.numel() for value in plains[0].parameters())
    start = model.start([0, 1], CPU)
    draw = host_stream(0, "values")
    for plain in plains:
        for value in plain.parameters():
            value.data = torch.from_numpy(draw.normal(loc=0.1, scale=0.3, size=value.shape))
    stored = {name: torch.stack([as_stored(parts(plain, layer)[name].data, start[name]) for plain in plains])
              for layer in model.design.layers for name in parts(plains[0], layer)}  # fmt: skip
    parameters = {name: value.double() for name, value in start.items()} | stored
    weights = torch.tensor([1 / 6] * 6 + [0.0] * 2, dtype=torch.float64)
    for batch in range(2):
        x = torch.from_numpy(host_stream(batch, "x").normal(size=(2, 8, *IMAGE)))
        towards = torch.from_numpy(host_stream(batch, "towards").normal(size=(2, 6, CLASSES)))
        own = {name: value.clone().requires_grad_() for name, value in parameters.items()}
        learning = Learning(weights)
        found = model.forward(own, {}, x.flatten(2), None, learning=learning)[0]["logits"][:, :6]
        (found * towards).sum().backward()
        for at, plain in enumerate(plains):
            plain.zero_grad()
            expected = plain(x[at, :6])
            (expected * towards[at]).sum().backward()
            close(found[at], expected)
            for layer in model.design.layers:
                for name, value in parts(plain, layer).items():
                    close(own[name].grad[at], as_stored(value.grad, own[name]))
            for name in model.statistics:
                layer, _, part = name.rpartition(".")
                theirs = {"mean": "running_mean", "variance": "running_var"}[part]
                close(learning.after[name][at, 0], getattr(plain.ours(layer)[1], theirs))
        parameters |= learning.after
    for at, plain in enumerate(plains):
        close(model.forward(parameters, {}, x.flatten(2), None)[0]["logits"][at], plain.eval()(x[at]))


def test_units_between_the_convolutions_of_a_block_can_be_reset_without_a_trace_and_others_cannot():
    model = classifier(ResNet18(width=3, norm="layer"), [ReLU()], IMAGE, CLASSES)
    now = Now(model, parameters := model.start([1], CPU), {}, {})
    blocks = [f"stage{stage}.block{block}" for stage in (1, 2, 3, 4) for block in (1, 2)]
    assert [(unit.name, *unit.outgoing) for unit in now.units] == [(f"{b}.conv1", f"{b}.conv2") for b in blocks]
    assert read_by_outputs(model, parameters) == [model.units[-1]]
    x = torch.rand(1, 4, 3 * 9 * 8)
    chosen = torch.tensor([1]).numpy()
    for unit in now.units:
        cut_off(model, parameters, 0, unit, chosen)
        before = model.forward(parameters, {}, x, None)[0]["logits"]
        parameters[f"{unit.incoming}.scale"][0, 0, 1] = 7
        # Layer normalisation has one mean for all channels: others see a channel's weights, not its scale and shift.
        assert torch.equal(before, model.forward(parameters, {}, x, None)[0]["logits"])
        start_anew(model, parameters, 0, unit, chosen, host_stream(0, "a test", unit.name))
        assert parameters[f"{unit.incoming}.scale"][0, 0, 1] == 1


def pack(norm: str, width: int) -> list:
    """Runs that differ in seed, rate and slope; the last batch of an epoch has three examples."""
    network, stream = {"name": "resnet18", "width": width, "norm": norm}, {"images": 29, "batch_size": 13}
    return [run(seed, "leaky_relu", {"negative_slope": 0.1 * seed}, optimizer={"lr": 10.0 ** (-2 - seed)},
                network=network, **stream) for seed in range(3)]  # fmt: skip


@pytest.mark.parametrize(
    ("norm", "width", "how"),
    [
        ("batch", 13, {}),
        pytest.param("batch", 3, {"kernels": True}, marks=needs_kernels),
        pytest.param("layer", 13, {}, marks=pytest.mark.slow),
        pytest.param("batch", 3, {"compiled": True, "kernels": True}, marks=[pytest.mark.slow, needs_kernels]),
    ],
)
def test_a_run_is_the_same_alone_packed_and_resumed(norm, width, how):
    runs = pack(norm, width)
    packed = trained(runs, IMAGES, stops=(2,), **how)
    assert not differing(packed.of(1), trained(runs[1:2], IMAGES, **how).of(0))
    weight = packed.agent.weights()["stage4.block2.conv2.weight"]
    assert not weight[..., 8 * width :].any()


@needs_kernels
@pytest.mark.slow
def test_with_kernels_compiled_packs_of_two_widths_train_the_same_runs():
    """In the test above one run is compared with a pack of three."""
    network = {"name": "resnet18", "width": 3}
    runs = [run(seed, network=network, images=29, batch_size=13) for seed in range(5)]
    wide, two = (trained(some, IMAGES, compiled=True, kernels=True) for some in (runs, runs[1:3]))
    assert not differing(wide.of(1), two.of(0))
    assert not differing(wide.of(2), two.of(1))


def test_activations_that_change_the_number_of_channels_and_agents_without_batches_are_refused_in_a_sentence():
    with pytest.raises(ConfigError, match=r"network=resnet18 adds maps.*choose another activation"):
        classifier(ResNet18(width=4), [CReLU()], IMAGE, CLASSES)
    with pytest.raises(ConfigError, match=r"choose network\.norm=layer"):
        Model(ResNet18(width=4), [ReLU()], {"game": Shapes(IMAGE, {"q": 3})})
    with pytest.raises(ConfigError, match="There are 0 hidden layers"):
        classifier(headed(ResNet18(width=4), SoftMoE()), [ReLU()], IMAGE, CLASSES)
