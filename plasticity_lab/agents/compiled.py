"""Functions compiled whole: one graph for each set of shapes, called without asking anew whether it still fits."""

from collections.abc import Callable
from typing import Any

import torch


class Compiled:
    """A function of tensors, and of dictionaries of them, as one compiled graph.

    torch.compile checks before each call that nothing it has seen has changed, which costs some 30 µs: half a step of a
    small pack. Here only the shapes of the tensors among the arguments may change, and are looked at; whatever else the
    function reads must stay as it was at the first call, tensors within dictionaries in shape.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = torch.compile(function, fullgraph=True, dynamic=False)
        self._graphs: dict[tuple[torch.Size, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""
        shapes = tuple(value.shape for value in arguments if isinstance(value, torch.Tensor))
        graph = self._graphs.get(shapes)
        if graph is None:
            graph = self._graphs[shapes] = self._function.aot_compile((arguments, {}))
            graph.disable_guard_check()
        return graph(*arguments)
