"""The cost of compiling, and the number of updates after which it pays.

    python -m launch.bench.compiling [--network mlp|cnn] [--activation relu] [--width 8]

The graphs of a pack, the step's and the evaluation's, are compiled into an empty folder, then taken from there and
from the process. CPU time includes the C++ compiler's. On a busy machine all figures grow, their ratios less.
"""

import os
import tempfile
import time
from statistics import median

from launch.bench.choices import parser_of
from launch.work.process import prepare_process
from plasticity_lab.agents import graphs
from plasticity_lab.agents.supervised.workload import Packed, Workload
from plasticity_lab.agents.supervised.workload_settings import ACTIVATIONS, SETTINGS
from plasticity_lab.process.exits import leave, status_of

BURSTS = 5


def used() -> float:
    """CPU seconds of this process so far, and of its child processes that have ended."""
    return sum(os.times()[:4])


def begun(workload: Workload, width: int, mode: str) -> tuple[Packed, float]:
    """A pack after its first burst and an evaluation, and the CPU seconds that this took."""
    start = used()
    pack = Packed(workload, width, mode, "cpu")
    pack.burst()
    pack.learner.evaluate(pack.task)
    return pack, used() - start


def an_update(pack: Packed) -> float:
    """CPU seconds of an update of the whole pack."""
    taken = []
    for _ in range(BURSTS):
        start = time.process_time()
        pack.burst()
        taken.append((time.process_time() - start) / pack.updates)
    return median(taken)


def main() -> None:
    """The command."""
    parser = parser_of("compiling", __doc__)
    parser.add_argument("--network", choices=SETTINGS, default="mlp")
    parser.add_argument("--activation", choices=ACTIVATIONS, default="relu")
    parser.add_argument("--width", type=int, default=8, help="runs of the pack")
    options = parser.parse_args()
    prepare_process()
    workload = Workload(options.network, options.activation)
    pack, without = begun(workload, options.width, "eager")
    eager = an_update(pack)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        # Another activation's graphs come first: they bear the costs that a process has once, with any graphs.
        other = next(name for name in ACTIVATIONS if name != options.activation)
        first = begun(Workload(options.network, other), options.width, "compiled")[1] - without
        pack, cold = begun(workload, options.width, "compiled")
        compiled = an_update(pack)
        shared = begun(workload, options.width, "compiled")[1]
        graphs.forget()
        loaded = begun(workload, options.width, "compiled")[1]
    cold, loaded = cold - shared, max(0.0, loaded - shared)
    print(f"{options.network}, {options.width} runs, load {os.getloadavg()[0]:.1f}; an update of the pack takes "
          f"{eager * 1e3:.2f} ms eager, {compiled * 1e3:.2f} ms compiled ({eager / compiled:.1f} ×)")  # fmt: skip
    print(f"compiling costs {first:.1f} s of CPU for the first graphs of a process, {cold:.1f} s for further ones, "
          f"{loaded:.2f} s if they lie on the disk, none for a pack that shares them")  # fmt: skip
    saved = eager - compiled
    print(f"it has paid after {first / saved:,.0f}, {cold / saved:,.0f} and {loaded / saved:,.0f} "
          "updates of one pack")  # fmt: skip


if __name__ == "__main__":
    leave(status_of(main))
