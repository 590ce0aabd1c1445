"""Functions compiled whole: one graph for each set of shapes, called without asking anew whether it still fits."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from plasticity_lab.agents import graphs
from plasticity_lab.agents.captured import Captured, cuda_graph


class Compiled:
    """A function of tensors, and of dictionaries of them, as one compiled graph.

    torch.compile checks before each call that nothing it has seen has changed, which costs some 30 µs: half a step of a
    small pack. Here only the shapes of the tensors among the arguments may change, and are looked at; whatever else the
    function reads must stay as it was at the first call, tensors within dictionaries in shape.

    same: words that determine the function: all functions made with equal words do the same with tensors of equal
    shapes, so that their graphs serve each other, in later packs and in other processes (see `graphs`). Whatever the
    function reads beside its arguments must follow from them. None for a function whose graphs are its own.
    reads: the places among the arguments of those that the function does not change. On a GPU a call is recorded, and
    what it may change and moves between calls takes copies (see `Captured`).
    """

    def __init__(
        self, function: Callable[..., Any], same: Sequence[str] | None = None, reads: Collection[int] = ()
    ) -> None:
        self._function, self._same, self._reads = function, same, reads
        self._graphs: dict[tuple[torch.Size, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""
        shapes = tuple(value.shape for value in arguments if isinstance(value, torch.Tensor))
        graph = self._graphs.get(shapes)
        if graph is None:
            graph = graphs.graph_of(self._function, self._same, arguments)
            if any(isinstance(leaf, torch.Tensor) and leaf.is_cuda for leaf in tree_leaves(arguments)):
                graph = Captured(graph, self._reads, cuda_graph)
            self._graphs[shapes] = graph
        return graph(*arguments)
