import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d, pad

from plasticity_lab.agents.graphs import graph_of
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.conv import StackedConv2d, margins
from tests.helpers.packs import needs_compiler

SHAPES = [
    ((3, 32, 32), 16, 5, "valid", 1),
    ((32, 14, 14), 11, 5, "valid", 1),
    ((3, 9, 7), 5, 3, "same", 1),
    ((1, 8, 8), 3, 5, "same", 1),
    ((1, 4, 4), 1, 2, "valid", 1),
    ((3, 6, 6), 1, 1, "valid", 1),
    ((4, 20, 20), 8, 8, "same", 4),  # (2, 2) on each side, as at 84
    ((8, 21, 13), 5, 4, "same", 2),  # (1, 2) above and below
    ((3, 7, 6), 4, 4, "same", 1),  # even: (1, 2)
    ((2, 9, 10), 3, 3, "same", 2),  # (1, 1) and (0, 1)
    ((2, 9, 10), 3, 3, "valid", 2),
    ((1, 5, 4), 1, 2, "same", 3),
]
FORMS = ["run_by_run", "as_patches"]
OF_STRIDE_1 = "by_convolution"
EVERYWHERE = [(*shape, form) for shape in SHAPES for form in (*FORMS, *([OF_STRIDE_1] if shape[4] == 1 else []))]


def started(layer: StackedConv2d, runs: int, init: str = "default", gain: float = 1.0) -> dict[str, torch.Tensor]:
    alone = [layer.start(host_stream(seed, "weights", layer.name), init, gain) for seed in range(runs)]
    return {name: torch.from_numpy(np.stack([start[name] for start in alone])) for name in alone[0]}


def images(runs: int, shape: tuple[int, int, int], batch: int = 4) -> torch.Tensor:
    drawn = [host_stream(k, "x").normal(size=(batch, *shape)) for k in range(runs)]
    return torch.from_numpy(np.stack(drawn).astype(np.float32))


def kernels(layer: StackedConv2d, parameters: dict[str, torch.Tensor], k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A run's numbers as PyTorch lays them: (O, C, kernel, kernel) and (O,)."""
    weight = parameters["conv.weight"][k, :, : layer.outputs].T
    return weight.reshape(layer.outputs, layer.image[0], layer.kernel, -1), parameters["conv.bias"][
        k, 0, : layer.outputs
    ]


@pytest.mark.parametrize(("image", "outputs", "kernel", "padding", "stride", "form"), EVERYWHERE)
def test_each_run_is_a_convolution_of_its_own(image, outputs, kernel, padding, stride, form):
    layer = StackedConv2d("conv", image, outputs, kernel, padding, stride)
    parameters, x = started(layer, 3), images(3, image)
    h = getattr(layer, form)(parameters, x)
    assert h.shape == (3, 4, *layer.produced)
    for k in range(3):
        (top, bottom), (left, right) = layer.margins
        theirs = conv2d(pad(x[k], (left, right, top, bottom)), *kernels(layer, parameters, k), stride=stride)
        torch.testing.assert_close(h[k], theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("side", "kernel", "stride", "places", "expected"),
    [
        (84, 8, 4, 21, (2, 2)),
        (21, 4, 2, 11, (1, 2)),
        (11, 3, 1, 11, (1, 1)),
        (84, 3, 2, 42, (0, 1)),
        (42, 3, 2, 21, (0, 1)),
        (21, 3, 2, 11, (1, 1)),
        (10, 2, 1, 10, (0, 1)),
        (5, 1, 2, 3, (0, 0)),
    ],
)
def test_same_has_the_places_and_margins_that_jax_has(side, kernel, stride, places, expected):
    """What is odd of the zeros lies behind."""
    assert margins(side, kernel, stride, "same") == expected
    assert StackedConv2d("conv", (1, side, side), 1, kernel, "same", stride).produced == (1, places, places)


def test_a_strided_convolution_with_more_zeros_behind_than_before_by_hand():
    """One row of 5 pixels, a kernel of 4 in steps of 2."""
    layer = StackedConv2d("conv", (1, 1, 5), 1, 4, "same", 2)
    assert layer.margins == ((1, 2), (1, 2))
    row = torch.zeros(1, 1, 4, 4)
    row[..., 1, :] = torch.tensor([1.0, 10.0, 100.0, 1000.0])  # the row of the kernel that lies on the only row
    parameters = {"conv.weight": row.reshape(1, 16, 1), "conv.bias": torch.full((1, 1, 1), 0.5)}
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]).view(1, 1, 1, 1, 5)
    for form in FORMS:
        h = getattr(layer, form)(parameters, x)
        # 0 1 2 3 | 2 3 4 5 | 4 5 0 0
        assert h.flatten().tolist() == [3210.5, 5432.5, 54.5]


