"""Compiled graphs that serve more than one pack: kept in this process, and in torch's cache folder for other processes.

The key of a graph has the words that determine its function, the shape, type and device of every tensor argument, and
torch's vector width. In the folder it also has this package's source files, the versions of Python, torch and CUDA, and
the capabilities of the processor or the GPU. A graph is saved there only if all code in it belongs to this package, to
torch or to Python's standard library. The key identifies no other code, for example a user's activation.
"""

import contextlib
import hashlib
import os
import re
import sys
import sysconfig
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves

from plasticity_lab.agents import written_graph
from plasticity_lab.kernels import build, layers, on_gpu
from plasticity_lab.stacking.pool import larger, whole_pool
from plasticity_lab.waits import waiting

Graph = Callable[..., Any]
KEPT = 64
"""Number of graphs that a process keeps for later packs; the least recently used are dropped first."""
WHOLE = (larger, whole_pool, on_gpu.convolution, on_gpu.product, *layers.WHOLE)
"""Functions that are not traced into by torch.compile. Otherwise torch 2.13 loses their backward under
torch.func.grad.
"""
HALF_WRITTEN = re.compile(r"(/\S+\.so): (?:file too short|invalid ELF header|file too small)")
"""The loader's message about a library, as glibc writes it."""
PACKAGE = Path(__file__).resolve().parents[1]
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
_here: OrderedDict[str, Graph] = OrderedDict()
_not_kept = 0
_instead: Callable[[Graph], Graph] | None = None


@contextlib.contextmanager
def watched_instead(wrapped: Callable[[Graph], Graph]) -> Iterator[None]:
    """While this lasts, new graphs are not compiled: `wrapped(function)` takes the place of each.

    A check sees in this way which functions would be compiled, and the calls of torch in them.
    """
    global _instead
    _instead = wrapped
    try:
        yield
    finally:
        _instead = None


def graph_of(function: Callable[..., Any], same: Sequence[str] | None, arguments: Sequence[Any]) -> Graph:
    """The compiled function for arguments of these shapes: an existing graph, or a new one.

    same: words that determine the function; None if its graph is not shared.
    """
    global _not_kept
    if _instead is not None:
        return _instead(function)
    build.begin_expected()  # our kernels are compiled at the same time
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
    """How many requests of this process were for a graph that is not on disk afterwards."""
    return _not_kept


def code_version() -> str:
    """A digest of this package's source files at the start of this process. Each change needs new graphs."""
    return _AT_START


def forget() -> None:
    """Drops the graphs that this process keeps, so that it looks on disk again, like a new process."""
    _here.clear()


