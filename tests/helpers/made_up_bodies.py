"""Bodies that are quick to step: sliders pushed about, a choice that repeats itself, an emulator with lives."""

import os
import signal
from dataclasses import replace
from functools import partial

import numpy as np

from plasticity_lab.environments.body import Body


class Sliders:
    """`numbers` places on a line, each pushed by an action of its own as far as there are actions.

    The reward is nearness to 0; it terminates where one is farther than 1.5. poisoned: copies that show what is no
    number from their 40th step on.
    """

    def __init__(self, copies, numbers, actions, poisoned=()):
        self.place, self.steps = np.zeros((copies, numbers)), np.zeros(copies)
        self.actions, self.poisoned = actions, np.isin(np.arange(copies), poisoned)

    def start(self, copies, streams):
        self.place[copies] = np.stack([stream.uniform(-1, 1, self.place.shape[1]) for stream in streams])
        return self.place[copies].astype(np.float32)

    def step(self, actions):
        self.place = self.place * 1.02
        self.place[:, : self.actions] += 0.1 * actions.astype(np.float64)
        self.steps = self.steps + 1
        shown = self.place.astype(np.float32)
        shown[self.poisoned & (self.steps >= 40)] = np.nan
        return shown, 1 - np.abs(self.place[:, 0]), np.abs(self.place).max(axis=1) > 1.5

    def state(self):
        return {"place": self.place.copy(), "steps": self.steps.copy()}

    def load(self, state):
        self.place, self.steps = state["place"].copy(), state["steps"].copy()


class Told(Sliders):
    """Sliders that do as an action says: above 5 they raise, above 3 they show what is no number."""

    def step(self, actions):
        if (actions > 5).any():
            raise ZeroDivisionError("a body that cannot move")
        shown, rewards, terminated = super().step(actions)
        shown[(actions > 3).any(axis=1)] = np.nan
        return shown, rewards, terminated


class Killed(Sliders):
    """Sliders that are killed with a process other than `spared` in their 45th step, once: then the file is there."""

    def __init__(self, copies, spared, once):
        super().__init__(copies, 6, 2)
        self.spared, self.once = spared, once

    def step(self, actions):
        if self.steps[0] == 44 and os.getpid() != self.spared and not self.once.exists():
            self.once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(actions)


class Chosen(Sliders):
    """One slider pushed by −1, 0 or 1."""

    def __init__(self, copies):
        super().__init__(copies, numbers=3, actions=1)

    def step(self, actions):
        return super().step((actions - 1)[:, None])


SLIDERS = Body(
    name="sliders",
    version="v0",
    observation=(6,),
    actions=2,
    max_steps=25,
    simulation=partial(Sliders, numbers=6, actions=2),
    source="made up",
    low=(-1.0, -1.0),
    high=(1.0, 1.0),
)
TOLD = replace(SLIDERS, name="told", simulation=partial(Told, numbers=6, actions=2))
PUSHED = replace(
    SLIDERS, name="pushed", observation=(3,), actions=1, low=(-2.0,), high=(1.0,), max_steps=15,
    simulation=partial(Sliders, numbers=3, actions=1),
)  # fmt: skip
"""Other shapes and bounds than SLIDERS."""
CHOSEN = Body("chosen", "v0", (3,), 3, 15, Chosen, "made up")


class Emulator:
    """Shows a byte: how many steps ago its episode began, from where it began on; 16 steps end one.

    Action 1 loses one of two lives, and the last one terminates. What it saves is all its actions of the episode, as
    bytes: longer with each step. A frame is 2 × 3 of the byte that it shows.
    """

    def __init__(self, copies):
        self.saved = [b""] * copies
        self.lost = np.zeros(copies, bool)

    def start(self, copies, streams):
        for copy, stream in zip(copies.tolist(), streams, strict=True):
            self.saved[copy] = bytes([int(stream.integers(1, 200))])
        return self._shown()[copies]

    def step(self, actions):
        self.saved = [saved + bytes([action]) for saved, action in zip(self.saved, actions.tolist(), strict=True)]
        self.lost = actions == 1
        lives = np.array([2 - saved[1:].count(1) for saved in self.saved])
        return self._shown(), np.array([saved[-1] - 0.5 for saved in self.saved]), lives <= 0

    def life_lost(self):
        return self.lost.copy()

    def state(self):
        return {"game": list(self.saved), "steps": np.array([len(saved) - 1 for saved in self.saved])}

    def load(self, state):
        self.saved = list(state["game"])
        assert [len(saved) - 1 for saved in self.saved] == state["steps"].tolist()

    def _shown(self):
        shown = np.array([saved[0] + len(saved) - 1 for saved in self.saved], np.uint8)
        return np.broadcast_to(shown[:, None, None, None], (len(shown), 1, 2, 3)).copy()


EMULATOR = Body(
    "emulator", "v0", (3, 2, 3), 2, 16, Emulator, "made up", dtype="uint8", stack=3, has_lives=True
)  # fmt: skip


class Pictured(Sliders):
    """Sliders that show pictures of 6 × 6 bytes: their places, one after the other."""

    def __init__(self, copies):
        super().__init__(copies, numbers=2, actions=2)

    def start(self, copies, streams):
        super().start(copies, streams)
        return self._shown()[copies]

    def step(self, actions):
        _, rewards, terminated = super().step(actions)
        return self._shown(), rewards, terminated

    def _shown(self):
        brightness = (127 + 80 * self.place).clip(0, 255).astype(np.uint8)
        return np.ascontiguousarray(np.resize(brightness.T, (36, len(brightness))).T.reshape(-1, 1, 6, 6))


PICTURED = replace(SLIDERS, name="pictured", observation=(1, 6, 6), dtype="uint8", max_steps=7, simulation=Pictured)


def poisoned(*copies):
    """Sliders of which these copies become unstable."""
    return replace(SLIDERS, simulation=lambda there: Sliders(there, 6, 2, copies))


def poisoned_choices(*copies):
    """The body `chosen`, of which these copies show what is no number from their 40th step on."""

    class Poisoned(Chosen):
        def __init__(self, there):
            super().__init__(there)
            self.poisoned = np.isin(np.arange(there), copies)

    return replace(CHOSEN, simulation=Poisoned)
