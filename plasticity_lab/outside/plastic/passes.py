"""Watching the forward passes of a module: first its structure, then the activations that an intervention reads."""

import contextlib
import inspect
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from plasticity_lab.errors import InputError
from plasticity_lab.outside.plastic.model import Given, evaluating
from plasticity_lab.outside.plastic.trace import Trace
from plasticity_lab.outside.plastic.watch import Watch


class Hook:
    """A hook of one module. A copy of the module has a hook without effect; pickled, it is one, too."""

    def __init__(self, call: Callable[..., None] | None = None) -> None:
        self._call = call

    def __call__(self, module: nn.Module, *more: Any) -> None:
        """Calls the function."""
        if self._call is not None and not torch.compiler.is_compiling():
            self._call(module, *more)

    def __deepcopy__(self, memo: Any) -> "Hook":
        return Hook()

    def __reduce__(self) -> tuple[type["Hook"], tuple[()]]:
        return Hook, ()


class Passes:
    """The last watched pass: given, its arguments (None inside of `watching`), outputs, and activations.

    A pass of the module itself is watched if gradients are enabled; if `watching` was used, passes inside of it alone.
    traced: called after the first one with its trace. reads: whether later ones are watched at all.
    """

    def __init__(self, module: nn.Module, traced: Callable[[Trace], None], reads: bool) -> None:
        self._module, self._traced, self._reads = module, traced, reads
        self._constants = {id(value) for value in (*module.parameters(), *module.buffers())}
        self._mode: Trace | Watch | None = None
        self._frame: FrameType | None = None
        self._depth, self._paused, self._by_hand, self._differs = 0, False, False, False
        self.trace: Trace | None = None
        self.given: Given | None = None
        self.outputs: Any = None
        self.hidden: list[Tensor] | None = None
        self._hooks = [
            module.register_forward_pre_hook(Hook(self._begin), with_kwargs=True),
            module.register_forward_hook(Hook(self._end), with_kwargs=True, always_call=True),
        ]

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Inside this context all functions of torch are watched as one pass."""
        self._by_hand = True
        with self.paused(), self._opened() as mode:
            yield
        self._keep(mode, None, None)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside this context no pass of the module is watched."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def example(self, args: tuple[Any, ...]) -> None:
        """A pass in evaluation mode with these arguments, to find the structure alone."""
        devices = {value.device.index for value in self._module.parameters() if value.is_cuda}
        with torch.random.fork_rng(list(devices)), torch.enable_grad(), evaluating(self._module), self.paused():
            with self._opened() as mode:
                made = self._module(*args)
            self._keep(mode, Given(args, {}), made)
        self.forget()

    def forget(self) -> None:
        """Drops the last pass."""
        self.given = self.outputs = self.hidden = None

    def last(self) -> list[Tensor]:
        """The activations of the last pass.  Raises InputError if there was none since the last step."""
        if self.hidden is None:
            raise InputError(
                "No forward pass with gradients was watched since the last step; call keep.step() once after each "
                "optimizer.step(), and watch passes that the module does not make itself (methods other than forward, "
                "torch.compile) by `with keep.watch():`."
            )
        if self._differs:
            raise InputError(
                "The forward pass calls other layers or activations than the first one that was watched, so its units "
                "are unknown; choose an intervention that reads no units, or watch one part by `with keep.watch():`."
            )
        return self.hidden

    def _begin(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if module is not self._module or self._skips():
            return
        if self._mode is not None and not _runs(self._frame):  # the last pass was interrupted
            self._mode.__exit__(None, None, None)
            self._mode, self._depth = None, 0
        self._depth += 1
        if self._depth == 1:
            self._mode, self._frame = self._new((args, kwargs)), _caller()
            self._mode.__enter__()

    def _end(self, module: nn.Module, args: Any, kwargs: Any, made: Any) -> None:
        if module is not self._module or self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0 and self._mode is not None:
            mode, self._mode, self._frame = self._mode, None, None
            mode.__exit__(None, None, None)
            if made is not None:
                self._keep(mode, Given(args, kwargs), made)

    def _skips(self) -> bool:
        watched = self.trace is None or self._reads
        replaced = all(id(value) not in self._constants for value in self._module.parameters())  # by functional_call
        return replaced or self._paused or self._by_hand or not watched or not torch.is_grad_enabled()

    def _new(self, inputs: Any = ()) -> Trace | Watch:
        return Trace(self._constants, inputs) if self.trace is None else Watch(self.trace.overwritten)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Trace | Watch]:
        mode = self._new()
        with mode:
            yield mode

    def _keep(self, mode: Trace | Watch, given: Given | None, made: Any) -> None:
        if isinstance(mode, Trace):
            mode.finish(made)
            self.trace = mode
            for hook in () if self._reads else self._hooks:
                hook.remove()
            self._traced(mode)
        self._differs = self.trace is not None and mode.calls != self.trace.calls
        self.given, self.outputs = given, made
        self.hidden = list(mode.hidden) if self._reads else None
        mode.hidden.clear()


def _caller() -> FrameType | None:
    """The frame of torch's call of the module: it called the hook, which called this module's function."""
    frame = inspect.currentframe()
    for _ in range(3):
        frame = None if frame is None else frame.f_back
    return frame


def _runs(call: FrameType | None) -> bool:
    """Whether a call has not ended."""
    frame = inspect.currentframe()
    while frame is not None and frame is not call:
        frame = frame.f_back
    return frame is not None
