"""Whole commands in each mode, in turns: whether `mode=auto` takes the one that costs least.

    python -m launch.bench.modes [--situations mlp-short,mlp-long,cnn,ppo] [--modes eager,compiled,kernels,auto]
                                 [--repeats 5] [--out FOLDER]

CPU time of a command with all that it starts: imports, graphs from the disk, evaluations, records. One worker, and a
store of its own for each command. What is compiled is kept: each command is given once before it counts.
ATEN_CPU_CAPABILITY=avx2 measures the other code, which needs a TORCHINDUCTOR_CACHE_DIR of its own: torch's own cache
does not distinguish them.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from launch.bench.choices import parser_of, write_result
from launch.bench.whole import cpu_seconds
from launch.plan.device import kind_of
from plasticity_lab.process.exits import status_of

SITUATIONS = {
    "mlp-short": ["benchmark=permuted_digits", "schedule=demo", "seed=range(0,8)"],
    "mlp-long": ["benchmark=permuted_digits", "benchmark.tasks=120", "seed=range(0,8)"],
    "cnn": ["benchmark=digits51", "network=cnn", "network.padding=same", "seed=0,1"],
    "ppo": ["benchmark=classic_cycle", "seed=range(0,4)"],
}
"""Words of a command: runs of an MLP with 1,800 and 10,800 updates, of a CNN with 6,540, and of PPO with 2,400."""
MODES = "eager,compiled,kernels,auto"


def one(words: list[str], mode: str) -> float:
    """CPU seconds of a command.  Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        more = [f"mode={mode}", f"store={folder}", "device=cpu", "launch.workers=1", "tracking=store"]
        return cpu_seconds([sys.executable, "-m", "plasticity_lab.main", *words, *more])


def main() -> int:
    """The command.  Returns its exit status."""
    parser = parser_of("modes", __doc__)
    parser.add_argument("--situations", default=",".join(SITUATIONS), help="some of them, by their names")
    parser.add_argument("--modes", default=MODES, help="in turns")
    parser.add_argument("--repeats", type=int, default=5, help="rounds that count")
    parser.add_argument("--out", type=Path, default=Path("bench_results"), help="folder for modes.json")
    return status_of(lambda: _timed(parser.parse_args()))


def _timed(options: argparse.Namespace) -> int:
    modes = options.modes.split(",")
    found: dict[str, dict[str, list[float]]] = {}
    for name in options.situations.split(","):
        seconds = found[name] = {mode: [] for mode in modes}
        for at in range(options.repeats + 1):
            for mode in modes:
                taken = one(SITUATIONS[name], mode)
                if at:  # the first of each compiles
                    seconds[mode].append(round(taken, 2))
        middle = {mode: median(of) for mode, of in seconds.items()}
        least = min(middle.values())
        times = ", ".join(f"{mode} {of:.1f} s ({of / least:.2f} ×)" for mode, of in middle.items())
        print(f"{name}: {times}", flush=True)
    content = {"cpu_seconds": found, "situations": SITUATIONS, "provenance": {"kind": kind_of("cpu")}}
    write_result(options.out, "modes", content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
