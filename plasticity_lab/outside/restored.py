"""A module as it was: everything that a measurement may have changed is put back."""

import random  # noqa: TID251 (its state is kept and restored, nothing is drawn)
from collections import OrderedDict, deque
from collections.abc import Iterator, MutableMapping, MutableSequence, MutableSet
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from plasticity_lab.outside.calls import differentiable_twice


@contextmanager
def as_it_was(module: nn.Module) -> Iterator[None]:
    """In evaluation mode inside the context; afterwards the module and the random number generators are as before.

    Restored: modes, values of parameters and buffers, gradients, attributes (lists, dicts and sets too) and the states
    of the global generators of torch, NumPy and Python. Inside, gradients are enabled and autocast is off, and the
    module's hooks on gradients do not run, regardless of the caller's settings.
    """
    values = [(value, value.detach().clone()) for value in (*module.parameters(), *module.buffers())]
    gradients = [(value, value.grad) for value in module.parameters()]
    devices = {value.device.type for value, _ in values} or {"cpu"}
    attributes = [(own, dict(vars(own)), _contents(own)) for own in module.modules()]
    with _generators(devices - {"cpu"}), ExitStack() as settings:
        try:
            for own in module.modules():
                own.training = False
                for hooks in ("_backward_hooks", "_backward_pre_hooks"):
                    own.__dict__[hooks] = OrderedDict()
            settings.enter_context(torch.inference_mode(False))
            settings.enter_context(torch.enable_grad())
            for device in devices:
                settings.enter_context(torch.autocast(device, enabled=False))
            settings.enter_context(differentiable_twice(module))
            yield
        finally:
            for own, before, contents in attributes:
                own.__dict__.clear()
                own.__dict__.update(before)
                for value, inside in contents:
                    _refill(value, inside)
            with torch.no_grad():
                for value, before in values:
                    if not torch.equal(value, before):  # else a graph that the user still needs would count as changed
                        value.copy_(before)
            for value, gradient in gradients:
                value.grad = gradient


def _contents(own: nn.Module) -> list[tuple[Any, Any]]:
    kinds = (MutableMapping, MutableSequence, MutableSet, deque)
    held: list[Any] = [value for value in vars(own).values() if isinstance(value, kinds) and hasattr(value, "copy")]
    return [(value, value.copy()) for value in held]


def _refill(value: Any, before: Any) -> None:
    """Puts earlier contents back into a container that has other contents now."""
    if isinstance(value, MutableMapping | MutableSet):
        alike = len(value) == len(before) and all(a is b for a, b in zip(value, before, strict=True))
        if alike and (not isinstance(value, MutableMapping) or all(value[name] is before[name] for name in before)):
            return
        value.clear()
        value.update(before)  # pyright: ignore[reportAttributeAccessIssue]
    elif len(value) != len(before) or any(a is not b for a, b in zip(value, before, strict=True)):
        value.clear()
        value.extend(before)


@contextmanager
def _generators(devices: set[str]) -> Iterator[None]:
    """Restores the states of the global generators."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 (the user's code may draw from it)
    with ExitStack() as forks:
        forks.enter_context(torch.random.fork_rng(devices=[]))
        for device in devices:
            if device != "meta":
                forks.enter_context(torch.random.fork_rng(device_type=device))
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002
