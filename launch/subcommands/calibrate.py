"""Measure this device, so that plans choose their widths and estimate their times by it.

Takes a few minutes, most of which compiles. What it finds is kept in the store, for all plans that are made there.
"""

import argparse
import sys

from launch.calibration import Calibration, write_calibration
from launch.device import compiler_there, devices, kind_of, prepare_compiling, prepare_process
from launch.measuring import NETWORKS, measured
from launch.naming import add_store
from plasticity_lab.records.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_store(parser)
    parser.add_argument("--device", default="auto", help="auto | cpu | cuda | cuda:<number>")
    parser.add_argument("--mode", choices=("eager", "compiled"), help="measure this mode alone; else both")
    parser.add_argument("--repeats", type=int, default=5, help="rounds that are measured")
    parser.add_argument("--steps", type=int, help="steps of a burst; by default some tenths of a second")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises ConfigError for a device that is not there, StoreError."""
    device, store = devices(options.device)[0], Store(options.store)
    store.prepare()
    prepare_process()
    modes = [options.mode] if options.mode else ["eager", "compiled"]
    if "compiled" in modes and not compiler_there():
        print("No C++ compiler is there: only eager packs are measured.", file=sys.stderr)
        modes = ["eager"]
    if "compiled" in modes:
        prepare_compiling()

    def say(words: str) -> None:
        print(words, file=sys.stderr, flush=True)

    calibration, facts = measured(device, modes, options.repeats, say, options.steps)
    write_calibration(store, kind_of(device), calibration, facts)
    print(_in_words(calibration, facts["rates"]))
    print(f"{calibration.basis}; kept in {store.calibration(kind_of(device))}")
    return 0


def _in_words(calibration: Calibration, rates: dict[str, dict[str, dict[int, float]]]) -> str:
    lines = []
    for sort, network in NETWORKS.items():
        speed = calibration.of(sort == "convolving")
        for mode, by_width in rates[sort].items():
            listed = ", ".join(f"{width}: {rate:,.0f}" for width, rate in by_width.items())
            fixed, flops = speed.step_seconds[mode] * 1e6, speed.flops[mode] / 1e9
            lines.append(
                f"{network}, {mode}: packs of {speed.width[mode]}; a step takes {fixed:,.0f} µs and its work at "
                f"{flops:,.0f} GFLOP/s (run-steps/s by width: {listed})"
            )
    return "\n".join(lines)
