"""The calls of layers, activations and functions that a torch module makes in a forward pass.

Legend: B examples.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from plasticity_lab.diagnostics.module_layers import ACTIVATIONS, LAYERS
from plasticity_lab.errors import InputError

Forward = Callable[[Tensor], Tensor]
FUNCTIONS = {
    "relu", "leaky_relu", "elu", "celu", "gelu", "silu", "mish", "softplus", "hardtanh", "hardswish", "hardsigmoid",
    "sigmoid", "tanh", "_prelu_kernel", "rrelu_with_noise", "threshold", "glu", "log_sigmoid_forward", "hardshrink",
    "softshrink", "maximum", "fmax", "where", "abs", "sin", "cos",
}  # fmt: skip
"""torch's operators that a forward pass can use as an activation; others (relu6) show up as one of these."""
AT_ZERO = {"clamp", "clamp_min", "clamp_max"}
"""Operators that are one with a bound of 0."""


class Call(NamedTuple):
    """A call of a layer or an activation.  name: the module's. shape: the input's, B first."""

    name: str
    module: nn.Module
    shape: tuple[int, ...]


@contextmanager
def replaced(module: nn.Module, forwards: Mapping[str, Forward]) -> Iterator[None]:
    """While it lasts, submodules compute these functions, by name; their hooks still run around them.

    A hook in place of this would run after the submodule's own function, which may have changed its input in place.
    """
    changed: list[tuple[nn.Module, bool, Any]] = []
    try:
        for name, forward in forwards.items():
            own = module.get_submodule(name)
            changed.append((own, "forward" in vars(own), own.forward))
            own.forward = _of_input(forward)  # pyright: ignore[reportAttributeAccessIssue]
        yield
    finally:
        for own, had_one, before in reversed(changed):
            if had_one:
                own.forward = before
            else:
                del own.forward


def calls_of(module: nn.Module, x: Tensor) -> list[Call]:
    """The calls of layers and activations in a forward pass, in their order.

    Raises InputError if a function that is no such module is used as an activation.
    """
    calls, watch = list[Call](), _Watch()

    def recorded(name: str, own: nn.Module) -> Forward:
        before = own.forward

        def forward(given: Tensor) -> Tensor:
            calls.append(Call(name, own, tuple(given.shape)))
            watch.called(within=isinstance(own, ACTIVATIONS))
            try:
                return before(given)
            finally:
                watch.within = False

        return forward

    known = {name: own for name, own in module.named_modules() if isinstance(own, (*LAYERS, *ACTIVATIONS))}
    # With gradients: without them torch may take a shortcut through a transformer's layer, without its modules.
    with replaced(module, {name: recorded(name, own) for name, own in known.items()}), torch.enable_grad(), watch:
        module(x)
    if watch.between:
        raise InputError(
            f"The forward pass computes {watch.between[0]} between two layers without an activation module, so that "
            "diagnostics would not see these units; use the module (nn.ReLU() for relu) in the module's __init__."
        )
    return calls


class _Watch(TorchDispatchMode):
    """Notes operators that may be an activation, outside of activation modules and between layers.

    within: whether an activation module computes. between: the operators that a call of a layer or an activation module
    follows; those behind the last such call make the outputs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.within, self.between = False, list[str]()
        self._begun, self._since = False, list[str]()

    def called(self, within: bool) -> None:
        """Notes the call of a layer, or of an activation."""
        self.between += self._since
        self._since, self._begun, self.within = [], True, within

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Computes the operator."""
        name, given = func.overloadpacket.__name__, (*args, *(kwargs or {}).values())
        name = name.removesuffix("_")
        at_zero = name in AT_ZERO and any(isinstance(each, int | float) and each == 0 for each in given)
        if self._begun and not self.within and (name in FUNCTIONS or at_zero):
            self._since.append(name.removeprefix("_").removesuffix("_kernel"))
        return func(*args, **(kwargs or {}))


def _of_input(forward: Forward) -> Callable[..., Tensor]:
    def call(input: Tensor) -> Tensor:  # torch's name, which a call may give
        return forward(input)

    return call
