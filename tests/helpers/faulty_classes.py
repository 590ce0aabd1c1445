"""Classes as somebody writes them outside the package, each with one mistake; and some without, which must pass.

Their choices are planted on a search path as a user's own would be.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from plasticity_lab.activations.activation import Activation, along_run_axis
from plasticity_lab.agents.supervised.agent import Supervised
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from plasticity_lab.diagnostics.diagnostic import Diagnostic, of_epochs
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.networks.heads.dense import Flatten
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.perturbations.perturbation import EPOCHS, Perturbation
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Rows
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import beside

CALLS = [0]
BENCHMARK = "source: digits\nimages: 1437\ntasks: 5\nepochs: 1\nsteps: null\nbatch_size: 16\n"


class Plain(Activation):
    """In order: its slope is the run's own, and a helper is called by the class itself."""

    def __init__(self, slope: float = 0.1):
        self.slope = slope

    def __call__(self, x, site):
        return torch.where(x > 0, x, self.learned(site, x) * x)

    def learned(self, site, x):
        return along_run_axis(site.shape["slope"], x)


class Standardised(Activation):
    def __call__(self, x, site):
        return x / x.std()


class FirstSlope(Plain):
    def __call__(self, x, site):
        return torch.where(x > 0, x, self.slope * x)


class OfAllCalls(Activation):
    def __call__(self, x, site):
        CALLS[0] += 1
        return torch.relu(x) * (1 + 1e-3 * CALLS[0])


class OfTheClass(Activation):
    calls = 0

    def __call__(self, x, site):
        type(self).calls += 1
        return torch.relu(x) * (1 + 1e-3 * type(self).calls)


class Running(Activation):
    def __init__(self):
        self.means = 0

    def __call__(self, x, site):
        self.means = 0.9 * self.means + 0.1 * np.array([float(each.detach().mean()) for each in x])
        return torch.relu(x - along_run_axis(torch.tensor(self.means, dtype=x.dtype), x))


class Drawn(Activation):
    def __call__(self, x, site):
        return torch.relu(x) * torch.rand_like(x)


class InVectors(Activation):
    def __call__(self, x, site):
        return torch.nn.functional.softplus(x)


class Narrow(Activation):
    def __call__(self, x, site):
        return x.mean(-1)


class Randomized(Activation):
    randomized = True

    def __call__(self, x, site):
        return torch.relu(x)


class WithoutSite(Activation):
    def __call__(self, x):
        return torch.relu(x)


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


class Doubled(MLP):
    """In order."""

    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return {name: 2 * value for name, value in outputs.items()}


class Balanced(MLP):
    """In order: it adds a loss of its own, for each run by itself."""

    def design(self, bodies, activation):
        return replace(super().design(bodies, activation), losses=("balance",))

    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return outputs | {"balance": self._balance(outputs["logits"])}

    def _balance(self, logits):
        first = logits[:, 0]
        return 0.01 * (first * first).sum(dim=1)


class BalancedTogether(Balanced):
    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return outputs | {"balance": outputs["balance"].sum()}


class Centred(MLP):
    def forward(self, design, parameters, x_KBD, activate, body):
        return super().forward(design, parameters, x_KBD - x_KBD.mean(dim=0), activate, body)


class Thrice(Flatten):
    """In order: a head."""

    def row(self, maps_KBCHW):
        return 3 * super().row(maps_KBCHW)


class CentredMaps(Flatten):
    def row(self, maps_KBCHW):
        return super().row(maps_KBCHW - maps_KBCHW.mean(dim=0))


class Short(MLP):
    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return {name: value[..., :-1] for name, value in outputs.items()}


class Forwrd(MLP):
    def forwrd(self, design, parameters, x_KBD, activate, body):
        return {}


class Signs(Optimizer):
    """In order."""

    def __init__(self, lr: float = 1e-3, reset: str = "never"):
        self.lr, self.reset = lr, reset

    def start(self, parameters):
        return {}

    def update(self, parameters, gradients, moments, settings, now):
        for name, gradient in gradients.items():
            parameters[name].sub_(beside(settings["lr"].float(), gradient) * gradient.sign())


class Clipped(Adam):
    def update(self, parameters, gradients, moments, settings, now):
        norm = torch.sqrt(sum(gradient.square().sum() for gradient in gradients.values()))
        super().update(parameters, {name: g / norm for name, g in gradients.items()}, moments, settings, now)


class OneMoment(Signs):
    def start(self, parameters):
        return {"mean": {name: torch.zeros(()) for name in parameters}}


class Udpate(Signs):
    def udpate(self, parameters, gradients, moments, settings, now):
        return None


class Again(PermutedPixels):
    """In order."""


class AtRandom(PermutedPixels):
    def lesson(self, image_set, seed, position):
        return replace(super().lesson(image_set, seed, position), pixels=np.random.default_rng().permutation(64))


class OnTopOfEachOther(PermutedPixels):
    asked = ()
    last = np.arange(64)

    def lesson(self, image_set, seed, position):
        if (seed, position) != self.asked:
            self.asked, self.last = (seed, position), host_stream(seed, "chain", position).permutation(self.last)
        return replace(super().lesson(image_set, seed, position), pixels=self.last)


class FromOne(PermutedPixels):
    def lesson(self, image_set, seed, position):
        found = super().lesson(image_set, seed, position)
        return replace(found, labels=found.labels + 1)


class Lessons(PermutedPixels):
    def lessons(self, image_set, seed, position):
        return None


