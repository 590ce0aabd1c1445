"""The vector instructions that torch's compiler may use, tried quickly.

torch compiles a program for each set of instructions, with headers that take seconds, and loads it in another process.
It reads by itself which instructions the processor has. The remaining question is whether the compiler knows their
flags; a compiler that does also has their functions. Compiling nothing with these flags answers it.
"""

import subprocess
from functools import cache

from plasticity_lab.kernels import build


def try_flags_alone() -> None:
    """From now on, trials of this process compile nothing."""
    from torch._inductor.cpu_vec_isa import VecISA  # not imported by eager workers

    VecISA.check_build = lambda instructions, _: flags_known(instructions.build_arch_flags())  # type: ignore[method-assign]


@cache
def flags_known(flags: str) -> bool:
    """Whether this machine's compiler knows these flags.  flags: separated by spaces."""
    compiler = build.compiler()
    if compiler is None:
        return False
    command = [compiler, *flags.split(), "-fsyntax-only", "-x", "c++", "/dev/null"]
    return subprocess.run(command, capture_output=True, timeout=60).returncode == 0
