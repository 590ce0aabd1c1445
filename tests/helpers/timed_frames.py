"""The memory that frames of an Atari game take in a ring, and the time of packing, drawing and unpacking them.

    python -m tests.helpers.timed_frames pong 200000 always        real frames, random actions; "never": uncompressed
    python -m tests.helpers.timed_frames games60 8000 always       the same for each game of that set

The resident memory of the process is measured, and frames are drawn in batches of 32 with those that follow them. Of
compressed frames their bytes are printed, too.
"""

import sys
import time

import numpy as np

from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import SETS, members
from plasticity_lab.environments.environments import Environments
from plasticity_lab.replay.n_step import NStep
from plasticity_lab.replay.ring import Ring
from plasticity_lab.replay.uniform import batch_of, drawn
from tests.helpers.timed_memory import MB, resident

BATCHES, BATCH, ENVIRONMENTS = 200, 32, 8


def main(game: str, steps: int, setting: str) -> None:
    """steps: in the ring, of eight environments together."""
    body, draw = atari(game), np.random.default_rng(0)
    environments = Environments(body, [0], ENVIRONMENTS, 0)
    ring, adding = Ring(body, 1, ENVIRONMENTS, steps, setting == "always"), 0.0
    before = resident()
    for _ in range(ring.rows):
        frame, first = body.newest(environments.observations), environments.first
        actions = draw.integers(0, body.actions, (1, ENVIRONMENTS))
        outcome = environments.step(actions)
        began = time.process_time()
        flags = outcome.terminated, outcome.truncated, outcome.life_lost, first
        ring.add(frame, actions, outcome.rewards, *flags)
        adding += time.process_time() - began
    packed = "" if ring.packed is None else f" ({ring.packed.full_bytes / steps:,.0f} bytes a frame)"
    held, n_step, began = resident() - before, NStep(1), time.process_time()
    for update in range(BATCHES):
        batch_of(ring, n_step, drawn(ring, n_step, [0], BATCH, update), np.array([0.99]))
    a_batch = 1e3 * (time.process_time() - began) / BATCHES
    of_added = 1e6 * adding / (ring.rows * ENVIRONMENTS)
    print(
        f"{game}, {steps:,}, {setting}: {held / MB:,.0f} MB, a million would take {held / steps:,.0f} MB{packed}; "
        f"adding {of_added:.1f} µs a step, a batch {a_batch:.2f} ms",
        flush=True,
    )


if __name__ == "__main__":
    for game in members(sys.argv[1]) if sys.argv[1] in SETS else [sys.argv[1]]:
        main(game, int(sys.argv[2]), sys.argv[3])
