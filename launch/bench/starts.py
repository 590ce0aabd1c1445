"""CPU seconds to the first step of each agent's default command, without compiled code and with it.

    python -m launch.bench.starts [--situations ppo,sac] [--kernels] [--out FOLDER]

Each command is given twice, with `mode=kernels`, one worker and one update of a pack. The first has an empty folder for
compiled code, the second finds the first one's. --kernels: the first also finds our kernels.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from launch.bench.choices import parsed, parser_of, write_result
from launch.bench.whole import cpu_seconds
from launch.plan.device import FOLDER, workers_folder
from plasticity_lab.kernels.build import OWN
from plasticity_lab.process.exits import leave, status_of

SITUATIONS = {
    "mlp": ["benchmark=permuted_digits", "seed=range(0,8)"],
    "cnn": ["benchmark=digits51", "network=cnn", "network.padding=same"],
    "replay": ["benchmark=split_digits", "seed=range(0,8)"],
    "ppo": ["benchmark=classic_cycle", "seed=range(0,4)"],
    "dqn": ["benchmark=catch", "seed=range(0,4)"],
    "rainbow_lite": ["benchmark=catch", "agent=rainbow_lite", "seed=range(0,4)"],
    "rainbow": ["benchmark=games", "agent=rainbow", "seed=range(0,8)"],
    "sac": ["benchmark=mujoco", "agent=sac", "seed=range(0,4)"],
}
"""Words of a command."""


def first_step(words: list[str]) -> None:
    """In a new process: compiles the graphs of the first pack of a command, takes its first updates, and ends at once.

    A worker ends so too. Python would first take a second to free torch's modules.
    """
    from launch.bench.prices import first_pack  # torch
    from launch.work.precompile import compile_graphs
    from launch.work.process import prepare_process

    prepare_process()
    runs, resource = first_pack(words)
    compile_graphs(runs, resource, kernels=True)
    leave(0)


def timed(words: list[str], folder: str) -> float:
    """CPU seconds to the first step.  folder: for compiled code."""
    script = f"from launch.bench.starts import first_step; first_step({json.dumps(words)})"
    return cpu_seconds([sys.executable, "-c", script], **{FOLDER: folder, "OMP_NUM_THREADS": "1"})


def main() -> None:
    """The command."""
    parser = parser_of("starts", __doc__)
    parser.add_argument("--situations", default=",".join(SITUATIONS), help="some of them, by their names")
    parser.add_argument("--kernels", action="store_true", help="our kernels are compiled already")
    options = parsed(parser, "starts")
    kernels = list((workers_folder() / OWN).glob("*.so"))
    rows = {}
    for name in options.situations.split(","):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(Path(folder, OWN))
            for library in kernels if options.kernels else ():
                shutil.copy2(library, Path(folder, OWN))
            words = [*SITUATIONS[name], "schedule=smoke", "mode=kernels", "device=cpu", f"store={folder}/store"]
            rows[name] = [round(timed(words, folder), 1) for _ in range(2)]
        print("{:14} without compiled code {:6.1f} s, with it {:5.1f} s".format(name, *rows[name]), flush=True)
    write_result(options.out, "starts", {"to_the_first_step": rows, "kernels": options.kernels})


if __name__ == "__main__":
    leave(status_of(main))
