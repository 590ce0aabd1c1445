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


class OnlyTowardsTheDevice(OnTheDevice):
    """As the base class; numbers of the host may be copied to the device, by copies that nobody waits for.

    copies: their number.
    """

    copies = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """As torch calls it for each operation."""
        if _sends(func, args, kwargs or {}):
            self.copies += 1
            return func(*args, **(kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)


def _sends(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether it is a copy from the host to the device that nobody waits for."""
    if func is torch.ops.aten._to_copy.default:
        to, at_once = torch.device(kwargs.get("device") or "cpu"), kwargs.get("non_blocking", False)
        return at_once and args[0].device.type == "cpu" and to.type == "meta"
    if func is torch.ops.aten.copy_.default:
        at_once = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        return at_once and args[1].device.type == "cpu" and args[0].device.type == "meta"
    return False


def _devices(value: Any) -> set[str]:
    return {each.device.type for each in tree_leaves(value) if isinstance(each, torch.Tensor)}
