"""Resident memory of a replay memory of Atari frames, and CPU time to add and draw them.

    python -m launch.bench.frames [--games pong,yars_revenge] [--steps 1000000] [--further 0] [--environments 1]
        [--replay-memory-compressed always] [--out FOLDER]

A memory of DQN is filled by its actor, with random actions, until it is full. Then it goes on for --further steps,
which overwrite the oldest ones. Frames are drawn in batches of 32 with those that follow them. The resident memory of
the process is measured before the memory exists, and subtracted. Each game has a new process, because Python keeps
freed memory for the next game.
"""

import os
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from launch.bench.choices import parsed, parser_of, write_result
from launch.work.process import prepare_process
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.schedule import Exploration
from plasticity_lab.agents.value.acting import Actor
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import SETS, members
from plasticity_lab.environments.environments import Environments
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.replay.packing import bytes_of_frame

BATCHES, GB = 200, 1e9


def resident() -> int:
    """Bytes of this process in the machine's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Timed(Memory):
    """A memory that counts the CPU seconds of adding."""

    adding = 0.0

    def add(self, **step: np.ndarray) -> None:
        """Adds a step of every environment."""
        began = time.process_time()
        super().add(**step)
        self.adding += time.process_time() - began


def measured(game: str, steps: int, further: int, environments: int, compressed: str) -> Mapping[str, Any]:
    """The figures of one game.  steps: the memory's capacity. further: steps after it is full."""
    body, once = atari(game), np.ones(1)
    chosen: dict[str, Any] = {"environments": environments, "capacity": steps, "min_history": environments}
    agent = ValueSettings(**chosen)
    acted = Environments(body, [0], environments, task=0)
    always = Exploration(once, once, 0, 1)  # a network that is never asked
    before = resident()
    memory = Timed(agent, [body], [0], steps, np.full(1, agent.gamma), compressed)
    actor = Actor(acted, None, memory, [0], always, agent.clip_rewards)  # type: ignore[arg-type]
    at, held = 0, {}
    for name, end in (("full", steps), ("overwritten", steps + further)):
        while at < end:
            actor.step(at)
            at += environments
        held[name] = resident() - before
    began = time.process_time()
    for update in range(BATCHES):
        memory.batch(memory.drawn(update), torch.device("cpu"))
    batch = (time.process_time() - began) / BATCHES
    packed = memory.ring.packed
    return {
        "game": game,
        "steps": steps,
        "further": further,
        "environments": environments,
        "is_packed": packed is not None,
        "resident_bytes": held,
        "bytes_of_frames": steps * bytes_of_frame(body) if packed is None else packed.full_bytes,
        "microseconds_to_add": 1e6 * memory.adding / at,
        "milliseconds_of_batch": 1e3 * batch,
    }


def main() -> None:
    """The command."""
    parser = parser_of("frames", __doc__)
    parser.add_argument("--games", default="pong,yars_revenge", help=f"games, or one of {', '.join(SETS)}")
    parser.add_argument("--steps", type=int, default=1_000_000, help="that the memory holds")
    parser.add_argument("--further", type=int, default=0, help="steps that overwrite the oldest ones")
    parser.add_argument("--environments", type=int, default=1, help="of the run")
    choices = ("always", "never")
    parser.add_argument("--replay-memory-compressed", default="always", choices=choices, help="as in a command")
    options = parsed(parser, "frames")
    games = members(options.games) if options.games in SETS else options.games.split(",")
    rows = []
    for game in games:
        how = options.further, options.environments, options.replay_memory_compressed
        with ProcessPoolExecutor(1, get_context("spawn"), prepare_process) as process:
            rows.append(row := process.submit(measured, game, options.steps, *how).result())
        full = row["resident_bytes"]["full"]
        print(f"{game}, {options.steps:,} frames: {full / GB:.3f} GB, {full / options.steps:,.0f} bytes a frame, "
              f"{row['resident_bytes']['overwritten'] / GB:.3f} GB after {options.further:,} more; "
              f"adding {row['microseconds_to_add']:.1f} µs a step, a batch {row['milliseconds_of_batch']:.2f} ms",
              flush=True)  # fmt: skip
    write_result(options.out, "frames", {"replay_frames": rows})


if __name__ == "__main__":
    leave(status_of(main))
