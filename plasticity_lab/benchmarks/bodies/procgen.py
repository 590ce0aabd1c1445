"""A Procgen game, learned for a number of steps (see `environments/procgen/games.py`)."""

import os
import subprocess
from functools import cache
from pathlib import Path

from plasticity_lab.benchmarks.bodies.base import Bodies, OneBodyBenchmark
from plasticity_lab.component import setting, with_settings
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.procgen.games import ALL, GAMES, HOW, VARIABLE, procgen
from plasticity_lab.errors import DataError

PATIENCE = 120.0
"""Timeout in seconds for importing Procgen, long enough for a busy file system."""


@with_settings
class Procgen(OneBodyBenchmark):
    """`tasks` tasks, all of them the same game in easy mode; each begins new episodes.

    game: one of the sixteen, or games16 for a run of each.
    levels: an episode shows one of the first `levels` levels; 0: one of all levels.
    environment_steps: steps of a task, all environments of a run together.
    test_episodes: test episodes of each run after each task, on the same levels; 0: no test.
    """

    tasks_are = "Procgen games"
    named_values = {"game": {ALL: list(GAMES)}}

    environment_steps: int
    game: str = "coinrun"
    levels: int = setting(200, at_least=0)
    tasks: int = 1
    test_episodes: int = 0

    def made(self) -> tuple[Body, str]:
        """The game."""
        body = procgen(self.game, self.levels)
        return body, body.version

    def resource(self, folder: Path) -> Bodies:
        """The game. Raises DataError if no Python with Procgen is configured, before sixteen games start it."""
        python = os.environ.get(VARIABLE)
        if not python:
            raise DataError(f"benchmark=procgen is stepped by a separate Python with Procgen: {HOW}.")
        if (wrong := _wrong_with(python)) is not None:
            raise DataError(f"{VARIABLE} is {python}, which cannot play Procgen ({wrong}): {HOW}.")
        return self.outline()


@cache
def _wrong_with(python: str) -> str | None:
    """Why a Python cannot import Procgen; None if it can."""
    try:
        found = subprocess.run([python, "-c", "import procgen"], capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (found.stderr.strip() or "it ended").splitlines()[-1] if found.returncode else None