def results(
    layer: StackedConv2d, form: str, parameters: dict[str, torch.Tensor], x: torch.Tensor
) -> list[torch.Tensor]:
    """What comes out, and the gradients of weights, biases and images."""

    def total(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = getattr(layer, form)(parameters, x)
        return h.square().sum() / 2, h

    (by_name, by_x), h = torch.func.grad(total, argnums=(0, 1), has_aux=True)(parameters, x)
    return [h, *by_name.values(), by_x]


@pytest.mark.parametrize(
    ("image", "outputs", "kernel", "padding", "stride", "form"),
    [case for case in EVERYWHERE if case[-1] != "run_by_run"],
)
def test_all_forms_have_the_same_gradients(image, outputs, kernel, padding, stride, form):
    layer = StackedConv2d("conv", image, outputs, kernel, padding, stride)
    parameters, x = started(layer, 2), images(2, image)
    for one, other in zip(*(results(layer, each, parameters, x) for each in ("run_by_run", form)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)  # tests/cuda has the other, whose kernel is a GPU's
@pytest.mark.parametrize(("image", "outputs", "kernel", "padding", "stride"), SHAPES)
def test_a_run_reads_nothing_of_its_mates_bit_for_bit(image, outputs, kernel, padding, stride, form):
    layer = StackedConv2d("conv", image, outputs, kernel, padding, stride)
    parameters, x = started(layer, 8), images(8, image)
    place = 5
    alone = results(layer, form, {name: value[place, None] for name, value in parameters.items()}, x[place, None])
    for start, end in ((5, 7), (4, 6), (3, 6), (2, 6), (0, 8)):
        part = {name: value[start:end] for name, value in parameters.items()}
        for own, packed in zip(alone, results(layer, form, part, x[start:end]), strict=True):
            assert torch.equal(own[0], packed[place - start]), f"runs {start} to {end}"


def test_default_start_is_pytorchs_own_law():
    """nn.Conv2d: weights and biases uniform in ±1/√(C·kernel²)."""
    parameters = started(StackedConv2d("conv", (16, 14, 14), 64, 5, "valid"), 4)
    theirs = torch.nn.Conv2d(16, 64, 5)
    for part, values in (("weight", theirs.weight), ("bias", theirs.bias)):
        ours = parameters[f"conv.{part}"].numpy()
        assert np.abs(ours).max() <= 1 / 20
        assert np.abs(ours).max() == pytest.approx(float(values.detach().abs().max()), rel=0.1)
        assert ours.std() == pytest.approx(1 / 20 / np.sqrt(3), rel=0.1)


def test_kaiming_start_keeps_the_variance_for_the_gain():
    weight, bias = started(StackedConv2d("conv", (16, 14, 14), 64, 5, "valid"), 4, "kaiming", 1.5).values()
    assert float(weight.std()) == pytest.approx(1.5 / 20, rel=0.01)
    assert not bias.any()


def test_parameters_are_those_of_nn_conv2d():
    for image, outputs, kernel, padding, stride in SHAPES:
        theirs = torch.nn.Conv2d(image[0], outputs, kernel)
        ours = StackedConv2d("conv", image, outputs, kernel, padding, stride)
        assert ours.size == sum(value.numel() for value in theirs.parameters())


@pytest.mark.walk(10)
@pytest.mark.parametrize("batch", [1, 3, 5])
@pytest.mark.parametrize(("image", "outputs", "kernel", "padding", "stride"), SHAPES)
def test_so_it_is_in_packs_of_any_width_and_with_batches_of_any_size(image, outputs, kernel, padding, stride, batch):
    layer = StackedConv2d("conv", image, outputs, kernel, padding, stride)
    parameters, x = started(layer, 12), images(12, image, batch)
    for place in (0, 11):
        own = {name: value[place, None] for name, value in parameters.items()}
        alone = results(layer, "run_by_run", own, x[place, None])
        for width in (2, 3, 5, 6, 8, 12):
            part = slice(0, width) if place == 0 else slice(12 - width, 12)
            packed = results(layer, "run_by_run", {name: value[part] for name, value in parameters.items()}, x[part])
            for one, of_pack in zip(alone, packed, strict=True):
                assert torch.equal(one[0], of_pack[0 if place == 0 else -1]), f"place {place} of {width}"


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("image", "outputs", "kernel", "padding", "stride"), SHAPES[7:9])
def test_so_it_is_compiled(image, outputs, kernel, padding, stride):
    layer = StackedConv2d("conv", image, outputs, kernel, padding, stride)
    parameters, x = started(layer, 12), images(12, image, 3)

    def compiled(part: slice) -> list[torch.Tensor]:
        given = {name: value[part].clone() for name, value in parameters.items()}, x[part].clone()
        return graph_of(lambda own, x: results(layer, "run_by_run", own, x), None, given)(*given)

    alone = compiled(slice(0, 1))
    for width in (2, 3, 5, 6, 8, 12):
        for one, packed in zip(alone, compiled(slice(0, width)), strict=True):
            assert torch.equal(one[0], packed[0]), f"of {width}"


@pytest.mark.parametrize(("image", "outputs", "kernel", "padding", "stride"), SHAPES)
def test_squares_of_gradients_are_those_of_one_example_after_the_other(image, outputs, kernel, padding, stride):
    layer = StackedConv2d("conv", image, outputs, kernel, padding, stride)
    parameters, x = started(layer, 2), images(2, image)
    delta = torch.randn(2, 4, *layer.produced)
    squares = layer.squares({}, x, delta)
    for name, ours in squares.items():
        total = torch.zeros_like(parameters[name])
        for example in range(4):

            def told(own: torch.Tensor, example: int = example, name: str = name) -> torch.Tensor:
                h = layer(parameters | {name: own}, x[:, example, None])
                return (h * delta[:, example, None]).sum()

            total += torch.func.grad(told)(parameters[name]).square()
        torch.testing.assert_close(ours, total, rtol=1e-4, atol=1e-4)
