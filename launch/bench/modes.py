"""Whole commands in each mode, in turns: whether `mode=auto` takes the one that costs least.

    python -m launch.bench.modes [--situations mlp-long,cnn] [--modes eager,compiled,kernels,auto] [--repeats 5]
                                 [--out FOLDER]

CPU time of a command with all that it starts: imports, graphs from the disk, evaluations, records. Each command has one
worker and a new store. Compiled code is kept, so the first command of each kind also compiles, and is listed
separately. Give a new TORCHINDUCTOR_CACHE_DIR to measure the compiling. ATEN_CPU_CAPABILITY=avx2 measures the other
code; it needs another TORCHINDUCTOR_CACHE_DIR, because torch's cache does not distinguish them.
"""

import sys
import tempfile
from statistics import median

from launch.bench.choices import parsed, parser_of, write_result
from launch.bench.whole import cpu_seconds
from launch.plan.device import kind_of
from plasticity_lab.process.exits import leave, status_of

SITUATIONS = {
    "mlp-short": ["benchmark=permuted_digits", "schedule=demo", "seed=range(0,8)"],
    "mlp-long": ["benchmark=permuted_digits", "benchmark.tasks=120", "seed=range(0,8)"],
    "cnn": ["benchmark=digits51", "network=cnn", "network.padding=same", "seed=0,1"],
    "replay": ["benchmark=split_digits", "agent=experience_replay", "benchmark.epochs=40", "seed=0,1"],
    "ppo": ["benchmark=classic_cycle", "seed=range(0,4)"],
    "boards": ["benchmark=catch", "agent=rainbow_lite", "schedule=demo", "seed=range(0,4)"],
    "sac": ["benchmark=mujoco", "agent=sac", "schedule=smoke", "seed=range(0,4)"],
}
"""Words of a command. Updates of a run: MLP 1,800 and 10,800, CNN 6,540, replay 1,800, PPO 2,400, Rainbow-lite 4,750,
SAC 3,596."""
MODES = "eager,compiled,kernels,auto"


def one(words: list[str], mode: str) -> float:
    """CPU seconds of a command.  Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        more = [f"mode={mode}", f"store={folder}", "device=cpu", "launch.workers=1", "tracking=store"]
        return cpu_seconds([sys.executable, "-m", "plasticity_lab.main", *words, *more])


def main() -> None:
    """The command."""
    parser = parser_of("modes", __doc__)
    parser.add_argument("--situations", default=",".join(SITUATIONS), help="some of them, by their names")
    parser.add_argument("--modes", default=MODES, help="in turns")
    parser.add_argument("--repeats", type=int, default=5, help="rounds that count")
    options = parsed(parser, "modes")
    modes = options.modes.split(",")
    counted: dict[str, dict[str, list[float]]] = {}
    first: dict[str, dict[str, float]] = {}
    for name in options.situations.split(","):
        rounds = [{mode: round(one(SITUATIONS[name], mode), 2) for mode in modes} for _ in range(options.repeats + 1)]
        first[name] = rounds.pop(0)
        counted[name] = {mode: [seconds[mode] for seconds in rounds] for mode in modes}
        middle = {mode: median(of) for mode, of in counted[name].items()}
        least = min(middle.values())
        times = ", ".join(f"{mode} {of:.1f} s ({of / least:.2f} ×)" for mode, of in middle.items())
        print(f"{name}: {times}", flush=True)
    content = {"cpu_seconds": counted, "first": first, "situations": SITUATIONS, "provenance": {"kind": kind_of("cpu")}}
    write_result(options.out, "modes", content)


if __name__ == "__main__":
    leave(status_of(main))
