"""The calls of torch's functions in a module's forward pass, seen one by one; activations never work in place here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from plasticity_lab.outside.functions import LAYERS, ActivationCall, ModuleCall, activation_call, name_of

Function = Callable[..., Any]
Named = Mapping[str, Any]


class Calls(TorchFunctionMode):
    """Within this context torch's functions are computed by the methods below, which a subclass overrides.

    Calls of activations and layers are numbered together, in their order. An activation in place is computed out of
    place, and its values are written into its input afterwards: torch has no second derivative of most functions in
    place.
    copies: whether inputs and outputs of activations are copied, because the forward pass changes values in place.
    written: submodules that are activations themselves; the calls inside are not seen.
    """

    def __init__(self, copies: bool = True, written: Sequence[str] = ()) -> None:
        super().__init__()
        self.copies, self.written, self.number, self.inside = copies, written, 0, False

    def __torch_function__(self, func: Function, types: Any, args: Any = (), kwargs: Named | None = None) -> Any:
        """Computes the function."""
        kwargs = kwargs or {}
        if self.inside:
            return func(*args, **kwargs)
        name = name_of(func)
        call = activation_call(name, args, kwargs)
        if call is not None:
            h = self.activated(self._next(call.name), call)
            return call.z.copy_(h) if call.in_place else h
        if name in LAYERS:
            return self.layer(self._next(name), name, func, args, kwargs)
        return self.other(name, func, args, kwargs)

    def of_module(self, path: str, forward: Callable[[Tensor], Tensor], z: Tensor) -> Tensor:
        """The result of a call of a submodule that is an activation."""
        call = ModuleCall(path, z, (), {}, False, forward)
        number, self.inside = self._next(f"module {path}"), True
        try:
            return self.activated(number, call)
        finally:
            self.inside = False

    def _next(self, name: str) -> int:
        """The number of a call of that function."""
        self.number += 1
        return self.number - 1

    def values(self, call: ActivationCall) -> Tensor:
        """The activation's values, in a tensor that only the caller has."""
        if not (self.copies or call.in_place):
            return call.compute(call.z)
        return call.compute(call.z.clone()).clone()

    def activated(self, number: int, call: ActivationCall) -> Tensor:
        """The result of a call of an activation."""
        return self.values(call)

    def layer(self, number: int, name: str, func: Function, args: Any, kwargs: Named) -> Any:
        """The result of a call of a function of LAYERS."""
        if not self.copies:
            return func(*args, **kwargs)
        return func(*[each.clone() if isinstance(each, Tensor) else each for each in args], **kwargs)

    def other(self, name: str, func: Function, args: Any, kwargs: Named) -> Any:
        """The result of any other call."""
        return REPLACED.get(name, func)(*args, **kwargs)


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """g v / ‖v‖, the norm over all dimensions except one; −1: over all."""
    if dim == -1:
        return v * (g / v.square().sum().sqrt())
    others = [at for at in range(v.dim()) if at != dim]
    return v * (g / v.square().sum(others, keepdim=True).sqrt())


REPLACED: Mapping[str, Function] = {"_weight_norm": _weight_norm}
"""Functions of torch with a wrong second derivative (`torch.autograd.gradgradcheck`), and the same written out."""


@contextmanager
def differentiable_twice(module: nn.Module) -> Iterator[None]:
    """Inside this context torch takes no shortcut that has no second derivative, or that skips submodules."""
    recurrent = any(isinstance(own, nn.RNNBase) for own in module.modules())
    shortcut = torch.backends.mha.get_fastpath_enabled()
    with ExitStack() as settings:
        settings.callback(torch.backends.mha.set_fastpath_enabled, shortcut)
        torch.backends.mha.set_fastpath_enabled(False)
        settings.enter_context(sdpa_kernel(SDPBackend.MATH))
        if recurrent:  # cuDNN differentiates them once, and in training mode only
            settings.enter_context(torch.backends.cudnn.flags(enabled=False))
        yield


def computed(module: nn.Module, values: Mapping[str, Tensor], inputs: "Inputs", mode: Calls | None = None) -> Any:
    """The module's outputs for other values of its parameters and buffers.

    values: by name; all others are the module's own. mode: sees the calls.
    """
    args, named = inputs
    if mode is None:
        return torch.func.functional_call(module, dict(values), args, dict(named))
    with _called_whole(module, mode), mode:
        return torch.func.functional_call(module, dict(values), args, dict(named))


@contextmanager
def _called_whole(module: nn.Module, mode: Calls) -> Iterator[None]:
    """Inside this context the mode computes the submodules that are activations."""
    owners = {path: module.get_submodule(path) for path in mode.written}

    def called(path: str, forward: Callable[[Tensor], Tensor]) -> Function:
        def whole(*args: Tensor, **named: Tensor) -> Tensor:
            (z,) = (*args, *named.values())
            return mode.of_module(path, forward, z)

        return whole

    before = {path: dict(vars(own)) for path, own in owners.items()}
    try:
        for path, own in owners.items():
            own.forward = called(path, own.forward)
        yield
    finally:
        for path, own in owners.items():
            del own.forward
            if "forward" in before[path]:
                own.forward = before[path]["forward"]


Inputs = tuple[tuple[Any, ...], Mapping[str, Any]]
"""The positional and the named arguments of a module."""


def copied(value: Any) -> Any:
    """The same with copies of all tensors: a module may change its inputs in place."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, Mapping):
        return {name: copied(each) for name, each in value.items()}
    return tuple(map(copied, value)) if isinstance(value, tuple | list) else value
