"""Kinds of devices, as words: packs are bound to them, and figures, plans and workers use them.

A kind names everything that decides the bits of results. A CPU's kind is `cpu-<capability>-<fingerprint>`: torch's
vector capability, and a hash of the bits of short products and functions (`launch/plan/fingerprint.py`). A GPU's kind
is its name with its compute capability and the libraries: `NVIDIA H100 80GB HBM3 (sm_90, CUDA 12.8, cuDNN 91002)`.
Earlier versions named a CPU `cpu` (or `cpu-avx512` with AVX-512 preloaded), and a GPU by its name only; these names do
not decide the bits.
"""

import re

_CPU = re.compile(r"cpu-(?P<capability>[a-z0-9_ ]+)-(?P<fingerprint>[0-9a-f]{6})")
_GPU = re.compile(r"(?P<name>.+) \(sm_\d+, (?:CUDA|HIP) [^,()]+, cuDNN [^,()]+\)")
CPU_BEFORE = "cpu"
"""The kind of most CPUs in earlier versions."""


def is_cpu(kind: str) -> bool:
    """Whether this is a CPU's kind."""
    return kind == CPU_BEFORE or kind.startswith("cpu-")


def is_exact(kind: str) -> bool:
    """Whether a kind determines the bits of results; kinds of earlier versions do not."""
    return (_CPU if is_cpu(kind) else _GPU).fullmatch(kind) is not None


def device_name(kind: str) -> str:
    """The key of a calibration: `cpu-avx2`, or a GPU's plain name."""
    if found := _CPU.fullmatch(kind):
        return f"cpu-{found['capability']}"
    found = _GPU.fullmatch(kind)
    return found["name"] if found else kind


def sort_of(kind: str) -> str:
    """The sort of workers that may begin a pack of this kind: any CPU, or a GPU of the same name."""
    return CPU_BEFORE if is_cpu(kind) else device_name(kind)


def instructions_of(kind: str) -> str | None:
    """The vector instructions that torch uses on a CPU: "default", "avx2", "avx512"; None if unknown, or a GPU."""
    found = _CPU.fullmatch(kind)
    return found["capability"] if found else None


def goes_on(begun: str, here: str) -> bool:
    """Whether a pack that was begun on one kind may continue on another.

    It may if the kinds are equal, or if the first is an earlier version's name for devices of the same sort.
    """
    return begun == here or (not is_exact(begun) and sort_of(begun) == sort_of(here))
