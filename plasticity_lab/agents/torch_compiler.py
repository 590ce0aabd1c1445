"""Calls of torch's compiler."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch.utils._pytree import tree_leaves

from plasticity_lab.agents.recording import Recorded
from plasticity_lab.kernels import layers, on_gpu
from plasticity_lab.process.garbage import collected_later
from plasticity_lab.stacking.pool import larger, whole_pool

Result = TypeVar("Result")
Compile = Callable[[Callable[..., Any], Sequence[Any], dict[str, Any]], Any]
"""(function, arguments, options) → the compiled function."""
WHOLE = (larger, whole_pool, on_gpu.convolution, on_gpu.product, *layers.WHOLE)
"""Functions that are not traced into by torch.compile. Otherwise torch 2.13 loses their backward under
torch.func.grad.
"""
HALF_WRITTEN = re.compile(r"(/\S+\.so): (?:file too short|invalid ELF header|file too small)")
"""The loader's message about a library, as glibc writes it."""


@collected_later()
def compiled(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The function, compiled for arguments of these shapes."""
    prepare_dynamo()
    return without_half_written(lambda: _compiled_around(_by_dynamo, function, arguments))


@collected_later()
def recorded(function: Callable[..., Any], arguments: Sequence[Any]) -> Recorded | None:
    """The function, compiled without Dynamo for arguments of these shapes on a CPU; None if that is not possible.

    Then `compiled` either can do it, for example for a function that changes a tensor of its module, or says why not.
    """
    prepare_dynamo()
    try:
        return without_half_written(lambda: _compiled_around(Recorded, function, arguments))
    except Exception:
        return None


def without_half_written(compile_it: Callable[[], Result]) -> Result:
    """A result of compiling. A half-written library, left by a compiler that was stopped, is removed and made again."""
    removed: set[Path] = set()
    while True:
        try:
            return compile_it()
        except Exception as error:
            library = _half_written(error)
            if library is None or library in removed:
                raise
            removed.add(library)
            library.unlink(missing_ok=True)


def _half_written(error: BaseException | None) -> Path | None:
    """The library in torch's folder that could not be loaded, according to an error or its causes."""
    while error is not None:
        if found := HALF_WRITTEN.search(str(error)):
            return Path(found[1])
        error = error.__cause__ or error.__context__
    return None


def _compiled_around(compile_it: Compile, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    options = _options(arguments)
    try:
        return compile_it(function, arguments, options)
    except RuntimeError as error:
        # On a CPU, torch 2.13 fails (KeyError 'buf...', pytorch/pytorch#196570) if a parameter's norm, a gradient
        # that reads the parameter, and its update in place become one loop. Split loops give the same bits. Torch's
        # error class is not named here: importing it takes seconds, which an eager worker would spend too.
        if not isinstance(getattr(error, "inner_exception", None), KeyError):
            raise
        return compile_it(function, arguments, {**options, "max_fusion_size": 2})


def _options(arguments: Sequence[Any]) -> dict[str, Any]:
    """Options for torch's compiler, which is imported and changed here."""
    from plasticity_lab.kernels.repeated_work import leave_out

    leave_out()  # before other parts of the compiler are imported
    from plasticity_lab.kernels.compiling import gpu_options, lay_out_once, look_up_types_once, read_strides_off
    from plasticity_lab.kernels.written_calls import write_calls

    write_calls()
    lay_out_once()
    look_up_types_once()
    read_strides_off()
    if any(isinstance(leaf, torch.Tensor) and leaf.is_cuda for leaf in tree_leaves(arguments)):
        return gpu_options()
    return {"graph_partition": False}  # into parts for CUDA graphs


def _by_dynamo(function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> Any:
    for whole in WHOLE:
        torch.compiler.allow_in_graph(whole)
    options = {**options, "guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    graph = torch.compile(function, fullgraph=True, dynamic=False, options=options).aot_compile((tuple(arguments), {}))
    graph.disable_guard_check()
    return graph


def prepare_dynamo() -> None:
    """Sets torch's options for compiled calls, both for compiling and for running them."""
    from torch._dynamo import config  # not imported by eager workers

    from plasticity_lab.kernels.instructions import try_flags_alone
    from plasticity_lab.kernels.one_library import use_one_library

    try_flags_alone()
    use_one_library()
    config.enable_aot_compile = True  # needed by torch 2.11; the default in later versions
    config.record_runtime_overhead = False  # otherwise every call writes entries for torch's profiler
