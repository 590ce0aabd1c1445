"""Six digits that identify the bits that a CPU computes. They are a hash of computed results.

The choice of code paths in MKL and oneDNN depends on the processor and its maker, the libraries' versions and preloaded
libraries. It also depends on the variables `MKL_ENABLE_INSTRUCTIONS`, `MKL_CBWR` and `ONEDNN_MAX_CPU_ISA`. So names and
variables alone cannot identify the path. Paths differ in the order of sums or in the rounding of functions. So the bits
of a few results distinguish them. The inputs have the same bits everywhere.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from math import prod

import torch
from torch import Tensor
from torch.nn import functional

DIGITS = 6


@cache
def fingerprint() -> str:
    """A hash of results computed on the CPU with one thread, as in workers. The first call takes some 50 ms."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several threads add in another order
    try:
        with torch.inference_mode():
            bits = b"".join(result.contiguous().numpy().tobytes() for result in _results())
    finally:
        torch.set_num_threads(threads)
    return hashlib.sha256(bits).hexdigest()[:DIGITS]


def _results() -> Iterator[Tensor]:
    """Products with the shapes of networks, computed by libraries, and functions computed by torch and MKL."""
    yield _numbers(1, 16, 784) @ _numbers(2, 784, 100)
    yield _numbers(3, 16, 100).t() @ _numbers(4, 16, 64)
    yield torch.baddbmm(_numbers(5, 8, 1, 100), _numbers(6, 8, 16, 784), _numbers(7, 8, 784, 100))
    yield torch.bmm(_numbers(8, 3, 5, 37), _numbers(9, 3, 37, 11))
    yield _numbers(10, 100, 333) @ _numbers(11, 333)
    yield _numbers(12, 1, 333) @ _numbers(13, 333, 10)
    yield functional.conv2d(_numbers(14, 2, 6, 14, 14), _numbers(15, 12, 3, 5, 5), padding=2, groups=2)
    yield functional.conv2d(_numbers(16, 4, 3, 16, 16), _numbers(17, 16, 3, 3, 3), padding=1)
    x = _numbers(18, 1031)
    yield from (function(x) for function in (torch.exp, torch.tanh, torch.erf, torch.sigmoid, torch.sin))
    yield from (function(x.abs() + 0.125) for function in (torch.log, torch.log1p, torch.sqrt, torch.rsqrt))
    yield functional.gelu(x)
    yield x.sum()
    yield _numbers(19, 33, 65).sum(0)
    yield _numbers(20, 16, 10).log_softmax(1)
    yield _numbers(21, 16, 100).var(0)


def _numbers(which: int, *shape: int) -> Tensor:
    """Numbers between -1.5 and 1.5, equal on every processor: integers, divided once with exact rounding."""
    at = torch.arange(prod(shape), dtype=torch.int64)
    return (((at * 7919 + which * 104729) % 10007 * 3 - 15010).to(torch.float32) / 10007).reshape(shape)
