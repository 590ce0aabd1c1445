"""Procgen's sixteen games as bodies, before anything is built.

The values that normalise their returns are in the analysis, analysis/reported/score_ends.csv.
"""

import contextlib
import os
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.environments.body import Body, Saved
from plasticity_lab.errors import ConfigError, HelperLost

# Copies of a Procgen game, stepped by a process with a separate Python: Procgen does not support our version of NumPy.
#
# Legend: M copies, E copies that start an episode.

VARIABLE = "PLASTICITY_PROCGEN"
"""The environment variable with the path of the Python that has Procgen."""
HOW = (
    "python3.11 -m venv FOLDER && FOLDER/bin/pip install procgen-mirror==0.10.7 makes one, and "
    f"{VARIABLE}=FOLDER/bin/python before the command names it"
)
SERVER = Path(__file__).with_name("server.py")
SCREEN = 64
"""Pixels of a frame's side."""
FRAME = SCREEN * SCREEN * 3
LEVELS = 2**31 - 1
"""The number of Procgen's levels."""


class Procgen:
    """M copies of a game.  levels: an episode draws one of the first `levels` levels; 0: any level.

    Raises ConfigError if no Python with Procgen is named, or if it does not answer; any method raises HelperLost if it
    has ended.
    """

    def __init__(self, game: str, levels: int, copies: int) -> None:
        self.levels, self.copies = levels or LEVELS, copies
        python = os.environ.get(VARIABLE)
        if not python:
            raise ConfigError(f"The game {game} needs a separate Python that has Procgen: {HOW}.")
        words = [python, str(SERVER), game, str(copies)]
        try:
            self.process: Any = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise ConfigError(f"{VARIABLE} is {python}, which cannot be started ({error}): {HOW}.") from error
        weakref.finalize(self, _ended, self.process)
        try:
            self.state()
        except HelperLost as error:
            raise ConfigError(
                f"{VARIABLE} is {python}, which cannot play Procgen (its message is above): {HOW}."
            ) from error

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.uint8]:
        """Starts an episode in these copies (E,), each in a level drawn from its stream; their frames, (E, 3, 64,
        64).
        """
        levels = [stream.integers(self.levels) for stream in streams]
        self._ask(b"S", np.array([len(copies)], "<i4"), copies.astype("<i4"), np.array(levels, "<i4"))
        return self._frames(len(copies))

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_]]:
        """A step of every copy, actions (M,): frames (M, 3, 64, 64), rewards of the game, and whether it ended.

        The frame of a copy that ended belongs to another game; it must not be used.
        """
        self._ask(b"A", np.asarray(actions).astype("<i4"))
        frames = self._frames(self.copies)
        rewards = np.frombuffer(self._read(4 * self.copies), "<f4").astype(np.float64)
        return frames, rewards, np.frombuffer(self._read(self.copies), np.uint8) > 0

    def state(self) -> dict[str, Saved]:
        """Procgen's state of each copy, "games"."""
        self._ask(b"G")
        lengths = np.frombuffer(self._read(4 * self.copies), "<i4")
        return {"games": [self._read(int(length)) for length in lengths]}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores a result of `state`."""
        self._ask(b"L", np.array([len(each) for each in state["games"]], "<i4"), b"".join(state["games"]))
        self._read(1)

    def _frames(self, count: int) -> NDArray[np.uint8]:
        """Channels first: (count, 3, 64, 64)."""
        shown = np.frombuffer(self._read(count * FRAME), np.uint8).reshape(count, SCREEN, SCREEN, 3)
        return np.ascontiguousarray(shown.transpose(0, 3, 1, 2))

    def _ask(self, letter: bytes, *parts: Any) -> None:
        try:
            self.process.stdin.write(letter + b"".join(bytes(part) for part in parts))
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            raise HelperLost("The process that steps Procgen's games has ended.") from error

    def _read(self, count: int) -> bytes:
        found = self.process.stdout.read(count)
        if len(found) < count:
            raise HelperLost("The process that steps Procgen's games has ended.")
        return found


def _ended(process: Any) -> None:
    """Ends the process by closing its pipes."""
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # it had ended before
            pipe.close()
    process.wait()


GAMES = (
    "bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball", "fruitbot",
    "heist", "jumper", "leaper", "maze", "miner", "ninja", "plunder", "starpilot",
)  # fmt: skip
ALL = "games16"
ACTIONS, MAX_STEPS = 15, 1_000


def procgen(name: str, levels: int) -> Body:
    """A game in easy mode.  levels: an episode draws one of the first `levels` levels; 0: any level.  Raises
    ConfigError.
    """
    if name not in GAMES:
        raise ConfigError(f"There is no Procgen game '{name}'; there are {', '.join(GAMES)}, and {ALL}, all.")
    return Body(
        name=name,
        version=f"procgen 0.10, easy, {f'{levels} levels' if levels else 'all levels'}",
        observation=(3, SCREEN, SCREEN),
        actions=ACTIONS,
        max_steps=MAX_STEPS,
        simulation=partial(Procgen, name, levels),
        source="Cobbe et al. 2020, as the package procgen 0.10.7 has it",
        dtype="uint8",
    )