class _Learner(SupervisedLearner):
    def advance(self, chunk):
        rows = super().advance(chunk)
        return Rows({name: self.changed(values) for name, values in rows.updates.items()})

    def changed(self, values):
        return values


class _Mixing(_Learner):
    def changed(self, values):
        return values - values.mean()


class _Squeezed(_Learner):
    def changed(self, values):
        return values.mean(axis=1)


class _Ends(_Learner):
    def ends(self, task):
        return None


class _Unsaved(_Learner):
    def changed(self, values):
        self.parts = getattr(self, "parts", 0) + 1
        return values + self.parts


class Taught(Supervised):
    """In order; others have another learner."""

    taught_by = _Learner

    def learner(self, parts, resource, device, compiled):
        stream, _ = super().learner(parts, resource, device, compiled)
        return stream, self.taught_by(parts, self.model(parts, resource), resource, device, compiled)


class MixingRows(Taught):
    taught_by = _Mixing


class OneRow(Taught):
    taught_by = _Squeezed


class Ends(Taught):
    taught_by = _Ends


class Unsaved(Taught):
    taught_by = _Unsaved


class OldProvision(Taught):
    tells = frozenset()


class Lerner(Taught):
    def lerner(self, parts, resource, device, compiled):
        return None


class Largest(Diagnostic):
    """In order: the largest pre-activation of each run."""

    def columns(self, units):
        return [of_epochs("largest", "Largest pre-activation")]

    def look(self, view):
        return {"largest": view.forward().before["hidden1"].flatten(1).amax(dim=1)}


class OfAllRuns(Largest):
    def look(self, view):
        return {"largest": view.forward().before["hidden1"].amax().expand(len(view.seeds))}


class Writes(Largest):
    def look(self, view):
        view.parameters["hidden1.weight"].mul_(0.5)
        return super().look(view)


class InTheObject(Largest):
    def look(self, view):
        self.so_far = max(getattr(self, "so_far", 0), view.task + 1) + (view.epoch or 0)
        return {"largest": torch.full((len(view.seeds),), float(self.so_far))}


class Others(Largest):
    def look(self, view):
        return {"smallest": torch.zeros(len(view.seeds))}


class OldNeed(Largest):
    needs = frozenset()


class Watch(Largest):
    def looks(self, view):
        return {}


class Louder(Perturbation):
    requires = frozenset({EPOCHS})

    def count(self, epochs):
        return epochs // 2

    def factor(self, epoch, before):
        return 2.0 if epoch % 2 == 0 else None


class LouderEachTime(Louder):
    asked = 0

    def factor(self, epoch, before):
        self.asked += 1
        return 1 + self.asked / 10


class Facter(Louder):
    def facter(self, epoch, before):
        return 2.0


IN_ORDER = {
    "activation": (Plain,),
    "intervention": (Pulling, Idle),
    "network": (Doubled, Balanced),
    "head": (Thrice,),
    "optimizer": (Signs,),
    "benchmark": (Again,),
    "agent": (Taught,),
    "diagnostics": (Largest,),
    "perturbation": (Louder,),
}
FAULTY = {
    "activation": {
        Standardised: "pack of 2", FirstSlope: "pack of 2", OfAllCalls: "again", OfTheClass: "again", Drawn: "again",
        Running: "resumed", InVectors: "place", Narrow: "__call__", Randomized: "randomised", WithoutSite: "(x)",
    },
    "intervention": {
        OneNumber: "penalty", OverRuns: "pack of 2", FirstStrength: "pack of 2", Misspelt: "after_step",
        Unheard: "each_update", RareMix: "pack of 2", OldVerb: "every_n_updates", OldRequirement: "requires",
        OneState: "start", Counting: "resumed", Filling: "zero",
    },
    "head": {CentredMaps: "pack of 2"},
    "network": {Centred: "pack of 2", Short: "forward", BalancedTogether: "forward", Forwrd: "forward"},
    "optimizer": {Clipped: "pack of 2", OneMoment: "start", Udpate: "update"},
    "benchmark": {AtRandom: "asked again", OnTopOfEachOther: "pack of 2", FromOne: "labels", Lessons: "lesson"},
    "agent": {
        MixingRows: "pack of 2", OneRow: "shape", Ends: "'end'", Unsaved: "resumed", Lerner: "learner",
        OldProvision: "provides",
    },
    "diagnostics": {
        OfAllRuns: "pack of 2", Writes: "hidden1.weight", InTheObject: "resumed", Others: "smallest", Watch: "look",
        OldNeed: "requires",
    },
    "perturbation": {LouderEachTime: "resumed", Facter: "factor"},
}  # fmt: skip
"""By group: the class, and a word that the sentence about it must have."""


def planted(folder: Path, *classes: type) -> str:
    """Makes a choice of each class's name in a folder; the word that finds them."""
    for group, several in IN_ORDER.items():
        for cls in (*several, *FAULTY[group]):
            if not classes or cls in classes:
                file = folder / "planted" / group / f"{cls.__name__.lower()}.yaml"
                file.parent.mkdir(parents=True, exist_ok=True)
                auto = f"{BENCHMARK}default_network: mlp\ndefault_agent: supervised\n"
                file.write_text(f"_target_: {cls.__module__}.{cls.__name__}\n{auto if group == 'benchmark' else ''}")
    return f"hydra.searchpath=[file://{folder / 'planted'}]"
