"""Compiled graphs that serve more than one pack: kept in this process, and in torch's cache folder for other processes.

The key of a graph has the words that determine its function, the shape, type and device of every tensor argument,
torch's vector width, and whether graphs of the process call our kernels. In the folder it also has this package's
source files, the versions of Python, torch and CUDA, and the capabilities of the processor or the GPU. A graph is saved
there only if all code in it belongs to this package, to torch or to Python's standard library. The key identifies no
other code, for example a user's activation.
"""

import contextlib
import hashlib
import os
import sys
import sysconfig
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_flatten, tree_leaves

from plasticity_lab.agents import torch_compiler, written_graph
from plasticity_lab.kernels import build, operators
from plasticity_lab.process.garbage import collected_later
from plasticity_lab.waits import waiting

Graph = Callable[..., Any]
KEPT = 64
"""Number of graphs that a process keeps for later packs; the least recently used are dropped first."""
PACKAGE = Path(__file__).resolve().parents[1]
TORCH = "torch", "torchgen", "typing_extensions"
"""Modules of torch, and one that it calls."""
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
_here: OrderedDict[str, Graph] = OrderedDict()
_not_kept = 0
_instead: Callable[[Graph], Graph] | None = None


class _Traced(NamedTuple):
    """A graph until its kernels are compiled.

    known: its key in this process, if it is shared. kept: the file for other processes, if it may be kept there.
    written: its kernels. source: see `written_graph.source_of`.
    """

    graph: Any
    known: str | None
    kept: Path | None
    written: Sequence[Any]
    source: str | None


_together: list[_Traced] | None = None
"""The graphs of `together`."""


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


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Graphs that are requested while this lasts can be called afterwards.

    One call of the C++ compiler makes them all. It reads its headers once, most of its time for a small graph.
    """
    global _together
    _together = []
    try:
        yield
        if _together:
            with waiting("compiling", "graphs"):
                _finish(_together)
    finally:
        _together = None


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
            return _finish([_trace(function, arguments, None, None)])[0]
    known = repr(
        (same, _shapes(arguments), torch.get_num_threads(), _width_of_vectors(), operators.are_called_in_graphs())
    )
    graph, path = _here.pop(known, None), _path(known, arguments)
    if graph is None:
        with waiting("compiling", "graphs"):
            graph = _loaded(path, function)
            if graph is None:
                traced = _trace(function, arguments, known, path)
                if _together is not None:
                    _together.append(traced)
                    return traced.graph
                (graph,) = _finish([traced])
    _keep(known, graph)
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


@collected_later()
def _trace(function: Callable[..., Any], arguments: Sequence[Any], known: str | None, path: Path | None) -> _Traced:
    """A new graph. Only its kernels on a CPU are not compiled yet."""
    from plasticity_lab.kernels.one_library import compiled_later  # imports torch's compiler

    def kept(modules: Iterable[str]) -> Path | None:
        # If a source file was edited while this process runs, the compiled code differs from the file.
        return path if all(map(is_known, modules)) and _digest() == _AT_START else None

    leaves = tree_leaves(arguments)
    if all(leaf.device.type == "cpu" for leaf in leaves if isinstance(leaf, torch.Tensor)):
        with compiled_later() as written:
            recorded = torch_compiler.recorded(function, arguments)
        if recorded is not None and written:
            source = written_graph.source_of(recorded, arguments, written[-1].python, written[-1].places())
            if source is not None:
                return _Traced(recorded, known, kept(recorded.modules), written, source)
    with compiled_later() as written:
        graph = torch_compiler.compiled(function, arguments)
    modules = {source.module for source in graph.source_info().inlined_sources}
    return _Traced(graph, known, kept(modules), written, None)


def _finish(graphs: Sequence[_Traced]) -> list[Graph]:
    """Compiles the kernels of these graphs, by one call of the compiler, and keeps the graphs that are shared."""
    from plasticity_lab.kernels.one_library import compile_kernels

    written = [each for graph in graphs for each in graph.written]
    kernels = iter(torch_compiler.without_half_written(lambda: compile_kernels(written)))
    finished: list[Graph] = []
    for graph in graphs:
        own = [next(kernels) for _ in graph.written]
        if graph.kept is not None:
            with contextlib.suppress(Exception):  # without the file, other processes compile it too
                graph.kept.parent.mkdir(parents=True, exist_ok=True)
                if graph.source:
                    written_graph.save(graph.kept, graph.source, own[-1])
                else:
                    graph.graph.save_compiled_function(str(graph.kept))
        finished.append(written_graph.made(graph.source, own[-1]) if graph.source else graph.graph)
        if graph.known is not None:
            _keep(graph.known, finished[-1])
    return finished


def _keep(known: str, graph: Graph) -> None:
    _here[known] = graph
    while len(_here) > KEPT:
        _here.popitem(last=False)


def is_known(module: str) -> bool:
    """Whether a graph's name on disk identifies a module's code: modules of this package, torch and the standard
    library.
    """
    root = module.partition(".")[0]
    if root in ("plasticity_lab", *TORCH):
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
        torch_compiler.prepare_dynamo()
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
