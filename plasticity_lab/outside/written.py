"""Activations that are written out, for example x * sigmoid(x): submodules that are a function of one value."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

SHAPE = (3, 5, 7)


def activation_modules(module: nn.Module, paths: Iterable[str]) -> list[str]:
    """The paths of submodules without parameters, buffers and submodules that map each value by itself."""
    return [path for path in paths if path and _is_activation(module.get_submodule(path))]


def _is_activation(own: nn.Module) -> bool:
    if any(True for _ in (*own.parameters(), *own.buffers(), *own.children())):
        return False
    draw = torch.Generator().manual_seed(0)
    z = torch.randn(SHAPE, generator=draw, dtype=torch.float64)
    order = torch.randperm(z.numel(), generator=draw)
    try:
        with torch.no_grad():
            h, again = own.forward(given := z.clone()), own.forward(z.clone())
            moved = own.forward(z.flatten()[order])
    except Exception:  # a module of other inputs
        return False
    shapes = [isinstance(each, Tensor) and each.numel() == z.numel() for each in (h, again, moved)]
    if not all(shapes) or h.shape != z.shape:
        return False
    return torch.equal(given, z) and torch.equal(h, again) and torch.allclose(h.flatten()[order], moved)
