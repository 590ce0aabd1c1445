"""All kernels that torch writes for graphs on a CPU, compiled into one library.

torch compiles each of a graph's kernels by itself, and each compiler reads 40,000 lines of headers first: most of its
time. It therefore keeps them precompiled, in 150 MB that take 4 seconds. Here the headers are read once for a graph, or
once for several graphs that are compiled together. The code of a kernel is unchanged, and so are its numbers.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import torch._inductor.async_compile as torch_compiler
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.codecache import CppPythonBindingsCodeCache

from plasticity_lab.kernels import written_calls

Kernel = tuple[Sequence[str], str]
"""The types of a kernel's arguments in C++, and its source, which defines a function `kernel`."""
SOURCE = 400_000
"""Characters of source at most in one library; a larger graph has several, compiled at the same time."""
SHORT = ("-g0", "-w")
"""Flags after torch's: no line numbers for debuggers, and no warnings. The machine code is the same."""
Scope = dict[str, Any]
"""The names of a graph's Python."""
BEGIN = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cstdlib>
#include <stdexcept>
#include <string>

static void* (*data_ptr)(PyObject* tensor);

template <typename T> [[gnu::noinline]] static T number(PyObject* value) {
    constexpr bool whole = !std::is_floating_point_v<T>;
    const T found = whole ? static_cast<T>(PyLong_AsLongLong(value)) : static_cast<T>(PyFloat_AsDouble(value));
    if (found == T(-1) && PyErr_Occurred()) {
        throw std::runtime_error(whole ? "a kernel needs a whole number here" : "a kernel needs a number here");
    }
    return found;
}

template <typename T> static inline T argument(PyObject* value) {
    if constexpr (std::is_pointer_v<T>) {
        return static_cast<T>(data_ptr(value));
    } else {
        return number<T>(value);
    }
}

using Run = void (*)(PyObject* const* given);

// One function for all kernels: the compiler took 3 ms longer for each kernel that caught exceptions itself.
[[gnu::noinline]] static PyObject* call(Run kernel, PyObject* const* given, bool enough, const char* needs) {
    try {
        if (!enough) throw std::runtime_error(needs);
        kernel(given);
        Py_RETURN_NONE;
    } catch (std::exception const& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }
}
"""
KERNEL = """
namespace graph_{n} {{
#define kernel kernel_{n}
{source}
#undef kernel
}}
static void run_{n}(PyObject* const* given) {{ graph_{n}::kernel_{n}({arguments}); }}
static PyObject* call_{n}(PyObject*, PyObject* const* given, Py_ssize_t count) {{
    return call(run_{n}, given, count == {count}, "a kernel needs {count} arguments");
}}
"""
END = """
static PyMethodDef methods[] = {{{methods}{{NULL, NULL, 0, NULL}}}};
static struct PyModuleDef module_of_kernels = {{PyModuleDef_HEAD_INIT, "kernels", NULL, -1, methods}};
PyMODINIT_FUNC PyInit_kernels(void) {{
    const char* address = std::getenv("_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR");  // set by torch before it loads this
    data_ptr = reinterpret_cast<decltype(data_ptr)>(std::stoull(address ? address : "0"));
    return PyModule_Create(&module_of_kernels);
}}
"""


class OneLibrary(CppPythonBindingsCodeCache):
    """A library with the functions `kernel_0`, `kernel_1`, …; torch keeps it by the digest of its source and flags."""

    cache = {}
    entry_function = "kernels"

    @classmethod
    def _get_uncompiled_header(cls, device: str) -> str | None:
        return None


@dataclass(frozen=True)
class Place:
    """A kernel of a graph that is not compiled yet: its number."""

    number: int


class Written(NamedTuple):
    """A graph as torch wrote it: the names of its Python, with places among them, and its kernels."""

    scope: Scope
    kernels: Sequence[Kernel]

    @property
    def python(self) -> Path:
        """The file of its Python."""
        return Path(self.scope["__file__"])

    def places(self) -> dict[str, Place]:
        """The names of kernels, until they are compiled."""
        return {name: at for name, at in self.scope.items() if isinstance(at, Place)}


class Together(AsyncCompile):
    """torch's compiler of kernels, which waits until it knows all of a graph."""

    later: ClassVar[list[Written] | None] = None
    """The graphs of `compiled_later`; None if each graph is compiled at once."""

    def __init__(self) -> None:
        super().__init__()
        self._kernels: list[Kernel] = []

    def cpp_pybinding(self, argtypes: list[str], source_code: str) -> Any:
        """The place of a kernel on a CPU, until `wait`."""
        self._kernels.append((argtypes, source_code))
        return Place(len(self._kernels) - 1)

    def wait(self, scope: Scope) -> None:
        """Compiles the kernels that are not on the disk, and puts them into the graph's names."""
        written = Written(scope, self._kernels)
        if Together.later is None:
            compile_kernels([written])
        else:
            Together.later.append(written)
        super().wait(scope)


