"""Instructions for torch's compiler. This module is imported only when something is compiled.

For a GPU they keep a run's bits independent of the pack. By default, the compiler chooses the order of a sum by the
number of sums, and rounds a product before an addition or not, depending on fusion. Both depend on the number of runs.

Legend: K runs, M sums of each, R numbers of each sum.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import sympy
import torch
from torch._inductor.codegen import cpp
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.dtype_propagation import DtypePropagationOpsHandler
from torch._inductor.lowering import add_needs_realized_inputs
from torch.fx import Graph, Node
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from plasticity_lab.kernels import on_gpu

aten = torch.ops.aten
SUMS: dict[Any, bool] = {aten.sum.dim_IntList: False, aten.mean.dim: True}
"""Operators that sum over given axes → whether they divide by their sizes. Sums over a whole run have axes too."""


class SumsAsProducts(CustomGraphPass):
    """Computes sums on a GPU (see `on_gpu.serves`) as products with ones: their order depends on R alone."""

    def __call__(self, graph: Graph) -> None:
        """Changes the graph in place."""
        for node in sums(graph):
            with graph.inserting_before(node):
                node.replace_all_uses_with(_as_product(graph, node))
            graph.erase_node(node)

    def uuid(self) -> Any:
        """The key of this version of the pass in torch's cache of graphs."""
        return get_hash_for_files((__file__,))


def gpu_options() -> dict[str, Any]:
    """Options for torch.compile; the second rounds every product before something is added to it."""
    return {"post_grad_custom_pre_pass": SumsAsProducts(), "emulate_precision_casts": True}


def lay_out_once() -> None:
    """The input of several kernels is computed once, not once for each of them.

    This concerns inputs computed from several tensors, such as pixels from images and indices. torch finds out by
    itself that a kernel reads its inputs from memory, but only after it has met the first kernel. An input computed
    from one tensor alone, such as a ReLU, is still computed for each kernel.
    """
    for name in torch._C._dispatch_get_all_op_names():
        space, _, operator = name.partition("::")
        if space == "plasticity_lab":
            add_needs_realized_inputs(getattr(torch.ops.plasticity_lab, operator.partition(".")[0]))


@cache
def look_up_types_once() -> None:
    """torch's rules for the types of results are set up once, not for each operation in a kernel.

    torch 2.13 means it so: there is one object of them. But each request for it sets it up again.
    """
    handler = DtypePropagationOpsHandler()  # torch's lowerings, which name the operations, were imported above
    type(handler).__init__ = lambda _: None  # type: ignore[method-assign]


@cache
def read_strides_off() -> None:
    """The stride of an index in a variable is read off it if its form shows it.

    torch lets sympy simplify the difference of two indices instead: for agents with many layers, a third of its time
    for writing kernels. The decisions that follow are the same.
    """
    writer: Any = cpp
    by_sympy = getattr(writer, "stride_at_vec_range", None)
    if by_sympy is None:  # torch 2.11, which does not write kernels by this function
        return

    def stride(index: Any, variable: Any, *width: Any) -> Any:
        if (found := stride_in_sum(index, variable)) is not None:
            return found
        if wraps_around(index, variable):
            return index.xreplace({variable: variable + 1}) - index
        return by_sympy(index, variable, *width)

    writer.stride_at_vec_range = stride


def stride_in_sum(index: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr | None:
    """How much a sum grows with the variable, a whole number; None if another expression has the variable."""
    stride = sympy.S.Zero
    for term in sympy.Add.make_args(index):
        factor, rest = term.as_coeff_Mul()
        if rest == variable and factor.is_Integer:
            stride += factor
        elif term.has(variable):
            return None
    return stride


def wraps_around(index: sympy.Expr, variable: sympy.Symbol) -> bool:
    """Whether the variable is in remainders of sums only, such as (x + 8) modulo 64: then no stride is a number."""
    parts = [part for part in index.atoms(FloorDiv, ModularIndexing) if part.has(variable)]
    return bool(parts) and all(isinstance(part, ModularIndexing) and part.args[0].is_Add for part in parts)


def sums(graph: Graph) -> list[Node]:
    """The sums in a graph that depend on their order, and are taken on a GPU."""
    candidates: list[Any] = [node for node in graph.nodes if node.target in SUMS]
    return [node for node in candidates if on_gpu.serves(node.args[0].meta["val"])]


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
