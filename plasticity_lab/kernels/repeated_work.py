"""Work of torch's compiler that it repeats, or does in vain, and that is left out here. The generated code is the same.

Each function changes one thing for all later graphs of this process, or nothing if torch has it no longer.
"""

from collections.abc import Callable
from functools import cache, wraps
from types import CodeType
from typing import Any

import sympy
from torch._dynamo.package import SourceInfo
from torch._inductor.codegen import common, cpp
from torch._inductor.scheduler import SchedulerNode
from torch._inductor.virtualized import V
from torch.utils._sympy.value_ranges import ValueRanges


def sources_read_once(add_code: Callable[[SourceInfo, CodeType], None]) -> Callable[[SourceInfo, CodeType], None]:
    """torch notes the source of each function that it traces. It reads it from the file again for each call of it."""
    known: dict[tuple[str, CodeType], SourceInfo] = {}

    @wraps(add_code)
    def add(info: SourceInfo, code: CodeType) -> None:
        place = code.co_filename, code
        if place not in known:
            found = SourceInfo(set())
            add_code(found, code)
            known[place] = found
        info.inlined_sources |= known[place].inlined_sources

    return add


def templates_read_when_used(read: Callable[[str], Any]) -> Any:
    """torch has templates of matrix products for GPUs. It parses all of them at its import."""

    class Template:
        def __init__(self, source: str) -> None:
            self._source = source

        def __getattr__(self, name: str) -> Any:
            return getattr(read(self._source), name)

    return staticmethod(Template)


def indices_written_once(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """torch writes each index of a tensor in C++ several times, each time simplified by sympy."""
    known: dict[sympy.Expr, str] = {}

    @wraps(write)
    def written(index: Any) -> str:
        if not isinstance(index, sympy.Expr) or V.graph.sizevars.replacements:
            return write(index)
        if index not in known:
            known[index] = write(index)
        return known[index]

    return written


def without_empty_loops(generate: Callable[[SchedulerNode, Any], None]) -> Callable[[SchedulerNode, Any], None]:
    """torch writes a loop's remainder, after its whole vectors, even if it is empty. It then drops it."""

    @wraps(generate)
    def generated(node: SchedulerNode, variables: Any) -> None:
        if not is_empty(V.kernel):
            generate(node, variables)

    return generated


def is_empty(kernel: Any) -> bool:
    """Whether a loop that torch writes is never executed, and neither is the code before and after it."""
    if not isinstance(kernel, cpp.CppTile2DKernel):
        return getattr(kernel, "tail_size", None) == 0
    if kernel.outer_tail_size is None:
        return kernel.inner_tail_size == 0
    return kernel.outer_tail_size == 0  # torch takes the code after the outer loop from here if only the inner is empty


CHANGES: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (SourceInfo, "add_code", sources_read_once),
    (common.KernelTemplate, "_template_from_string", templates_read_when_used),
    (ValueRanges, "__and__", cache),
    (cpp, "cexpr_index", indices_written_once),
    (SchedulerNode, "codegen", without_empty_loops),
)
"""Class or module of torch, name of a function in it → the function in its place, from torch's function."""


@cache
def leave_out() -> None:
    """Makes these changes."""
    for owner, name, change in CHANGES:
        by_torch = getattr(owner, name, None)
        if by_torch is not None:
            setattr(owner, name, change(by_torch))