@contextlib.contextmanager
def compiled_later() -> Iterator[list[Written]]:
    """While this lasts, the kernels of new graphs are not compiled. The graphs are listed for `compile_kernels`."""
    before, Together.later = Together.later, []
    try:
        yield Together.later
    finally:
        Together.later = before


def compile_kernels(graphs: Sequence[Written]) -> list[dict[str, tuple[Path, int]]]:
    """Compiles the kernels of graphs that are not on the disk, in one library if it is not too large, and puts them
    into the graphs' names.  Returns for each graph: name → the file of the kernel's library, and its number in it.
    """
    libraries = iter(placed([kernel for graph in graphs for kernel in graph.kernels]))
    found = []
    for graph in graphs:
        own = [next(libraries) for _ in graph.kernels]
        kernels = {name: own[at.number] for name, at in graph.places().items()}
        graph.scope.update({name: getattr(library, f"kernel_{at}") for name, (library, at) in kernels.items()})
        found.append({name: (Path(str(library.__file__)), at) for name, (library, at) in kernels.items()})
    return found


def use_one_library() -> None:
    """From now on, the graphs of this process have one library each, or one together."""
    torch_compiler.AsyncCompile = Together


def placed(kernels: Sequence[Kernel]) -> list[tuple[ModuleType, int]]:
    """Each kernel's library, loaded, and its number in it."""
    parts = divided(kernels)
    loads = [partial(OneLibrary.load, source_of(part), extra_flags=SHORT) for part in parts]
    if len(loads) > 1:
        with ThreadPoolExecutor(torch_compiler.get_compile_threads()) as pool:
            libraries: list[ModuleType] = list(pool.map(lambda load: load(), loads))
    else:
        libraries = [load() for load in loads]
    return [(library, at) for library, part in zip(libraries, parts, strict=True) for at in range(len(part))]


def divided(kernels: Sequence[Kernel]) -> list[list[Kernel]]:
    """The kernels in their order, in as few groups as `SOURCE` allows."""
    groups: list[list[Kernel]] = []
    size = SOURCE
    for kernel in kernels:
        if size + len(kernel[1]) > SOURCE:
            groups.append([])
            size = 0
        groups[-1].append(kernel)
        size += len(kernel[1])
    return groups


def source_of(kernels: Sequence[Kernel]) -> str:
    """The source of a library. Headers precede the kernels' own names."""
    headers: dict[str, None] = {}
    bodies = []
    for n, (types, source) in enumerate(kernels):
        headers |= dict.fromkeys(re.findall(r"^\s*#include.*$", source, re.MULTILINE))
        arguments = [f"argument<{name.replace('const ', '')}>(given[{at}])" for at, name in enumerate(types)]
        bare = re.sub(r"^\s*#include.*$", "", source, flags=re.MULTILINE)
        bodies.append(KERNEL.format(n=n, source=bare, count=len(types), arguments=", ".join(arguments)))
    called = any(f"{written_calls.SPACE}::" in source for _, source in kernels)
    functions = [written_calls.SOURCE.read_text()] if called else []
    methods = [f'{{"kernel_{n}", (PyCFunction)(void*)call_{n}, METH_FASTCALL, ""}}, ' for n in range(len(kernels))]
    return "\n".join([*map(str.strip, headers), BEGIN, *functions, *bodies, END.format(methods="".join(methods))])
