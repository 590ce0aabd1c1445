"""Measuring a device for its calibration: packs of several widths in turn, mode by mode; then environments.

Legend: K runs.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import torch

from launch.plan.device import kind_of
from launch.plan.speed import Calibration, Speed
from launch.plan.timing import Contender, interleaved, on
from plasticity_lab.agents.yardstick import Yardstick
from plasticity_lab.records.provenance import provenance

ENOUGH = 0.97
"""A pack is as wide as it must be to come so near to the fastest width: wider ones take longer to compile."""
HOST_STEPS = 1_000
"""Steps of an environment in a burst."""


def measured(
    device: str,
    yardsticks: Sequence[Yardstick],
    environments: Mapping[str, Callable[[int], object]],
    modes: Sequence[str],
    repeats: int,
    say: Callable[[str], None],
) -> tuple[Calibration, dict[str, Any]]:
    """The calibration of this device, and what was measured for it: when, on what, and the rates by width.

    environments: by name, what takes that many steps of it.
    """
    rates: dict[str, dict[str, dict[int, float]]] = {}
    speeds = {}
    for yardstick in yardsticks:
        name, cost = yardstick.name, yardstick.cost
        rates[name] = {}
        for mode in modes:
            if mode == "kernels" and not cost.kernels:
                continue
            say(f"{yardstick.description}, {mode} …")
            rates[name][mode] = _rates(yardstick, mode, device, repeats)
        speeds[name] = speed_of(rates[name], cost.flops, _memory(yardstick, cost.device_bytes, device))
    host_steps = {name: _step_seconds(take, repeats) for name, take in environments.items()}
    made = provenance()
    what = f"one core of {made['cpu']} ({kind_of(device)})" if device == "cpu" else kind_of(device)
    calibration = Calibration(speeds, f"measured on {what}", host_steps)
    return calibration, {"rates": rates, "provenance": made | {"torch": torch.__version__}}


def speed_of(rates: Mapping[str, Mapping[int, float]], flops: int, memory: float) -> Speed:
    """From run-steps a second by mode and width.  flops: operations of a run-step."""
    fits = {mode: fitted(own, flops) for mode, own in rates.items()}
    return Speed(
        width={mode: narrowest(own) for mode, own in rates.items()},
        step_seconds={mode: fit[0] for mode, fit in fits.items()},
        flops={mode: fit[1] for mode, fit in fits.items()},
        memory=memory,
    )


def narrowest(rates: Mapping[int, float]) -> int:
    """The narrowest width that comes near enough to the fastest."""
    return min(width for width, rate in rates.items() if rate >= ENOUGH * max(rates.values()))


def fitted(rates: Mapping[int, float], flops: int) -> tuple[float, float]:
    """Seconds of a step of whatever width, and operations a second: s + flops · K / r, as near as may be to K / rate.

    Least squares of relative errors.
    """
    width = np.array(list(rates), dtype=float)
    seconds = width / np.array(list(rates.values()))
    (fixed, each), *_ = np.linalg.lstsq(np.stack([1 / seconds, width / seconds], axis=1), np.ones(len(width)))
    if fixed < 0 or each <= 0:  # one width alone, or noise: then all of it is taken as work
        fixed, each = 0.0, float(np.mean(seconds / width))
    return float(fixed), float(flops / each)


def _rates(yardstick: Yardstick, mode: str, device: str, repeats: int) -> dict[int, float]:
    """Run-steps a second by width: updates of each run, summed over runs."""
    widths = yardstick.widths[torch.device(device).type]
    with on(device):
        packs = {width: yardstick.pack(width, mode, device) for width in widths}
        timings = interleaved(
            [Contender(mode, {}, width * pack.updates, pack.burst) for width, pack in packs.items()], repeats
        )
    return {
        width: timing.contender.run_steps / median(timing.busy if device == "cpu" else timing.wall)
        for width, timing in zip(widths, timings, strict=True)
    }


def _memory(yardstick: Yardstick, estimated: int, device: str) -> float:
    """Bytes a run takes on a GPU, training and evaluation, by those estimated; 1 on a CPU, where it never binds."""
    if device == "cpu":
        return 1.0
    width = min(yardstick.widths["cuda"])
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    yardstick.peak(width, device)
    return (torch.cuda.max_memory_allocated(device) - before) / (width * estimated)


def _step_seconds(take: Callable[[int], object], repeats: int) -> float:
    """Seconds of a step of an environment: CPU time, the median of some bursts."""
    take(HOST_STEPS)
    bursts = []
    for _ in range(repeats):
        start = time.process_time()
        take(HOST_STEPS)
        bursts.append(time.process_time() - start)
    return median(bursts) / HOST_STEPS
