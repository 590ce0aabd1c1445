"""A sweep from end to end: one command of ours, compared with the same number of runs of the plain script.

    python -m launch.bench.whole --data DATA [--runs 32] [--tasks 20] [--scripts 3] [--modes compiled,kernels]

Permuted MNIST, ReLU. CPU time of whole commands, with all that they start: imports, compiling, evaluation, records.
Each of our commands gets one worker and a new store. Compiled code is kept from round to round, unless --cold gives
each command an empty folder for it. All runs of the script take equally long, so a few are timed, in turns with the
commands, and represent all.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from launch.bench.choices import parsed, parser_of, write_result
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import leave, status_of


def cpu_seconds(command: list[str], **more: str) -> float:
    """CPU seconds of a command and of all that it has started and waited for.  Raises CalledProcessError."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def script(options: argparse.Namespace, seed: int) -> float:
    """CPU seconds of all runs of the script, extrapolated from one run."""
    words = ["--data", str(options.data), "--tasks", str(options.tasks), "--seed", str(seed)]
    return options.runs * cpu_seconds([sys.executable, "-m", "launch.bench.plain_mnist", *words], OMP_NUM_THREADS="1")


def ours(options: argparse.Namespace, mode: str) -> float:
    """CPU seconds of our command."""
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "benchmark=permuted_mnist",
            f"benchmark.tasks={options.tasks}",
            f"seed=range(0,{options.runs})",
            f"mode={mode}",
            f"data={options.data.resolve()}",
            f"store={folder}/store",
            "device=cpu",
            "launch.workers=1",
        ]
        more = {"TORCHINDUCTOR_CACHE_DIR": f"{folder}/compiled"} if options.cold else {}
        return cpu_seconds([sys.executable, "-m", "plasticity_lab.main", *words], **more)


def main() -> None:
    """The command.  Raises ConfigError if the data are missing."""
    parser = parser_of("whole", __doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds MNIST/raw; required")
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--scripts", type=int, default=3, help="rounds: a script, and a command in each mode")
    parser.add_argument("--modes", default="compiled,kernels", help="our modes, in turns")
    parser.add_argument("--cold", action="store_true", help="nothing compiled before is used")
    options = parsed(parser, "whole")
    if not (options.data / "MNIST" / "raw").is_dir():
        raise ConfigError(f"{options.data} holds no MNIST/raw; --data names the folder that does.")
    modes = options.modes.split(",")
    seconds: dict[str, list[float]] = {name: [] for name in ("script", *modes)}
    for seed in range(options.scripts):
        seconds["script"].append(script(options, seed))
        for mode in modes:
            seconds[mode].append(ours(options, mode))
        print(", ".join(f"{name}: {of[-1]:,.0f} s" for name, of in seconds.items()), flush=True)
    for mode in modes:
        ratios = [plain / packed for plain, packed in zip(seconds["script"], seconds[mode], strict=True)]
        print(f"{mode}: {median(ratios):.2f} × the script ({min(ratios):.2f} – {max(ratios):.2f})")
    content = {"runs": options.runs, "tasks": options.tasks, "cold": options.cold, "cpu_seconds": seconds}
    write_result(options.out, "whole", content)


if __name__ == "__main__":
    leave(status_of(main))
