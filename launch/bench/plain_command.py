"""The command of a plain script of an agent in one of MuJoCo's environments: trains a run, and leaves its episodes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch
from rich.progress import track

from launch.bench.choices import parser_of, write_result
from plasticity_lab.environments.bodies import BODIES


class PlainRun(Protocol):
    """One run.  step: steps taken so far. episodes: the ended ones, each as (step of its end, return, length)."""

    step: int
    episodes: list[tuple[int, float, int]]

    def burst(self) -> None:
        """Acts for some steps and learns from them."""


def command(
    name: str, docstring: str | None, begin: Callable[[str, int, int], PlainRun], *, steps: int, at_once: int
) -> None:
    """Reads the command line, trains one run, writes its episodes to a JSON file, and returns the exit status.

    name, docstring: the script's. begin: (Gymnasium's name of an environment, seed, steps) → its run. steps: the
    default of --steps. at_once: steps of a burst. Raises StoreError if the file cannot be written.
    """
    parser = parser_of(name, docstring)
    known = [body.gymnasium for body in BODIES.values() if body.gymnasium and not body.discrete]
    parser.add_argument("--body", required=True, choices=known, help="as Gymnasium calls it; required")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--out", type=Path, required=True, help="required: folder for BODY_SEED.json; runs there stay")
    options = parser.parse_args()
    name = f"{options.body}_{options.seed}"
    if (target := options.out / f"{name}.json").exists():
        print(f"{target} is there.")
        return
    torch.set_num_threads(1)
    start = time.monotonic()
    run = begin(options.body, options.seed, options.steps)
    for _ in track(range(-(-options.steps // at_once)), f"{name}, {at_once:,} steps each"):
        run.burst()
    result = {
        "body": options.body,
        "seed": options.seed,
        "steps": run.step,
        "seconds": time.monotonic() - start,
        "cpu_seconds": time.process_time(),
        "episodes": run.episodes,
    }
    write_result(options.out, name, result)
