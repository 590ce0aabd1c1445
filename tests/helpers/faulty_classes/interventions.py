"""Interventions of somebody's own, each with one mistake, and two in order."""

import torch

from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.stacking.run_axis import beside

NORMS = {}


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


def norms(now):
    return torch.sqrt(sum(value.square().flatten(1).sum(dim=1) for value in now.parameters.values()))


def finite(now):
    return torch.stack([value.isfinite().flatten(1).all(dim=1) for value in now.parameters.values()]).all(dim=0)


class ClippedTogether(Intervention):
    def after_step(self, now):
        total = torch.linalg.vector_norm(norms(now))
        for value in now.parameters.values():
            value.mul_(torch.clamp(200 / total, max=1))
        return now.state


class ClippedApart(Intervention):
    """In order: each run's norm."""

    limit = 2

    def after_step(self, now):
        scale = torch.clamp(self.limit / norms(now), max=1)
        for value in now.parameters.values():
            value.mul_(beside(scale, value))
        return now.state


class SkippedTogether(Intervention):
    def after_step(self, now):
        if finite(now).all():
            for value in now.parameters.values():
                value.mul_(0.99)
        return now.state


class SkippedApart(Intervention):
    """In order: runs that are not finite are left alone, and no other."""

    def after_step(self, now):
        keep = torch.where(finite(now), 0.99, 1.0)
        for value in now.parameters.values():
            value.mul_(beside(keep, value))
        return now.state


class FirstNorm(Intervention):
    def after_step(self, now):
        norm = NORMS.setdefault("first", float(norms(now)[0]))
        for value in now.parameters.values():
            value.mul_(1 - 1e-3 * norm)
        return now.state


class Idle(Intervention):
    """In order, and worth a note: it changes nothing."""

    def after_step(self, now):
        return now.state


class IfStrong(Pulling):
    def penalty(self, now):
        scale = now.settings["strength"] if self.strength else 0 * now.settings["strength"]
        return scale * self.squares(now)


class Logarithmic(Pulling):
    def penalty(self, now):
        return now.settings["strength"] * torch.log(1 + self.squares(now))


class Gated(Intervention):
    """Outside of compiled code, where torch's own sigmoid has other bits in the last vector."""

    every = 3

    def every_n_updates(self, now):
        for value in now.parameters.values():
            value.mul_(1 - 1e-3 * torch.sigmoid(value))
        return now.state


IN_ORDER = (Pulling, ClippedApart, SkippedApart, Idle)
FAULTY = {
    OneNumber: "penalty",
    FirstStrength: "pack of 2",
    Misspelt: "after_step",
    Unheard: "each_update",
    RareMix: "pack of 2",
    OldVerb: "every_n_updates",
    OldRequirement: "requires",
    OneState: "start",
    Counting: "resumed",
    Filling: "zero",
    ClippedTogether: "10⁴",
    SkippedTogether: "diverges",
    FirstNorm: "trained before",
    IfStrong: "intervention.strength=0",
    Logarithmic: "torch.log",
    Gated: "torch.sigmoid",
}
