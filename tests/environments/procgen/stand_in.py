"""A stand-in for Procgen, as a folder `procgen` that a Python is told to look in: a counter that ends at ten.

It draws a frame from the level and the steps in it, rewards each action with its number, and begins another level by
itself when an episode ends, as Procgen does.
"""

from pathlib import Path

MODULE = """
import struct

import numpy as np


class ProcgenGym3Env:
    def __init__(self, num, env_name, num_levels, start_level, distribution_mode, num_threads, rand_seed):
        assert (num, num_levels, distribution_mode) == (1, 1, "easy")
        self.level, self.steps, self.reward, self.first = start_level, 0, 0.0, True

    def act(self, action):
        self.steps, self.reward, self.first = self.steps + 1, float(action[0]), False
        if self.steps == 10:
            self.level, self.steps, self.first = self.level + 1000, 0, True

    def observe(self):
        frame = np.full((1, 64, 64, 3), self.level % 100, np.uint8)
        frame[..., 1] = self.steps
        frame[0, 0, :, 2] = np.arange(64)
        return np.array([self.reward], np.float32), {"rgb": frame}, np.array([self.first])

    def callmethod(self, name, states=None):
        if name == "get_state":
            return [struct.pack("<iif", self.level, self.steps, self.reward) + b"x" * self.steps]
        self.level, self.steps, self.reward = struct.unpack("<iif", states[0][:12])
        self.first = self.steps == 0
"""


def installed(folder: Path) -> Path:
    """Puts it into a folder → the Python that finds it there: a script that starts this one."""
    import sys

    (folder / "procgen").mkdir()
    (folder / "procgen" / "__init__.py").write_text(MODULE)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python
