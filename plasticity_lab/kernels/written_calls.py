"""Functions that compiled code for a CPU calls in its loops, in place of their operations: see `written_calls.h`.

torch's compiler analyses each operation several times. e^x is composed of forty, and the loop of a softmax repeats them
to 600: two thirds of the time for SAC's graphs. A call is fused like an addition. The functions have the same
operations in the same order as in Python, hence the same bits.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SOURCE = Path(__file__).with_name("written_calls.h")
SPACE = "written"
"""The namespace of the functions in C++; their operators' names begin with it."""
_library = torch.library.Library("plasticity_lab", "FRAGMENT")
_not_written: list[str] = []


def declare(name: str, function: Callable[..., Tensor], arguments: int = 1) -> None:
    """Tells torch of a function in `SOURCE`. Its arguments are broadcast; they and the result have one type.

    function: the same in Python. The operator has no gradient.
    """
    own = f"{SPACE}_{name}"
    _library.define(f"{own}({', '.join(f'Tensor x{at}' for at in range(arguments))}) -> Tensor")
    _library.impl(own, function, "CPU")
    _library.impl(own, torch.library.fallthrough_kernel, "Autograd")
    torch.library.register_fake(f"plasticity_lab::{own}", _like, lib=_library)
    _not_written.append(own)


def call(name: str, *given: Tensor) -> Tensor:
    """The value of a declared function, in a graph that torch traces for a CPU."""
    return getattr(torch.ops.plasticity_lab, f"{SPACE}_{name}")(*given)


def write_calls() -> None:
    """From now on, torch's compiler writes the declared operators as calls, in scalar and in vector code.

    A value is computed once for all loops that read it. torch counts a call as one operation, and would repeat it in
    each: a CNN with GELU took 2.5 times as long.
    """
    from torch._inductor import lowering  # not imported by eager workers
    from torch._inductor.codegen import common, cpp
    from torch._inductor.ir import ops_wrapper
    from torch._inductor.ops_handler import DefaultHandler

    def lowered(value_of: Callable[..., Any], *given: Any) -> Any:
        value = value_of(*given)
        value.realize()
        return value

    while _not_written:
        own = _not_written.pop()
        written = partial(_written, own.removeprefix(f"{SPACE}_"))
        written.__name__ = own  # type: ignore[attr-defined]  # torch finds the scalar code of a vector operation by it
        common.pointwise_overrides_data[own] = common.OverridesData(name=own, cpp=written)  # the type of its result
        for writer in (cpp.CppOverrides, cpp.CppVecOverrides):
            setattr(writer, own, staticmethod(written))
        setattr(DefaultHandler, own, DefaultHandler._call_default(own))
        value_of = lowering.make_pointwise(ops_wrapper(own))
        operator = getattr(torch.ops.plasticity_lab, own).default
        lowering.register_lowering(operator, broadcast=True, type_promotion_kind=None)(partial(lowered, value_of))


def _like(*given: Tensor) -> Tensor:
    return given[0].new_empty(torch.broadcast_shapes(*[each.shape for each in given]))


def _written(name: str, *given: Any) -> str:
    return f"{SPACE}::{name}({', '.join(map(str, given))})"
