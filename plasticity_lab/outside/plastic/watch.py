"""The activations of a forward pass, once a trace has found them."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from plasticity_lab.outside.plastic import functions


class Watch(TorchFunctionMode):
    """Keeps the outputs of the activations of one forward pass, with their gradients.

    overwritten: as in `Trace`; these are copied. calls: the names of activations and the ids of layers' weights, in
    their order: passes with the same calls have the same places.
    """

    def __init__(self, overwritten: set[int]) -> None:
        super().__init__()
        self.hidden, self.calls, self._overwritten = list[Tensor](), list[str | int](), overwritten

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls the function."""
        made = func(*args, **(kwargs or {}))
        name = functions.name_of(func)
        if functions.is_activation(name, args, kwargs or {}):
            self.hidden.append(made.clone() if len(self.hidden) in self._overwritten else made)
            self.calls.append(name)
        elif name in functions.LAYERS:
            self.calls.append(functions.weight_of(name, func, args, kwargs or {}))
        return made
