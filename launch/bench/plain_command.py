"""The command of a plain script of an agent on one of MuJoCo's bodies: trains a run, and leaves its episodes."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch
from rich.progress import track

from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.process.exits import status_of
from plasticity_lab.records.files import write_json
from plasticity_lab.records.provenance import provenance


class PlainRun(Protocol):
    """One run. step: taken so far. episodes: (step at which it ended, return, length) of all that have ended."""

    step: int
    episodes: list[tuple[int, float, int]]

    def burst(self) -> None:
        """Acts for some steps and learns from them."""


def command(
    name: str, words: str | None, begun: Callable[[str, int, int], PlainRun], *, steps: int, at_once: int
) -> int:
    """Reads the command line, trains, and returns the exit status.

    name, words: of the script. begun: (Gymnasium's name of a body, seed, steps) → its run. steps: by default; at_once:
    of a burst.
    """
    parser = argparse.ArgumentParser(prog=f"python -m launch.bench.{name}", description=(words or "").split("\n\n")[0])
    known = [body.gymnasium for body in BODIES.values() if body.gymnasium and not body.discrete]
    parser.add_argument("--body", required=True, choices=known, help="as Gymnasium calls it; required")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--out", type=Path, required=True, help="required: folder for BODY_SEED.json; runs there stay")
    return status_of(lambda: _trained(parser.parse_args(), begun, at_once))


def _trained(options: argparse.Namespace, begun: Callable[[str, int, int], PlainRun], at_once: int) -> int:
    """Trains one run, and writes its episodes to a JSON file.  Raises StoreError where that cannot be written."""
    target: Path = options.out / f"{options.body}_{options.seed}.json"
    if target.exists():
        print(f"{target} is there.")
        return 0
    torch.set_num_threads(1)
    made, start = provenance(), time.monotonic()
    run = begun(options.body, options.seed, options.steps)
    for _ in track(range(-(-options.steps // at_once)), f"{target.stem}, {at_once:,} steps each"):
        run.burst()
    found = {
        "provenance": made,
        "body": options.body,
        "seed": options.seed,
        "steps": run.step,
        "seconds": time.monotonic() - start,
        "cpu_seconds": time.process_time(),
        "episodes": run.episodes,
    }
    write_json(target, found)
    return 0
