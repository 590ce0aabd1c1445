"""A compiled graph for a CPU as the Python that torch wrote for it: kept and called without torch's compiler.

torch reads a graph from the disk by its whole compiler, two seconds of imports, and calls it within several wrappers.
But torch wrote one function `call(args)` for the tensors that the graph reads. A trial call without any computing shows
which tensors of the arguments these are, and the use of the results. If it does not show that, the graph is kept and
called as torch does (`source_of` returns None).
"""

import ast
import base64
import importlib.machinery
import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

Graph = Callable[..., Any]
Kernels = Mapping[str, tuple[Path, int]]
"""Name in the graph's Python → the file of its library, and its number in it."""
PLAIN = (bool, int, float, str, type(None))
MOST_BYTES = 2**16
"""The largest tensor that a graph's Python contains: means of pixels, for example."""
EXTERNAL = {"mm", "bmm", "addmm", "baddbmm", "convolution"}
"""Names in torch's `extern_kernels` that are functions of torch."""


class _NotShown(Exception):
    """The trial call does not show the work of a graph."""


def source_of(graph: Graph, arguments: Sequence[Any], python: Path, kernels: Collection[str]) -> str | None:
    """Python with a function `graph` that does the same as a graph of torch for arguments of these shapes.

    python: the file that torch wrote. kernels: names there. None if it needs more than `_scope` has, or if the trial
    does not show enough.
    """
    try:
        call = _call_in(ast.parse(python.read_text()))
        around, constants = _around(graph, arguments, _results_of(call))
        _check_names(call, {*kernels, *constants})
        own = "".join(f"{name} = {_constant(value)}\n" for name, value in constants.items())
        return f"{own}{ast.unparse(call)}\n\n{around}"
    except (_NotShown, SyntaxError):
        return None


def save(path: Path, source: str, kernels: Kernels) -> None:
    """Writes a graph to a file. Libraries are named from the folder of compiled code, which may be moved."""
    top = path.parents[1]
    places = {name: (os.path.relpath(library, top), at) for name, (library, at) in kernels.items()}
    own = path.with_suffix(f".{os.getpid()}")
    own.write_text(json.dumps({"kernels": places, "source": source}))
    own.replace(path)


def load(path: Path) -> Graph | None:
    """The graph in a file; None if the file has one of torch's.  Raises exceptions of many kinds if it is damaged."""
    kept = path.read_bytes()
    if not kept.startswith(b"{"):
        return None
    graph = json.loads(kept)
    return made(graph["source"], {name: (path.parents[1] / file, at) for name, (file, at) in graph["kernels"].items()})


def made(source: str, kernels: Kernels) -> Graph:
    """The function `graph` of a source, with these kernels."""
    libraries = {file: _library(file) for file in {file for file, _ in kernels.values()}}
    scope = _scope() | {name: getattr(libraries[file], f"kernel_{at}") for name, (file, at) in kernels.items()}
    exec(compile(source, "<graph>", "exec"), scope)
    return scope["graph"]


def _scope() -> dict[str, Any]:
    """The names that torch imports at the beginning of such a file, without the compiler."""
    guards = _guards()
    return {
        "torch": torch,
        "math": math,
        "inf": math.inf,
        "nan": math.nan,
        "aten": torch.ops.aten,
        "assert_size_stride": guards.assert_size_stride,
        "assert_alignment": guards.assert_alignment,
        "empty_strided_cpu": guards._empty_strided_cpu,
        "reinterpret_tensor": guards._reinterpret_tensor,
        "alloc_from_pool": torch.ops.inductor._alloc_from_pool,
        "extern_kernels": torch,
        "tensor_of": _tensor_of,
        "increment_version": torch.autograd.graph.increment_version,
    }


def _guards() -> Any:
    compiled: Any = torch._C  # its parts are not declared
    return compiled._dynamo.guards


def _library(file: Path) -> ModuleType:
    guards = _guards()
    # The library asks for this when it is loaded: the address of the function that gives a tensor's address.
    os.environ["_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"] = str(guards._torchinductor_pyobject_tensor_data_ptr)
    # Python would use one module for all libraries of a name that it has loaded before.
    name = f"{file.stem}.kernels"
    loader = importlib.machinery.ExtensionFileLoader(name, str(file))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _call_in(written: ast.Module) -> ast.FunctionDef:
    """The function `call` that torch wrote."""
    for each in written.body:
        if isinstance(each, ast.FunctionDef) and each.name == "call":
            return each
    raise _NotShown


def _check_names(call: ast.FunctionDef, kernels: set[str]) -> None:
    names = [node for node in ast.walk(call) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {"args"}
    if not {node.id for node in names} <= own | kernels | _scope().keys():
        raise _NotShown
    for node in ast.walk(call):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "extern_kernels":
            if node.attr not in EXTERNAL:
                raise _NotShown


def _results_of(call: ast.FunctionDef) -> int:
    *_, last = call.body
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple):
        raise _NotShown
    return len(last.value.elts)


