"""Calls of torch's functions with other last bits at other places of a tensor, found while a small pack is trained.

Two kinds: torch's own kernels of `EVERYWHERE` compute the last, incomplete vector of a tensor in another way. For
`COMPILED`, torch.compile emits vector code in some loops and C's functions in others, by shapes and by fusion, hence by
the number of runs (see `plasticity_lab.stacking.elementary`).
"""

import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

import launch
import plasticity_lab
from launch.own_classes.named import Fault, is_own, own_bases, place
from launch.runs.files import table_in

_DATA = table_in("own_classes/functions.yaml")
EVERYWHERE: Mapping[str, str] = _DATA["everywhere"]
COMPILED: Mapping[str, str] = EVERYWHERE | _DATA["compiled"]
EXACT = (-2, -1, -0.5, 0, 0.5, 1, 2, 3)
"""Exponents with products, quotients and roots in the place of a power; these are rounded in one way only."""
OPERATORS = {"__pow__": "pow", "__rpow__": "pow", "__ipow__": "pow", "float_power": "pow", "log_sigmoid": "logsigmoid"}
LIBRARY = Path(torch.__file__).parent
OURS = [Path(package.__file__ or "").parent for package in (plasticity_lab, launch)]
PYTHONS = Path(sysconfig.get_path("stdlib"))


class Functions(TorchFunctionMode):
    """While it is entered, the first such call in a class's own code becomes its `fault`.

    runs: their number in the pack. compiles: wraps a function that would be compiled.
    """

    def __init__(self, cls: type, runs: int) -> None:
        super().__init__()
        self.fault: Fault | None = None
        self._own, self._runs, self._compiled = is_own(cls), runs, False
        self._files = {Path(place(base).rpartition(", line ")[0]) for base in own_bases(cls)}

    def compiles(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function; the mode knows while it is called."""

        def called(*arguments: Any) -> Any:
            self._compiled = True
            try:
                return function(*arguments)
            finally:
                self._compiled = False

        return called

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls the function; keeps a fault."""
        if self.fault is None:
            self._look(func, args)
        return func(*args, **(kwargs or {}))

    def _look(self, function: Any, arguments: Sequence[Any]) -> None:
        called = str(getattr(function, "__name__", "")).removeprefix("special_")
        name = OPERATORS.get(called, called.removesuffix("_"))
        instead = (COMPILED if self._compiled else EVERYWHERE).get(name)
        if instead is None or _is_exact(called, arguments) or not self._of_runs(arguments):
            return
        where = self._caller()
        if where is not None:
            code = "compiled code computes it" if self._compiled and name not in EVERYWHERE else "torch computes it"
            what = (
                f"a bare {'**' if name == 'pow' else f'torch.{name}'} has other last bits at other places in the pack, "
                f"since {code} in vectors at some places and number by number at others; take {instead}"
            )
            self.fault = Fault(what, where)

    def _of_runs(self, arguments: Sequence[Any]) -> bool:
        """Whether an argument holds numbers of all runs; in compiled code, whether there is any tensor.

        A number of one run at a time has the same place in every pack. Outside of compiled code, numbers of 64 bits
        are for float32 to be made of them (an optimizer's corrections): their last bits do not matter.
        """
        floats = [value for value in arguments if isinstance(value, Tensor) and value.is_floating_point()]
        if self._compiled:
            return bool(floats)
        return any(
            value.dim() > 0 and value.shape[0] % self._runs == 0 and value.dtype != torch.float64 for value in floats
        )

    def _caller(self) -> str | None:
        """The file and line in the class's own code that made this call; None for a call of other code."""
        frame = sys._getframe(2)
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path != Path(__file__) and LIBRARY not in path.parents:
                break
            frame = frame.f_back
        if frame is None:
            return None
        elsewhere = PYTHONS in path.parents or any(folder in path.parents for folder in OURS)
        own = path.absolute() in self._files or (self._own and not elsewhere)
        return f"{path.absolute()}, line {frame.f_lineno}" if own else None


def _is_exact(called: str, arguments: Sequence[Any]) -> bool:
    """Whether a call is a power with an exponent of `EXACT`."""
    if called not in ("pow", "pow_", "__pow__", "__ipow__", "float_power") or len(arguments) < 2:
        return False
    return isinstance(arguments[0], Tensor) and not isinstance(arguments[1], Tensor) and arguments[1] in EXACT
