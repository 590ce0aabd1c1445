"""Compiled graphs that serve more than one pack: kept by this process, and in torch's cache folder for others.

A graph is known by words that determine its function, by shape, type and place of every tensor that it is given, and by
the width of vectors that torch is set to; in the folder also by this package's source files, the versions of Python,
torch and CUDA, and the abilities of the processor or the GPU. A graph is kept there if all code in it belongs to this
package, to torch or to Python's standard library: these versions and files identify no other code, for example
a user's own activation.
"""

import contextlib
import hashlib
import os
import sys
import sysconfig
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves

from plasticity_lab.kernels import on_gpu
from plasticity_lab.stacking.pool import larger, whole_pool
from plasticity_lab.waits import waiting

Graph = Callable[..., Any]
KEPT = 64
"""Graphs that a process keeps for later packs; those that were not used for longest go first."""
WHOLE = (larger, whole_pool, on_gpu.convolution, on_gpu.product)
"""Functions that are kept whole in graphs, else torch 2.13 forgets their backward under torch.func.grad."""
PACKAGE = Path(__file__).resolve().parents[1]
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
_here: OrderedDict[str, Graph] = OrderedDict()
_not_kept = 0


def graph_of(function: Callable[..., Any], same: Sequence[str] | None, arguments: Sequence[Any]) -> Graph:
    """The compiled function for arguments of these shapes: one that is there already, or a new one.

    same: words that determine the function; None where its graph is to serve nobody else.
    """
    global _not_kept
    _prepare_dynamo()
    if same is None:
        _not_kept += 1
        with waiting("compiling", "graphs"):
            return _compiled(function, arguments)
    known = repr((same, _shapes(arguments), torch.get_num_threads(), _width_of_vectors()))
    graph, path = _here.pop(known, None), _path(known, arguments)
    if graph is None:
        with waiting("compiling", "graphs"):
            graph = _loaded(path, function) or _compiled_and_kept(function, arguments, path)
    _here[known] = graph
    while len(_here) > KEPT:
        _here.popitem(last=False)
    _not_kept += path is None or not path.exists()
    return graph


def not_kept() -> int:
    """How often this process has asked for a graph that is not on the disk afterwards."""
    return _not_kept


def code_version() -> str:
    """A digest of this package's source files as this process began with them. Each change needs new graphs."""
    return _AT_START


def forget() -> None:
    """Lets go of the graphs that this process keeps: as a new process, it looks on the disk then."""
    _here.clear()


def _compiled(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        return _as_compiled(function, arguments)
    except RuntimeError as error:
        # On a CPU, torch 2.13 fails (KeyError 'buf...', pytorch/pytorch#196570) where a parameter's norm, a gradient
        # that reads the parameter, and its update in place become one loop. In parts, the bits are the same. Its own
        # class of errors is not named here: importing it takes seconds, which an eager worker would spend too.
        if not isinstance(getattr(error, "inner_exception", None), KeyError):
            raise
        return _as_compiled(function, arguments, max_fusion_size=2)


def _as_compiled(function: Callable[..., Any], arguments: Sequence[Any], **options: Any) -> Any:
    from plasticity_lab.kernels.compiling import gpu_options, lay_out_once

    for whole in WHOLE:
        torch.compiler.allow_in_graph(whole)
    options["guard_filter_fn"] = torch.compiler.skip_all_guards_unsafe
    if any(isinstance(leaf, torch.Tensor) and leaf.is_cuda for leaf in tree_leaves(arguments)):
        options |= gpu_options()
    lay_out_once()
    graph = torch.compile(function, fullgraph=True, dynamic=False, options=options).aot_compile((tuple(arguments), {}))
    graph.disable_guard_check()
    return graph


def _prepare_dynamo() -> None:
    """Says what compiled calls are to be like, to what makes them and what carries them out."""
    from torch._dynamo import config  # an eager worker needs nothing of it

    config.enable_aot_compile = True  # which torch 2.11 must be told, and later versions need not
    config.record_runtime_overhead = False  # notes for torch's profiler, at every call


def _compiled_and_kept(function: Callable[..., Any], arguments: Sequence[Any], path: Path | None) -> Graph:
    graph = _compiled(function, arguments)
    known = all(is_known(source.module) for source in graph.source_info().inlined_sources)
    # Who edits a source file while this process runs has compiled something else than what the file says now.
    if path is not None and known and _digest() == _AT_START:
        with contextlib.suppress(Exception):  # then others compile it too
            path.parent.mkdir(parents=True, exist_ok=True)
            graph.save_compiled_function(str(path))
    return graph


def is_known(module: str) -> bool:
    """Whether a graph's name on the disk identifies the code of a module: this package's, torch's, Python's own."""
    root = module.partition(".")[0]
    if root in ("plasticity_lab", "torch"):
        return True
    file = getattr(sys.modules.get(root), "__file__", None)  # a user's module can have the name of one of Python's
    places = STANDARD_LIBRARY / f"{root}.py", STANDARD_LIBRARY / root / "__init__.py"
    return file is not None and Path(file).resolve() in places


def _loaded(path: Path | None, function: Callable[..., Any]) -> Graph | None:
    """The graph that a file holds; None where there is none, or where it is of no use.

    function: the function of the graph, which may read names of its module.
    """
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            graph = torch.compiler.load_compiled_function(file, f_globals=getattr(function, "__globals__", None))
    except Exception:  # whatever a damaged file raises, or one whose machine code is gone: it is written anew
        return None
    graph.disable_guard_check()
    return graph


def _path(known: str, arguments: Sequence[Any]) -> Path | None:
    """Where the graph is kept for other processes.  None where torch was given no folder."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if folder is None:
        return None
    devices = {leaf.device for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Tensor)}
    machine = [
        torch.backends.cpu.get_cpu_capability(),
        *sorted(_of_gpu(each) for each in devices if each.type == "cuda"),
    ]
    made_for = (known, _AT_START, sys.version, torch.__version__, *machine)
    name = hashlib.sha256(repr(made_for).encode()).hexdigest()
    return Path(folder) / "plasticity_lab" / f"{name}.graph"


def _of_gpu(device: torch.device) -> str:
    """What machine code for a GPU depends on, beside the code that it is made of."""
    return repr((torch.cuda.get_device_name(device), torch.cuda.get_device_capability(device), torch.version.cuda))


def _width_of_vectors() -> int | None:
    """The bits of the vectors that torch is set to compile for; None where it takes the processor's."""
    from torch._inductor import config  # an eager worker needs nothing of it

    return config.cpp.simdlen


def _shapes(arguments: Sequence[Any]) -> str:
    """Shape, type and place of every tensor in the arguments, and every other value as it is."""
    leaves, structure = tree_flatten(arguments)
    return repr(([_shape(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], structure))


def _shape(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), str(tensor.dtype), str(tensor.device), tensor.requires_grad


def _digest() -> str:
    """Of this package's source files as they are now."""
    found = hashlib.sha256()
    for path in sorted(path for kind in ("*.py", "*.cpp", "*.h") for path in PACKAGE.rglob(kind)):
        found.update(f"{path.relative_to(PACKAGE)}\n".encode() + path.read_bytes())
    return found.hexdigest()


_AT_START = _digest()
