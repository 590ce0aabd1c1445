"""How many processes on one GPU train packs of small_impala fastest, with NVIDIA's multi-process service and without.

    python -m launch.campaign.processes --device cuda --counts 1,2,4,8 --out results

Each process measures packs by `launch.bench --parts values`; their rates add up. Results are written after each number
of processes, in the form of analysis/measured/speed.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from launch.bench.choices import write_result
from launch.campaign.machine import MPS_LOG, multi_process_service
from launch.campaign.running import ends_with_parent
from launch.plan.device import MPS, mps_runs
from plasticity_lab.process.exits import leave, status_of

NETWORK = "small_impala"


def _measured(options: argparse.Namespace) -> None:
    rows = list[dict[str, Any]]()
    for service in (True, False):
        for count in map(int, options.counts.split(",")):
            row = _one(options, count, service)
            if row is not None:
                rows.append(row)
                comparison = {"part": "processes on a GPU", "name": f"packs of {NETWORK} by processes", "rows": rows}
                made = {"torch": torch.__version__}
                write_result(options.out, "bench", {"provenance": made, "comparisons": [comparison]})
    if not rows:
        raise SystemExit(1)


def _one(options: argparse.Namespace, count: int, service: bool) -> dict[str, Any] | None:
    """The summed rate of `count` processes at once; None if one failed, or if the service is missing."""
    out = options.out / f"{'with' if service else 'without'}_{count}"
    if not service:
        return _together(options, count, out, service, _without_service())
    with multi_process_service(options.device) as of:
        there = of or os.environ.get(MPS) or mps_runs()
        return _together(options, count, out, service, {**os.environ, **of}) if there else None


def _without_service() -> dict[str, str]:
    """A process that finds no pipe of the service uses the GPU by itself."""
    return {name: value for name, value in os.environ.items() if name not in (MPS, MPS_LOG)}


def _together(
    options: argparse.Namespace, count: int, out: Path, service: bool, env: Mapping[str, str]
) -> dict[str, Any] | None:
    quick = ["--quick"] if options.quick else ["--repeats", "1"]
    words = [sys.executable, "-m", "launch.bench", "--device", options.device, "--parts", "values", *quick]
    running = [
        subprocess.Popen(
            [*words, "--value-networks", NETWORK, "--out", str(out / str(at))],
            env=dict(env),
            preexec_fn=ends_with_parent(),
        )
        for at in range(count)
    ]
    try:
        failed = any([process.wait() for process in running])
    finally:
        for process in running:
            process.kill()
    if failed:
        return None
    rates = [_rate(out / str(at) / "bench.json") for at in range(count)]
    name = f"{count} processes, {'with' if service else 'without'} the multi-process service"
    return {"name": name, "facts": {"processes": count, "service": service}, "rate": sum(rates), "rates": rates}


def _rate(path: Path) -> float:
    """The best rate of a packed way in a result of the bench."""
    rows = [row for of in json.loads(path.read_text())["comparisons"] for row in of["rows"]]
    return max(row["rate"] for row in rows if row["name"].startswith("packed"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m launch.campaign.processes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--counts", default="1,2,4,8", help="numbers of processes")
    parser.add_argument("--quick", action="store_true", help="eager and short; numbers mean little")
    parser.add_argument("--out", type=Path, default=Path("bench_results"))
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the service that this process began ends with it
    leave(status_of(lambda: _measured(_parser().parse_args())))
