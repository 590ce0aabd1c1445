"""Kinds of devices, as words: packs are bound to them, and figures, plans and workers use them.

A kind names everything that decides the bits of results. A CPU's kind is `cpu-<capability>-<fingerprint>`: torch's
vector capability, and a hash of the bits of short products and functions (`launch/plan/fingerprint.py`). A GPU's kind
is its name with its compute capability and the libraries: `NVIDIA H100 80GB HBM3 (sm_90, CUDA 12.8, cuDNN 91002)`.
"""

import re

_CPU = re.compile(r"cpu-(?P<capability>[a-z0-9_ ]+)-(?P<fingerprint>[0-9a-f]{6})")
_GPU = re.compile(r"(?P<name>.+) \(sm_\d+, (?:CUDA|HIP) [^,()]+, cuDNN [^,()]+\)")
ANY_CPU = "cpu"
"""The sort of all CPUs."""


def is_cpu(kind: str) -> bool:
    """Whether this is a CPU's kind."""
    return kind == ANY_CPU or kind.startswith("cpu-")


def device_name(kind: str) -> str:
    """The key of a calibration: `cpu-avx2`, or a GPU's plain name."""
    if found := _CPU.fullmatch(kind):
        return f"cpu-{found['capability']}"
    found = _GPU.fullmatch(kind)
    return found["name"] if found else kind


def sort_of(kind: str) -> str:
    """The sort of workers that may begin a pack of this kind: any CPU, or a GPU of the same name."""
    return ANY_CPU if is_cpu(kind) else device_name(kind)


def instructions_of(kind: str) -> str | None:
    """The vector instructions that torch uses on a CPU: "default", "avx2", "avx512"; None if unknown, or a GPU."""
    found = _CPU.fullmatch(kind)
    return found["capability"] if found else None