def _around(graph: Graph, arguments: Sequence[Any], results: int) -> tuple[str, Mapping[str, Any]]:
    """Python that calls `call` as the graph does, found by a trial call with tensors without numbers; and the tensors
    of the graph's function that `call` has, by their names.
    """
    leaves, structure = tree_flatten(tuple(arguments))
    if not all(isinstance(leaf, PLAIN) or _is_plain(leaf) for leaf in leaves):
        raise _NotShown
    trial = [_empty(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    given = tree_unflatten(trial, structure)
    compiled, reads, outcome, found = _trial(graph, given, results)
    if [id(leaf) for leaf in tree_flatten(given)[0]] != [id(leaf) for leaf in trial]:
        raise _NotShown  # it puts other tensors into its arguments
    places: dict[int, str] = {}
    _name_places(given, "given", places)
    kept = [each for each in reads if id(each) not in places]
    places |= {id(each): f"constants[{at}]" for at, each in enumerate(kept)}
    changed = [places[id(leaf)] for leaf in trial if isinstance(leaf, Tensor) and leaf._version]
    names = places | {id(each): f"results[{at}]" for at, each in enumerate(outcome)}
    classes: dict[str, str] = {}
    lines = [
        "def graph(*given):",
        f"    results = call([{', '.join(places[id(each)] for each in reads)}])",
        *([f"    increment_version(({', '.join(changed)},))"] if changed else []),
        f"    return {_expression(found, names, classes)}",
    ]
    imports = [f"from {module} import {name}" for name, module in classes.items()]
    constants = f"constants = [{', '.join(map(_constant, kept))}]"
    return "\n".join([*imports, constants, *lines]), compiled.constants or {}


def _empty(like: Tensor) -> Tensor:
    return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype)


def _is_plain(leaf: Any) -> bool:
    on_cpu = type(leaf) is Tensor and leaf.device.type == "cpu" and leaf.layout == torch.strided
    return on_cpu and not leaf.requires_grad


def _trial(graph: Graph, given: Sequence[Any], results: int) -> tuple[Any, list[Any], list[Tensor], Any]:
    """torch's graph, the tensors that its `call` gets, those that it returns in the trial, and the graph's value."""
    from torch._inductor.output_code import CompiledFxGraph  # it was just compiled

    calls: list[tuple[CompiledFxGraph, list[Any]]] = []
    outcome = [torch.empty(0) for _ in range(results)]

    def call(compiled: CompiledFxGraph, inputs: Sequence[Any]) -> Sequence[Any]:
        calls.append((compiled, list(inputs)))
        return list(outcome)

    usual, CompiledFxGraph.__call__ = CompiledFxGraph.__call__, call  # type: ignore[method-assign]
    try:
        found = graph(*given)
    except Exception as error:
        raise _NotShown from error
    finally:
        CompiledFxGraph.__call__ = usual  # type: ignore[method-assign]
    if len(calls) != 1:
        raise _NotShown
    return *calls[0], outcome, found


def _constant(value: Any) -> str:
    """Python for a tensor that the graph's function has: it follows from the words that identify the graph."""
    if not isinstance(value, Tensor) or not _is_plain(value) or value.nbytes > MOST_BYTES or not value.is_contiguous():
        raise _NotShown
    numbers = base64.b85encode(value.numpy().tobytes()).decode()
    return f"tensor_of({numbers!r}, {value.dtype}, {tuple(value.shape)})"


def _tensor_of(numbers: str, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    return torch.frombuffer(bytearray(base64.b85decode(numbers)), dtype=dtype).reshape(shape)


def _name_places(value: Any, name: str, places: dict[int, str]) -> None:
    """Tensor in a structure → the expression that gets it."""
    if isinstance(value, Tensor):
        places[id(value)] = name
    elif isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, (str, int)):
                raise _NotShown
            _name_places(each, f"{name}[{key!r}]", places)
    elif isinstance(value, (tuple, list)):
        for at, each in enumerate(value):
            _name_places(each, f"{name}[{at}]", places)


def _expression(value: Any, names: dict[int, str], classes: dict[str, str]) -> str:
    """Python for a structure of tensors with these names.  classes: named tuple → module, filled here."""
    if isinstance(value, Tensor):
        if id(value) not in names:
            raise _NotShown
        return names[id(value)]
    if isinstance(value, PLAIN):
        return repr(value)
    kind = type(value)
    if kind is dict and all(isinstance(key, (str, int)) for key in value):
        return "{" + ", ".join(f"{key!r}: {_expression(each, names, classes)}" for key, each in value.items()) + "}"
    if kind is not list and not isinstance(value, tuple):
        raise _NotShown
    parts = "".join(f"{_expression(each, names, classes)}, " for each in value)
    if kind in (tuple, list):
        return f"({parts})" if kind is tuple else f"[{parts}]"
    if not hasattr(value, "_fields") or getattr(sys.modules[kind.__module__], kind.__qualname__, None) is not kind:
        raise _NotShown
    if classes.setdefault(kind.__name__, kind.__module__) != kind.__module__:
        raise _NotShown
    return f"{kind.__name__}({parts})"
