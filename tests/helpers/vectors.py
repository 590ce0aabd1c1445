"""Compiled code with vectors of a stated width, in which rounding may differ where it is not exact."""

import contextlib
import os
from collections.abc import Iterator
from unittest import mock

import pytest
import torch
from torch._inductor import config
from torch._inductor.runtime.cache_dir_utils import cache_dir

from plasticity_lab.agents import graphs

NONE = 1
"""Vectors of one number: scalar code."""
BITS = [
    256,
    pytest.param(
        512,
        marks=pytest.mark.skipif(
            torch.backends.cpu.get_cpu_capability() != "AVX512", reason="the processor has no vectors of 512 bits"
        ),
    ),
]


@contextlib.contextmanager
def vectors(bits: int) -> Iterator[None]:
    """Code that is compiled inside has vectors of that many bits; graphs of other widths are not met.

    torch's own cache does not tell widths apart: code for 256 bits that it gave a process of 512 wrote behind its
    buffers. So each width has a folder of its own there.
    """
    folder = os.path.join(cache_dir(), f"vectors_of_{bits}")
    with config.patch({"cpp.simdlen": bits}), mock.patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=folder):
        graphs.forget()
        torch._dynamo.reset()
        yield
    graphs.forget()
    torch._dynamo.reset()