def _compiled(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The compiled function. A half-written library, left by a compiler that was stopped, is removed and made again."""
    _prepare_dynamo()
    removed: set[Path] = set()
    while True:
        try:
            return _compiled_around(function, arguments)
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


def _compiled_around(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        return _as_compiled(function, arguments)
    except RuntimeError as error:
        # On a CPU, torch 2.13 fails (KeyError 'buf...', pytorch/pytorch#196570) if a parameter's norm, a gradient
        # that reads the parameter, and its update in place become one loop. Split loops give the same bits. Torch's
        # error class is not named here: importing it takes seconds, which an eager worker would spend too.
        if not isinstance(getattr(error, "inner_exception", None), KeyError):
            raise
        return _as_compiled(function, arguments, max_fusion_size=2)


def _as_compiled(function: Callable[..., Any], arguments: Sequence[Any], **options: Any) -> Any:
    from plasticity_lab.kernels.compiling import gpu_options, lay_out_once, look_up_types_once, read_strides_off
    from plasticity_lab.kernels.written_calls import write_calls

    for whole in WHOLE:
        torch.compiler.allow_in_graph(whole)
    options["guard_filter_fn"] = torch.compiler.skip_all_guards_unsafe
    if any(isinstance(leaf, torch.Tensor) and leaf.is_cuda for leaf in tree_leaves(arguments)):
        options |= gpu_options()
    write_calls()
    lay_out_once()
    look_up_types_once()
    read_strides_off()
    graph = torch.compile(function, fullgraph=True, dynamic=False, options=options).aot_compile((tuple(arguments), {}))
    graph.disable_guard_check()
    return graph


def _prepare_dynamo() -> None:
    """Sets torch's options for compiled calls, both for compiling and for running them."""
    from torch._dynamo import config  # not imported by eager workers

    from plasticity_lab.kernels.instructions import try_flags_alone
    from plasticity_lab.kernels.one_library import compile_together

    try_flags_alone()
    compile_together()
    config.enable_aot_compile = True  # needed by torch 2.11; the default in later versions
    config.record_runtime_overhead = False  # otherwise every call writes entries for torch's profiler


def _compiled_and_kept(function: Callable[..., Any], arguments: Sequence[Any], path: Path | None) -> Graph:
    from plasticity_lab.kernels.one_library import Together  # imports torch's compiler

    Together.written.clear()
    graph = _compiled(function, arguments)
    known = all(is_known(source.module) for source in graph.source_info().inlined_sources)
    # If a source file was edited while this process runs, the compiled code differs from the file.
    kept = path if known and _digest() == _AT_START else None
    written = Together.written[-1] if Together.written else None
    source = written and written_graph.source_of(graph, arguments, written.python, written.kernels)
    if kept is not None:
        with contextlib.suppress(Exception):  # without the file, other processes compile it too
            kept.parent.mkdir(parents=True, exist_ok=True)
            if written and source:
                written_graph.save(kept, source, written.kernels)
            else:
                graph.save_compiled_function(str(kept))
    return written_graph.made(source, written.kernels) if written and source else graph


def is_known(module: str) -> bool:
    """Whether a graph's name on disk identifies a module's code: modules of this package, torch and the standard
    library.
    """
    root = module.partition(".")[0]
    if root in ("plasticity_lab", "torch"):
        return True
    file = getattr(sys.modules.get(root), "__file__", None)  # a user's module may shadow one of the standard library
    places = STANDARD_LIBRARY / f"{root}.py", STANDARD_LIBRARY / root / "__init__.py"
    return file is not None and Path(file).resolve() in places


def _loaded(path: Path | None, function: Callable[..., Any]) -> Graph | None:
    """The graph stored in a file; None if the file does not exist or is unusable.

    function: the function of the graph, which may read names of its module.
    """
    if path is None:
        return None
    try:
        if (written := written_graph.load(path)) is not None:
            return written
        _prepare_dynamo()
        with path.open("rb") as file:
            graph = torch.compiler.load_compiled_function(file, f_globals=getattr(function, "__globals__", None))
    except Exception:  # a damaged file, or one with its machine code missing: it is overwritten
        return None
    graph.disable_guard_check()
    return graph


def _path(known: str, arguments: Sequence[Any]) -> Path | None:
    """The file of the graph for other processes. None if torch was given no cache folder."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if folder is None:
        return None
    devices = {leaf.device for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Tensor)}
    machine = [
        torch.backends.cpu.get_cpu_capability(),
        *sorted(
            repr((torch.cuda.get_device_name(each), torch.cuda.get_device_capability(each), torch.version.cuda))
            for each in devices
            if each.type == "cuda"
        ),
    ]
    made_for = (known, _AT_START, sys.version, torch.__version__, *machine)
    name = hashlib.sha256(repr(made_for).encode()).hexdigest()
    return Path(folder) / "plasticity_lab" / f"{name}.graph"


def _width_of_vectors() -> int | None:
    """Torch's vector width in bits for compiled code; None if it follows the processor."""
    config = sys.modules.get("torch._inductor.config")  # if it was not imported, it was not changed
    return None if config is None else config.cpp.simdlen


def _shapes(arguments: Sequence[Any]) -> str:
    """Shape, type and device of every tensor in the arguments, and every other value unchanged."""
    leaves, structure = tree_flatten(arguments)
    return repr(([_shape(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], structure))


def _shape(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), str(tensor.dtype), str(tensor.device), tensor.requires_grad


def _digest() -> str:
    """A digest of this package's source files as they are now."""
    found = hashlib.sha256()
    for path in sorted(path for kind in ("*.py", "*.cpp", "*.h") for path in PACKAGE.rglob(kind)):
        found.update(f"{path.relative_to(PACKAGE)}\n".encode() + path.read_bytes())
    return found.hexdigest()


_AT_START = _digest()
