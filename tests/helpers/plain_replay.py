"""A prioritised memory of one run in plain Python, written from the definition, with fractions, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt

import numpy as np

from plasticity_lab.randomness.host import host_stream

ROUNDED = Fraction(1, 10**9)
"""The share of a run's sum by which a point may lie beside a border: sums are of float64."""


@dataclass(frozen=True)
class Kept:
    """A step of an environment."""

    frame: int
    reward: float
    terminated: bool
    truncated: bool
    life_lost: bool
    first: bool


@dataclass
class PlainMemory:
    """rows: steps of each environment that are held. life_loss: whether a lost life ends a return."""

    rows: int
    environments: int
    n: int
    stack: int
    life_loss: bool
    steps: list[list[Kept]] = field(default_factory=list)  # step → environment
    priority: dict[tuple[int, int], float] = field(default_factory=dict)  # of each step that was usable once
    largest: float = 1.0

    def add(self, step: list[Kept]) -> None:
        self.steps.append(step)
        for t in range(max(0, len(self.steps) - 1 - self.n), len(self.steps)):
            for environment in range(self.environments):
                if self.usable(t, environment):
                    self.priority.setdefault((t, environment), self.largest)

    def held(self, t: int) -> bool:
        return max(0, len(self.steps) - self.rows) <= t < len(self.steps)

    def ends(self, t: int, environment: int) -> bool:
        step = self.steps[t][environment]
        return step.terminated or (self.life_loss and step.life_lost)

    def frames(self, t: int, environment: int) -> list[int | None]:
        """The frames of an observation, oldest first; 0 before an episode, None for frames that are not held."""
        found: list[int | None] = []
        begun = False
        for back in range(self.stack):
            found.append(0 if begun else self.steps[t - back][environment].frame if self.held(t - back) else None)
            begun = begun or (self.held(t - back) and self.steps[t - back][environment].first)
        return found[::-1]

    def usable(self, t: int, environment: int) -> bool:
        """Whether all that a return from this step needs is held."""
        if not self.held(t) or None in self.frames(t, environment):
            return False
        for i in range(self.n):
            if not self.held(t + i):
                return False
            if self.ends(t + i, environment):
                return True
            broken = self.steps[t + i][environment].truncated
            if broken or not self.held(t + i + 1) or self.steps[t + i + 1][environment].first:
                return False
        return True

    def learn(self, index: Sequence[tuple[int, int]], losses: Sequence[float]) -> None:
        """Schaul et al. 2016, with √loss as the priority; the last loss of a step that occurs twice counts."""
        for at, loss in zip(index, losses, strict=True):
            self.priority[at] = float(np.float32(sqrt(loss + 1e-10)))
        self.largest = max(self.largest, *(float(np.float32(sqrt(loss + 1e-10))) for loss in losses))

    def may_be_drawn(self, seed: int, size: int, update: int) -> list[list[tuple[int, int]]]:
        """For each draw its step, or both if its point lies on a border.  Schaul et al. 2016, section 3.3."""
        begin = max(0, len(self.steps) - self.rows)
        there = [(t, n) for t in range(begin, len(self.steps)) for n in range(self.environments) if self.usable(t, n)]
        there.sort(key=lambda at: (at[0] % self.rows, at[1]))
        shares = [Fraction(self.priority[at]) for at in there]
        total, found = sum(shares), []
        for part, uniform in enumerate(host_stream(seed, "prioritised replay", update).random(size)):
            point, below, near = (part + Fraction(uniform)) / size * total, Fraction(0), []
            for at, share in zip(there, shares, strict=True):
                if below - ROUNDED * total <= point < below + share + ROUNDED * total:
                    near.append(at)
                below += share
            found.append(near)
        return found

    def learned_from(self, t: int, environment: int, gamma: float) -> tuple[float, float, int]:
        """The n-step return, the factor of the later value, and its step."""
        total, factor = 0.0, 1.0
        for i in range(self.n):
            total += factor * self.steps[t + i][environment].reward
            factor *= gamma
            if self.ends(t + i, environment):
                return total, 0.0, t
        return total, factor, t + self.n
