"""Measuring a device for its calibration: packs of several widths in turn, eager and compiled.

Legend: K runs.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import torch

from launch.plan.calibration import Calibration, Speed
from launch.plan.cost import sizes
from launch.plan.device import kind_of
from launch.plan.yardstick.packed import Packed
from launch.plan.yardstick.settings import SETTINGS
from launch.plan.yardstick.timing import Contender, interleaved, on
from launch.plan.yardstick.workload import Workload
from plasticity_lab.records.provenance import provenance

ENOUGH = 0.97
"""A pack is as wide as it must be to come so near to the fastest width: wider ones take longer to compile."""
NETWORKS = {"dense": "mlp", "convolving": "cnn"}


def measured(
    device: str, modes: Sequence[str], repeats: int, say: Callable[[str], None], steps: int | None = None
) -> tuple[Calibration, dict[str, Any]]:
    """The calibration of this device, and what was measured for it: when, on what, and the rates by width.

    steps: of a burst; None for each network's own.
    """
    rates: dict[str, dict[str, dict[int, float]]] = {}
    speeds = {}
    for sort, network in NETWORKS.items():
        workload = Workload(network, steps=steps)
        size = sizes(lambda source, workload=workload: workload.image_set)(workload.runs(1)[0])
        rates[sort] = {}
        for mode in modes:
            say(f"{network}, {mode} …")
            rates[sort][mode] = _rates(workload, mode, device, repeats)
        speeds[sort] = speed_of(rates[sort], size.flops, _memory(workload, size.bytes, device))
    made = provenance()
    what = f"one core of {made['cpu']} ({kind_of(device)})" if device == "cpu" else kind_of(device)
    calibration = Calibration(**speeds, basis=f"measured on {what}")
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


def _rates(workload: Workload, mode: str, device: str, repeats: int) -> dict[int, float]:
    """Run-steps a second by width."""
    widths = SETTINGS[workload.network].widths[torch.device(device).type]
    with on(device):
        packs = [Packed(workload, width, mode, device) for width in widths]
        timings = interleaved([Contender(mode, {}, pack.run_steps, pack.burst) for pack in packs], repeats)
    return {
        width: timing.contender.run_steps / median(timing.busy if device == "cpu" else timing.wall)
        for width, timing in zip(widths, timings, strict=True)
    }


def _memory(workload: Workload, estimated: int, device: str) -> float:
    """Bytes a run takes on a GPU, training and evaluation, by those estimated; 1 on a CPU, where it never binds."""
    if device == "cpu":
        return 1.0
    width = min(SETTINGS[workload.network].widths["cuda"])
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    pack = Packed(workload, width, "eager", device)
    pack.burst()
    pack.agent.evaluate(pack.task)
    return (torch.cuda.max_memory_allocated(device) - before) / (width * estimated)
