"""CPU milliseconds of an update of `experiment=dqn_nature`, whose frames are compressed: a batch unpacked before its
update, or by a thread during the update before, or not compressed.

    python -m tests.helpers.timed_unpacking yars_revenge 1 kernels      one run; or `eager`, and more runs

The three ways take turns. A batch of uniform replay is known before the update before, as long as no step is added.
"""

import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np

from launch.work.process import prepare_compiling, prepare_process
from plasticity_lab.agents.acting.schedule import Exploration
from plasticity_lab.agents.value.learner import ValueLearner
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU
from tests.helpers.sweeps import runs_of

STEPS, ROUNDS, UPDATES = 1_500, 5, 8
"""Random steps in the memory, rounds after the first, and updates of each way in a round."""
WAYS = {"before": ("always", False), "beside": ("always", True), "not compressed": ("never", False)}


def learner_of(game: str, runs: int, mode: str, compressed: str) -> ValueLearner:
    """A learner with a filled memory."""
    words = (
        *(
            "experiment=dqn_nature",
            f"benchmark.game={game}",
            "benchmark.environment_steps=10000",
            f"seed=range({runs})",
        ),
        *("agent.min_history=200", "agent.capacity=100000"),
    )
    pack, how = list(runs_of(*words)), {"kernels": mode == "kernels", "compressed": compressed}
    stream, learner = assembled(pack, resources(Path())(pack[0]), CPU, mode != "eager", **how)
    learner.begin(next(iter(stream.tasks(Position(0, 0)))), True)
    always = np.ones(runs)
    learner.actor.exploration = Exploration(always, always, 0, 1)
    for step in range(STEPS):
        learner.actor.step(step)
    learner.begin_chunk()
    return learner


def updates(learner: ValueLearner, beside: bool, thread: ThreadPoolExecutor) -> float:
    """CPU milliseconds of an update."""
    memory, batch, learner.epsilons = learner.memory, learner.memory.batch, []
    if beside:
        ahead = thread.submit(batch, memory.drawn(learner.network.updates), CPU)

        def unpacked_ahead(_, device):
            nonlocal ahead
            found = ahead.result()
            ahead = thread.submit(batch, memory.drawn(learner.network.updates + 1), device)
            return found

        memory.batch = unpacked_ahead  # type: ignore[method-assign]
    began = time.process_time()
    for _ in range(UPDATES):
        learner.update(STEPS)
    spent = time.process_time() - began
    memory.batch = batch  # type: ignore[method-assign]
    return 1000 * spent / UPDATES


def main(game: str, runs: int, mode: str) -> None:
    """Prints a line for each way."""
    prepare_process()
    prepare_compiling()
    learners = {compressed: learner_of(game, runs, mode, compressed) for compressed in ("always", "never")}
    spent = defaultdict[str, list[float]](list)
    with ThreadPoolExecutor(1) as thread:
        for _ in range(ROUNDS + 1):
            for way, (compressed, beside) in WAYS.items():
                spent[way].append(updates(learners[compressed], beside, thread))
    for way, milliseconds in spent.items():
        print(f"{game} × {runs}, {mode}, {way}: {median(milliseconds[1:]):.1f} ms an update")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
