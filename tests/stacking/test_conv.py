import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d

from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.conv import StackedConv2d

SHAPES = [
    ((3, 32, 32), 16, 5, "valid"),
    ((32, 14, 14), 11, 5, "valid"),
    ((3, 9, 7), 5, 3, "same"),
    ((1, 8, 8), 3, 5, "same"),
    ((1, 4, 4), 1, 2, "valid"),
    ((3, 6, 6), 1, 1, "valid"),
]
FORMS = ["run_by_run", "as_patches"]


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("image", "outputs", "kernel", "padding"), SHAPES)
def test_each_run_is_a_convolution_of_its_own(image, outputs, kernel, padding, form):
    layer = StackedConv2d("conv", image, outputs, kernel, padding)
    parameters, x = started(layer, 3), images(3, image)
    h = getattr(layer, form)(parameters, x)
    assert h.shape == (3, 4, *layer.produced)
    for k in range(3):
        theirs = conv2d(x[k], *kernels(layer, parameters, k), padding=padding)
        torch.testing.assert_close(h[k], theirs, rtol=1e-5, atol=1e-5)


def results(
    layer: StackedConv2d, form: str, parameters: dict[str, torch.Tensor], x: torch.Tensor
) -> list[torch.Tensor]:
    """What comes out, and the gradients of weights, biases and images."""

    def total(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = getattr(layer, form)(parameters, x)
        return h.square().sum() / 2, h

    (by_name, by_x), h = torch.func.grad(total, argnums=(0, 1), has_aux=True)(parameters, x)
    return [h, *by_name.values(), by_x]


@pytest.mark.parametrize(("image", "outputs", "kernel", "padding"), SHAPES)
def test_both_forms_have_the_same_gradients(image, outputs, kernel, padding):
    layer = StackedConv2d("conv", image, outputs, kernel, padding)
    parameters, x = started(layer, 2), images(2, image)
    for one, other in zip(*(results(layer, form, parameters, x) for form in FORMS), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("image", "outputs", "kernel", "padding"), SHAPES)
def test_a_run_reads_nothing_of_its_mates_bit_for_bit(image, outputs, kernel, padding, form):
    layer = StackedConv2d("conv", image, outputs, kernel, padding)
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
    for image, outputs, kernel, padding in SHAPES:
        theirs = torch.nn.Conv2d(image[0], outputs, kernel)
        ours = StackedConv2d("conv", image, outputs, kernel, padding)
        assert ours.size == sum(value.numel() for value in theirs.parameters())
