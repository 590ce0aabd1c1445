"""The host's part of an update of packed value agents: CPU milliseconds for drawing, priorities, batches, acting.

    python -m tests.helpers.timed_host bricks 64 200        64 runs, 200 updates of `rainbow_lite` on that body
    python -m tests.helpers.timed_host catch_84 16 100
    python -m tests.helpers.timed_host catch_84 16 100 prioritised kernels ring      batches for a GPU (`main`)

The network is left out: actions are random, and losses are drawn. Numbers of two commits are compared in turns.
"""

import sys
import time
from collections import Counter

import numpy as np
import torch

from launch.work.process import prepare_process
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.schedule import Exploration
from plasticity_lab.agents.value.acting import Actor
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.environments import Environments
from plasticity_lab.kernels import replay as kernel
from tests.helpers.crossings import send

HISTORY = 2_000
"""Steps of each run before the first update."""


def main(name: str, runs: int, updates: int, replay: str = "prioritised", by: str = "kernels", way: str = "") -> None:
    """Prints the milliseconds of each part, and of all.

    by: "kernels", or "numpy" as in a process without kernels. way: how batches are sent (see `crossings.send`). The
    device is torch's "meta", so its work takes no time, and pinned memory is ordinary memory.
    """
    if by == "kernels":
        kernel.expect()
    prepare_process()
    body, seeds, device = BODIES[name], list(range(runs)), torch.device("meta" if way else "cpu")
    agent = ValueSettings(n_step=3, replay=replay, capacity=100_000, min_history=HISTORY)
    memory = Memory(agent, [body], seeds, agent.capacity, np.full(runs, 0.99))
    half = np.full(runs, 1.0)
    actor = Actor(Environments(body, seeds, 1, 0), None, memory, seeds, Exploration(half, half, 0, 1), True)  # type: ignore[arg-type]
    spent, losses = Counter[str](), torch.rand(runs, memory.padded, generator=torch.Generator().manual_seed(0))
    for step in range(HISTORY):
        actor.step(step)
    if way:
        send(memory, way, device)
        memory.batch(memory.drawn(0), device)
    step = HISTORY
    for update in range(updates):
        marks = [time.process_time()]
        for _ in range(4):
            actor.step(step)
            step += 1
        marks.append(time.process_time())
        index = memory.drawn(update)
        marks.append(time.process_time())
        memory.batch(index, device)
        marks.append(time.process_time())
        memory.learned(index, losses.roll(update, 1))
        marks.append(time.process_time())
        for part, begin, end in zip(("steps", "drawing", "batch", "priorities"), marks, marks[1:], strict=False):
            spent[part] += 1000 * (end - begin)
    each = {part: value / updates for part, value in spent.items()}
    words = ", ".join(f"{part} {value:.2f}" for part, value in each.items())
    print(f"{name} × {runs}: {words}; all {sum(each.values()):.2f} ms an update")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
