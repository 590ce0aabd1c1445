"""Interventions of somebody's own, each with one mistake, and two in order."""

import torch

from plasticity_lab.interventions.intervention import Intervention


class Pulling(Intervention):
    """In order: a penalty of each run's own."""

    def __init__(self, strength: float = 0.01):
        self.strength = strength

    def penalty(self, now):
        return now.settings["strength"] * self.squares(now)

    def squares(self, now):
        return sum(value.square().flatten(1).sum(dim=1) for value in now.parameters.values())


class OneNumber(Pulling):
    def penalty(self, now):
        return 0.01 * sum(value.square().sum() for value in now.parameters.values())


class OverRuns(Pulling):
    def penalty(self, now):
        return now.settings["strength"] * self.squares(now).sum()


class FirstStrength(Pulling):
    def penalty(self, now):
        return self.strength * self.squares(now)


class Misspelt(Intervention):
    def after_stepp(self, now):
        return super().after_stepp(now)


class Unheard(Intervention):
    def each_update(self, now):
        return now.state


class RareMix(Intervention):
    every = 1000

    def every_n_updates(self, now):
        for value in now.parameters.values():
            value.mul_(1 - 1e-2 * value.std())
        return now.state


class OldVerb(Intervention):
    """As an earlier version called the verb; a class that calls it itself is no better off."""

    every = 5

    def now_and_then(self, now):
        return now.state

    def after_task(self, now):
        return self.now_and_then(now)


class OldRequirement(Pulling):
    needs = frozenset({"when a task begins"})


class OneState(Intervention):
    def start(self, now):
        return {"mean": torch.zeros(())}


class Counting(Intervention):
    def __init__(self):
        self.steps = 0

    def after_step(self, now):
        self.steps += 1
        for value in now.parameters.values():
            value.mul_(1 - 1e-3 * self.steps)
        return now.state


class Filling(Intervention):
    def after_step(self, now):
        for value in now.parameters.values():
            value.add_(1e-3)
        return now.state


class Idle(Intervention):
    """In order, and worth a note: it changes nothing."""

    def after_step(self, now):
        return now.state


IN_ORDER = (Pulling, Idle)
FAULTY = {
    OneNumber: "penalty",
    OverRuns: "pack of 2",
    FirstStrength: "pack of 2",
    Misspelt: "after_step",
    Unheard: "each_update",
    RareMix: "pack of 2",
    OldVerb: "every_n_updates",
    OldRequirement: "requires",
    OneState: "start",
    Counting: "resumed",
    Filling: "zero",
}
