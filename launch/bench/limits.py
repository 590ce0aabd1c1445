"""The limits of the machine, operations and memory bandwidth, and the time of a run-step at these rates."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from launch.bench.usual import Usual
from plasticity_lab.agents.supervised.workload import Workload

ADAM_BYTES = 28
"""Bytes that Adam moves for a parameter: it reads value, gradient and two moments, and writes all but the gradient."""
STATE_BYTES = 16
"""Bytes that the state of a parameter takes: value, gradient and two moments."""
SIZES = {"cpu": (256, 512, 1024), "cuda": (4096, 8192)}
TRIES = 5


@dataclass(frozen=True)
class Work:
    """A run-step in numbers: operations of matrix products and convolutions, forward and backward; parameters."""

    flops: int
    parameters: int


@dataclass(frozen=True)
class Limits:
    """Rates of the machine, per second.

    flops: operations of the fastest kernel. products: operations in matrix products. bandwidth: width of the pack →
    bytes.
    """

    flops: float
    products: float
    bandwidth: dict[int, float]

    def seconds(self, work: Work, width: int) -> float:
        """A run-step at these rates: its products, and then its update by Adam, which cannot overlap on one core."""
        return work.flops / self.flops + ADAM_BYTES * work.parameters / self.bandwidth[width]


def work_of(workload: Workload) -> Work:
    """Counted on the usual script's step; a packed step has the same products."""
    script = Usual(workload, "cpu")
    with FlopCounterMode(display=False) as counter:
        script.loss(script.batches[0])[0].backward()
    return Work(counter.get_total_flops(), sum(value.numel() for value in script.model.parameters()))


def limits_of(workload: Workload, widths: list[int], device: str) -> Limits:
    """Measured here and now: the best of several tries each."""
    parameters = work_of(workload).parameters
    products = max(rate_of_products(size, device) for size in SIZES[torch.device(device).type])
    return Limits(
        # On some CPUs torch's matrix products reach half the rate of its convolutions.
        flops=max(products, rate_of_convolutions()) if device == "cpu" else products,
        products=products,
        bandwidth={width: bandwidth_of(width * parameters * STATE_BYTES, device) for width in widths},
    )


def rate_of_products(size: int, device: str) -> float:
    """Operations a second of a square matrix product in float32."""
    left, right = (torch.rand(size, size, device=device) for _ in range(2))
    out = torch.empty_like(left)
    return 2 * size**3 / fastest(lambda: torch.mm(left, right, out=out), device)


def rate_of_convolutions() -> float:
    """Operations a second of a convolution with many channels."""
    shapes = (8, 128, 28, 28), (128, 128, 3, 3)
    images, kernels = (torch.rand(*shape).to(memory_format=torch.channels_last) for shape in shapes)
    operations = 2 * images.numel() * kernels[0].numel()
    return operations / fastest(lambda: torch.conv2d(images, kernels, padding=1), "cpu")


def bandwidth_of(working_set: int, device: str) -> float:
    """Bytes a second of scaling an array of `working_set` bytes in place, in a cache or not.

    Reading and writing the same places, as Adam does, moves more than copying from one place to another.
    """
    values = torch.rand(working_set // 4, device=device)
    return 8 * len(values) / fastest(lambda: values.mul_(1.0), device)


def fastest(work: Callable[[], object], device: str) -> float:
    """Seconds of one call: the best of several tries of some milliseconds each."""
    clock = time.process_time if device == "cpu" else time.perf_counter

    def seconds(calls: int) -> float:
        start = clock()
        for _ in range(calls):
            work()
        if device != "cpu":
            torch.cuda.synchronize(device)
        return (clock() - start) / calls

    seconds(1)
    calls = max(1, round(0.01 / seconds(3)))
    return min(seconds(calls) for _ in range(TRIES))
