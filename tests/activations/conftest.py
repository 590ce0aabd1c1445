import pytest
import torch

from plasticity_lab.activations.activation import Site


def site_alone(activation, x, uniform=None):
    """The site of a pack of one, as its activation starts."""
    shape = {name: torch.tensor([value], dtype=x.dtype) for name, value in activation.on_run_axis().items()}
    learnable = activation.learnable(x.shape[2])
    learned = {name: torch.tensor([list(value.start)], dtype=x.dtype) for name, value in learnable.items()}
    return Site(shape, learned, uniform)


@pytest.fixture
def applied():
    """(activation, numbers or tensor, uniform=None, dtype=float64) → values and derivatives of one run, flat."""

    def apply(activation, numbers, uniform=None, dtype=torch.float64):
        x = torch.as_tensor(numbers, dtype=dtype).reshape(1, -1, 1)
        site = site_alone(activation, x, None if uniform is None else uniform.reshape(1, -1, 1).to(dtype))
        slope = torch.func.grad(lambda x: activation(x, site).sum())(x)
        return activation(x, site).flatten(), slope.flatten()

    return apply
