"""Steps on meta tensors: what a GPU would be asked for, seen where there is none.

A meta tensor has a shape and no numbers, so whoever reads one fails. Operations take numbers of a CPU beside them
without a word, which on a GPU would be a fault or a wait; so every argument of every operation is looked at too.
"""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class FromTheHost(AssertionError):
    """An operation on the device was given a tensor of the host."""


class OnTheDevice(TorchDispatchMode):
    """Every operation that a meta tensor takes part in takes meta tensors alone.  Raises FromTheHost."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """As torch calls it for each operation."""
        kwargs = kwargs or {}
        given = _devices((args, kwargs))
        if len(given) > 1:
            raise FromTheHost(f"{func} is given tensors on {', '.join(sorted(given))}")
        result = func(*args, **kwargs)
        if len(given | _devices(result)) > 1:
            raise FromTheHost(f"{func} copies from one device to the other")
        return result


def _devices(value: Any) -> set[str]:
    return {each.device.type for each in tree_leaves(value) if isinstance(each, torch.Tensor)}
