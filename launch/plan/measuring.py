"""Measures a device for its calibration: for each mode, packs of several widths in turn; then environments.

Legend: K runs.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import torch

from launch.plan.device import kind_of
from launch.plan.speed import Calibration, Speed, default_calibration
from launch.plan.timing import Contender, interleaved, on
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost, Yardstick
from plasticity_lab.component import load_as
from plasticity_lab.records.provenance import provenance
from plasticity_lab.run import Run

ENOUGH = 0.97
"""The share of the fastest width's rate that a pack's width must reach. Wider packs take longer to compile."""
PRICED_LIKE = {"stack": "dense", "ppo": "dense", "sac": "dense", "boards": "convolving", "pixels": "convolving"}
"""Shipped figures without a yardstick → the yardstick that corrects them: a machine that is slower in one is slower in
the other.
"""
HOST_STEPS = 1_000
"""The number of environment steps in a burst."""


def measured(
    device: str,
    yardsticks: Sequence[Yardstick],
    environments: Mapping[str, Callable[[int], object]],
    modes: Sequence[str],
    repeats: int,
    say: Callable[[str], None],
) -> tuple[Calibration, dict[str, Any]]:
    """The calibration of this device, and the facts of its measurement: rates by width, and provenance.

    environments: name → a function that takes n steps in the environment. repeats: the number of bursts to time.
    """
    rates: dict[str, dict[str, dict[int, float]]] = {}
    speeds: dict[str, Speed] = {}
    default = default_calibration(kind_of(device))
    for yardstick in yardsticks:
        name, cost = yardstick.name, yardstick.cost
        rates[name] = {}
        for mode in modes:
            if mode == "kernels" and not cost.kernels:
                continue
            say(f"{yardstick.description}, {mode} …")
            rates[name][mode] = _rates(yardstick, mode, device, repeats)
        speeds |= speeds_of(name, cost, rates[name], _memory(yardstick, cost.device_bytes, device), default)
    host_steps = {name: _step_seconds(take, repeats) for name, take in environments.items()}
    made = provenance()
    what = f"one core of {made['cpu']} ({kind_of(device)})" if device == "cpu" else kind_of(device)
    calibration = Calibration(speeds, f"measured on {what}", host_steps)
    return calibration, {"rates": rates, "provenance": made | {"torch": torch.__version__}}


def speed_of(rates: Mapping[str, Mapping[int, float]], flops: int, memory: float) -> Speed:
    """The speed from measured rates.  rates: mode → width → run-steps a second. flops: operations of a run-step."""
    fits = {mode: fitted(by_width, flops) for mode, by_width in rates.items()}
    return Speed(
        width={mode: narrowest(by_width) for mode, by_width in rates.items()},
        step_seconds={mode: fit[0] for mode, fit in fits.items()},
        flops={mode: fit[1] for mode, fit in fits.items()},
        memory=memory,
    )


def speeds_of(
    name: str, cost: Cost, rates: Mapping[str, Mapping[int, float]], memory: float, default: Calibration
) -> dict[str, Speed]:
    """The speed of a yardstick, and the speeds that it corrects, from measured rates (see `speed_of`).

    Two numbers are fitted for each mode. If the shipped figures distinguish more, their seconds are multiplied by a
    factor for each mode.
    """
    measured = speed_of(rates, cost.flops, memory)
    shipped = default.priced(cost)
    if name not in default.speeds or not shipped.run_seconds:
        return {name: measured}
    factors = {
        mode: median(
            width / rate / shipped.seconds(mode, width, 1, cost.flops, cost.parameters)
            for width, rate in by_width.items()
        )
        for mode, by_width in rates.items()
    }
    alike = [other for other in default.speeds if PRICED_LIKE.get(other, other) == name]
    speeds = {other: default.of(other).scaled(factors) for other in alike}
    return speeds | {name: replace(speeds[name], width=measured.width, memory=memory)}


def narrowest(rates: Mapping[int, float]) -> int:
    """The narrowest width with at least ENOUGH of the fastest rate.  rates: width → run-steps a second."""
    return min(width for width, rate in rates.items() if rate >= ENOUGH * max(rates.values()))


def fitted(rates: Mapping[int, float], flops: int) -> tuple[float, float]:
    """The fixed seconds of a step, s, and operations a second, r: the fit of s + flops · K / r to K / rate.

    Least squares of relative errors.  rates: width K → run-steps a second.
    """
    width = np.array(list(rates), dtype=float)
    seconds = width / np.array(list(rates.values()))
    (fixed, each), *_ = np.linalg.lstsq(np.stack([1 / seconds, width / seconds], axis=1), np.ones(len(width)))
    if fixed < 0 or each <= 0:  # one width alone, or noise: all of it counts as work
        fixed, each = 0.0, float(np.mean(seconds / width))
    return float(fixed), float(flops / each)


def _rates(yardstick: Yardstick, mode: str, device: str, repeats: int) -> dict[int, float]:
    """Width → run-steps a second: the updates of each run, summed over runs."""
    widths = yardstick.widths[torch.device(device).type]
    with on(device):
        packs = {width: yardstick.pack(width, mode, device) for width in widths}
        contenders = [Contender(mode, {}, width * pack.updates, pack.burst) for width, pack in packs.items()]
        timings = interleaved(contenders, repeats)
    seconds = [median(timing.busy if device == "cpu" else timing.wall) for timing in timings]
    return {width: width * packs[width].updates / of_burst for width, of_burst in zip(widths, seconds, strict=True)}


def _memory(yardstick: Yardstick, estimated: int, device: str) -> float:
    """The ratio of measured to estimated bytes of a run on a GPU, for training and evaluation.

    1 on a CPU: its memory never limits the width.
    """
    if device == "cpu":
        return 1.0
    width = min(yardstick.widths["cuda"])
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    yardstick.peak(width, device)
    return (torch.cuda.max_memory_allocated(device) - before) / (width * estimated)


def _step_seconds(take: Callable[[int], object], repeats: int) -> float:
    """CPU seconds of one environment step, the median over bursts.  take: takes n steps."""
    take(HOST_STEPS)
    bursts = []
    for _ in range(repeats):
        start = time.process_time()
        take(HOST_STEPS)
        bursts.append(time.process_time() - start)
    return median(bursts) / HOST_STEPS


def environments_of(runs: Iterable[Run], cost_of: Callable[[Run], Cost]) -> dict[str, str]:
    """Environment → the class of an agent that acts in it, for the environments in the costs of the runs.

    cost_of: called once for each pair of benchmark and agent; its errors pass through.
    """
    pairs = {json.dumps([run.science["benchmark"], run.science["agent"]], sort_keys=True): run for run in runs}
    return {name: run.targets["agent"] for run in pairs.values() for name in cost_of(run).host_steps}


def steps_in(environments: Mapping[str, str]) -> dict[str, Callable[[int], object]]:
    """Environment → a function that takes n steps in it, for the environments that can be stepped here.

    environments: name → the class of an agent, as returned by `environments_of`.
    """
    known = {target: load_as(target, Agent).timed_environments() for target in set(environments.values())}
    return {name: known[target][name] for name, target in environments.items() if name in known[target]}
