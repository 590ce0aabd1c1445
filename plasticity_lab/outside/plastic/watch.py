"""The activations of a forward pass, once a trace has found them."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from plasticity_lab.outside.plastic import functions


class Watch(TorchFunctionMode):
    """Keeps the outputs of the activations of one forward pass, with their gradients.

    overwritten: as in `Trace`; these are copied.
    """

    def __init__(self, overwritten: set[int]) -> None:
        super().__init__()
        self.hidden, self.names, self._overwritten = list[Tensor](), list[str](), overwritten

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls the function."""
        made = func(*args, **(kwargs or {}))
        name = functions.name_of(func)
        if functions.is_activation(name, args, kwargs or {}):
            self.hidden.append(made.clone() if len(self.hidden) in self._overwritten else made)
            self.names.append(name)
        return made
