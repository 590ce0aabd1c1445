"""The operations of a function, recorded for torch's compiler by running it.

torch.compile first reads the function's bytecode (Dynamo), and then records the operations that it found there: a sixth
of the CPU time to an agent's first step. Here the function itself runs, twice, on tensors without numbers. Only its
operations become part of the graph, so it must do nothing else.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from plasticity_lab.kernels import operators

TENSOR = object()
"""Takes the place of each tensor among the leaves of a structure."""


class NotRecorded(Exception):
    """The function puts other objects into its arguments: no graph of its operations does so."""


class Recorded:
    """A function of tensors, and of structures of them, as a graph for arguments of the same shapes on a CPU.

    modules: the names of the modules with code that has run.
    """

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Compiles it.  options: for torch's compiler.  Raises NotRecorded, and errors of both."""
        from torch._guards import TracingContext, tracing  # with the compiler
        from torch._inductor.compile_fx import compile_fx
        from torch._subclasses.fake_tensor import FakeTensorMode

        leaves, structure = tree_flatten(tuple(arguments))
        self._run = Run(function, leaves, structure)
        without_numbers = FakeTensorMode(allow_non_fake_inputs=True)  # tensors that the function has keep their numbers
        given = [without_numbers.from_tensor(leaf) for leaf in leaves if isinstance(leaf, Tensor)]
        module: Any = self._run
        with tracing(TracingContext(without_numbers)):
            self._call: Any = compile_fx(module, given, config_patches=dict(options))
        self.modules = self._run.modules

    def __call__(self, *arguments: Any) -> Any:
        """Calls the graph."""
        leaves, _ = tree_flatten(arguments)
        return self._run.result_of(self._call(*[leaf for leaf in leaves if isinstance(leaf, Tensor)]))


class Run(torch.nn.Module):
    """The function, with its tensors as the only arguments and results; torch's compiler takes a module.

    leaves, structure: the function's arguments. modules: the names of the modules with code that has run.
    """

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any], structure: TreeSpec) -> None:
        super().__init__()
        self.modules: set[str] = set()
        self._function, self._leaves, self._structure = function, _without_tensors(leaves), structure
        self._result: tuple[Sequence[Any], TreeSpec] | None = None

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The tensors of the result."""
        given = tree_unflatten(_with_tensors(self._leaves, tensors), self._structure)
        before = tree_flatten(given)[0]
        with _compiling(), operators.recorded(), contextlib.nullcontext() if self.modules else _noting(self.modules):
            leaves, structure = tree_flatten(self._function(*given))
        if [*map(id, before)] != [*map(id, tree_flatten(given)[0])]:
            raise NotRecorded
        self._result = _without_tensors(leaves), structure
        return tuple(leaf for leaf in leaves if isinstance(leaf, Tensor))

    def result_of(self, tensors: Sequence[Tensor]) -> Any:
        """The function's result, with these tensors in it."""
        assert self._result is not None
        leaves, structure = self._result
        return tree_unflatten(_with_tensors(leaves, tensors), structure)


def _without_tensors(leaves: Sequence[Any]) -> list[Any]:
    return [TENSOR if isinstance(leaf, Tensor) else leaf for leaf in leaves]


def _with_tensors(leaves: Sequence[Any], tensors: Sequence[Tensor]) -> list[Any]:
    own = iter(tensors)
    return [next(own) if leaf is TENSOR else leaf for leaf in leaves]


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """While this lasts, `torch.compiler.is_compiling` says yes."""
    before, torch.compiler._is_compiling_flag = torch.compiler._is_compiling_flag, True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag = before


@contextlib.contextmanager
def _noting(modules: set[str]) -> Iterator[None]:
    """Adds the module of each Python function that is called. Code that Python generates has no file."""

    def called(frame: FrameType, event: str, argument: Any) -> None:
        if not frame.f_code.co_filename.startswith("<"):
            modules.add(frame.f_globals.get("__name__", ""))

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)
