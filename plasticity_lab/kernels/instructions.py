"""The vector instructions that torch's compiler may use, remembered on the disk.

Each process that compiles a graph, or loads one, lets torch compile a trial for each set of instructions, and load it
in another process. This takes a second of CPU time. Here a trial that succeeded is not repeated. A trial that fails
because an earlier compiler was stopped is repeated: without vector instructions the graphs would have other bits.
"""

import contextlib
import hashlib
from functools import cache
from pathlib import Path

import torch

from plasticity_lab.kernels import build


@cache
def remember_instructions() -> None:
    """From now on, trials of this process that succeeded in an earlier process are not repeated."""
    from torch._inductor.cpu_vec_isa import VecISA  # not imported by eager workers

    tried = VecISA.check_build

    def check_build(instructions: VecISA, code: str) -> bool:
        mark = mark_of(code, instructions.build_arch_flags())
        if mark.exists():
            return True
        works = tried(instructions, code) or (_removed_empty() and tried(instructions, code))
        if works:
            with contextlib.suppress(OSError):  # without the mark, later processes try again
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()
        return works

    VecISA.check_build = check_build  # type: ignore[method-assign]


def _removed_empty() -> bool:
    """Removes empty libraries, which a stopped compiler leaves in torch's folder.  Returns whether there were any."""
    empty = [path for path in build.folder().parent.glob("*/*.so") if not path.stat().st_size]
    for path in empty:
        path.unlink(missing_ok=True)
    return bool(empty)


def mark_of(code: str, flags: str) -> Path:
    """The file that says that a trial of this code with these flags succeeded.

    `build.folder()` belongs to one model of processor.
    """
    known = code, flags, torch.__version__, build.compiler()
    return build.folder() / f"{hashlib.sha256(repr(known).encode()).hexdigest()[:16]}.works"
