"""What torch's compiler is told where it compiles for a GPU, so that a run's bits do not depend on its mates.

It takes a sum in an order that it chooses by how many sums there are, and by what it makes one kernel of it rounds a
product before it adds to it, or does not. Both follow the number of runs. This module is imported where something is
compiled.

Legend: K runs, M sums of each, R numbers of each sum.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch.fx import Graph, Node

from plasticity_lab.kernels import product

aten = torch.ops.aten
SUMS: dict[Any, bool] = {aten.sum.dim_IntList: False, aten.mean.dim: True}
"""What is a sum over given axes, and whether it is divided by their numbers. Whole sums of a run have axes, too."""


class SumsAsProducts(CustomGraphPass):
    """Takes sums of numbers that `product.serves` as products with ones, whose order is fixed by R alone."""

    def __call__(self, graph: Graph) -> None:
        """Changes the graph in place."""
        for node in sums(graph):
            with graph.inserting_before(node):
                node.replace_all_uses_with(_as_product(graph, node))
            graph.erase_node(node)

    def uuid(self) -> Any:
        """By which torch knows graphs that were changed so."""
        return get_hash_for_files((__file__,))


def options() -> dict[str, Any]:
    """For torch.compile; the second leaves every product rounded before something is added to it."""
    return {"post_grad_custom_pre_pass": SumsAsProducts(), "emulate_precision_casts": True}


def sums(graph: Graph) -> list[Node]:
    """The sums in a graph that depend on their order, and are taken on a GPU."""
    found: list[Any] = [node for node in graph.nodes if node.target in SUMS]
    return [node for node in found if product.serves(node.args[0].meta["val"])]


def _as_product(graph: Graph, node: Node) -> Node:
    arguments: Any = node.args
    source, axes, *_ = arguments
    x, out = source.meta["val"], node.meta["val"]

    def add(function: Callable[..., Any], *arguments: Any) -> Node:
        made = graph.call_function(function, arguments)
        values = [each.meta["val"] if isinstance(each, Node) else each for each in arguments]
        with x.fake_mode:
            made.meta["val"] = function(*values)
        return made

    summed = [axis % x.dim() for axis in axes] if axes else list(range(x.dim()))
    kept = [axis for axis in range(x.dim()) if axis not in summed]
    count = torch.Size(x.shape[axis] for axis in summed).numel()
    runs = x.shape[kept[0]] if kept else 1
    rows = add(aten.permute.default, source, [*kept, *summed])
    rows = add(aten.reshape.default, rows, [runs, x.numel() // (runs * count), count])
    ones = graph.call_function(aten.full.default, ([1, 1, 1], 1.0), {"dtype": x.dtype, "device": x.device})
    with x.fake_mode:
        ones.meta["val"] = torch.full([1, 1, 1], 1.0, dtype=x.dtype, device=x.device)
    found = add(torch.ops.plasticity_lab.product.default, rows, add(aten.expand.default, ones, [runs, count, 1]), None)
    found = add(aten.reshape.default, found, list(out.shape))
    return add(aten.div.Tensor, found, count) if SUMS[node.target] else found
