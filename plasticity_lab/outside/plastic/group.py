"""Several processes that train one module together (DistributedDataParallel): rank 0 decides for all."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


def of(model: nn.Module) -> Any:
    """The group of processes of a wrapped module; None without one."""
    return model.process_group if isinstance(model, DistributedDataParallel) else None


def unwrapped(model: nn.Module) -> nn.Module:
    """The module itself, within wrappers of DistributedDataParallel, DataParallel and torch.compile."""
    while isinstance(model, DistributedDataParallel | nn.DataParallel) or hasattr(model, "_orig_mod"):
        inner: Any = model
        model = inner._orig_mod if hasattr(inner, "_orig_mod") else inner.module
    return model


def bare(optimizer: Any) -> torch.optim.Optimizer:
    """The optimizer itself, within wrappers such as accelerate's and Lightning's."""
    while isinstance(inner := getattr(optimizer, "optimizer", None), torch.optim.Optimizer):
        optimizer = inner
    return optimizer


def agree(state: Mapping[str, Tensor], world: Any) -> None:
    """Gives all processes the state of rank 0, in place: it was computed from the activations of one part of a batch.

    The parameters and the drawn numbers are the same everywhere, so that equal states lead to equal changes.
    """
    for name in sorted(state):
        value = state[name].detach().contiguous()
        torch.distributed.broadcast(value, torch.distributed.get_global_rank(world, 0), group=world)
        if value.data_ptr() != state[name].data_ptr():
            state[name].detach().copy_(value)


def average(gradients: Sequence[Tensor], world: Any) -> None:
    """Replaces gradients by their means over all processes."""
    for gradient in gradients:
        torch.distributed.all_reduce(gradient, group=world)
        gradient.div_(torch.distributed.get_world_size(world))
