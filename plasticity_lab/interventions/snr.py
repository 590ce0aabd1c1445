"""Self-Normalized Resets: a unit is reset if it has been silent for longer than its past firing rate makes plausible.

Legend: K runs, N units or channels of a place.
"""

from math import inf, log

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.resets import (
    OUTGOING,
    Chosen,
    Resets,
    examples_in,
    fired,
    none_yet,
    reset_due,
    zeros_of_units,
)
from plasticity_lab.stacking import elementary
from plasticity_lab.stacking.run_axis import beside

KEPT = ("age", "examples", "gap", "count")
"""The state of each unit; see `SelfNormalizedResets.start`."""


class SelfNormalizedResets(Resets):
    """Resets a unit if a silence as long as its present one has a probability of at most `strength` (η; 0: never).

    A unit fires in an update if one of its values exceeds `epsilon` for any example of the batch (and any pixel). The
    number of updates between firings is assumed geometric, with the mean of about the last `window` gaps: a silence of
    a updates has the probability (1 − 1 / mean)^a. A unit is reset only after a silence of at least `min_age` examples
    (padding rows of a batch do not count), and after `min_count` firings, since its rate is unknown before. outgoing:
    whether the outgoing weights of a reset unit stay (keep) or become zero. every: number of updates between resets of
    the units that are due. The silence that ended in a reset counts as a gap between two firings.

    Source: Farias & Jozefiak 2024, Algorithm 1; η, epsilon and window as in Table E10
    (docs/pages/reference/interventions/snr.md). State: four numbers a unit.
    """

    watches_units = True
    needs_gradients = False
    operations = 20

    def __init__(
        self,
        strength: float = 3e-3,
        epsilon: float = 1e-3,
        outgoing: str = "keep",
        window: int = 1000,
        min_age: int = 100,
        min_count: int = 8,
        every: int = 1,
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, below=1)
        self.epsilon = check("intervention.epsilon", epsilon, at_least=0)
        self.outgoing = check("intervention.outgoing", outgoing, one_of=OUTGOING)
        self.window = check("intervention.window", window, at_least=1)
        self.min_age = check("intervention.min_age", min_age, at_least=1)
        self.min_count = check("intervention.min_count", min_count, at_least=1)
        self.every = check("intervention.every", every, at_least=1)

    def on_run_axis(self) -> dict[str, float]:
        """The epsilon, and the logarithm of the strength: a compiled one might differ in its last bit."""
        return {"epsilon": self.epsilon, "log_strength": log(self.strength) if self.strength else -inf}

    def start(self, now: Now) -> State:
        """For each unit, by name: `age`, the number of updates without firing, negative once it is to be reset;
        `examples`, their number of examples; `gap`, the mean number of updates between firings; `count`, the number of
        gaps in this mean, at most `window`.

        For each run: "resets", and "due", the number of units to be reset.
        """
        return {"resets": none_yet(now), "due": none_yet(now), **zeros_of_units(now, *KEPT)}

    def after_step(self, now: Now) -> State:
        """Counts firings and silences, and marks the units to be reset."""
        state, due = dict(now.state), torch.zeros_like(now.state["due"])
        for unit in now.units:
            age, examples, gap, count = (state[f"{unit.name}.{name}"] for name in KEPT)
            h = now.hidden[unit.name]
            fires = fired(h, now.weights, unit, now.settings["epsilon"])
            age, examples = age.abs() + 1, examples + examples_in(h, now.weights)
            gap, count = self._another(age, gap, count, fires)
            age, examples = torch.where(fires, 0.0, age), torch.where(fires, 0.0, examples)
            silent = elementary.log(1 - 1 / gap.clamp(min=1 + 1e-6))  # the probability of a silent update
            unlikely = age * silent <= beside(now.settings["log_strength"], age)
            wanted = unlikely & (examples >= self.min_age) & (count >= self.min_count)
            due = due + wanted.sum(dim=1)
            kept = torch.where(wanted, -age, age), examples, gap, count
            state |= {f"{unit.name}.{name}": value for name, value in zip(KEPT, kept, strict=True)}
        return state | {"due": due}

    def every_n_updates(self, now: Now) -> State:
        """Resets the units that are marked."""

        def choose(state: State, run: int) -> Chosen:
            chosen = []
            for unit in now.units:
                age, examples, gap, count = (state[f"{unit.name}.{name}"][run] for name in KEPT)
                marked = age < 0
                chosen.append((unit, marked.nonzero().flatten().cpu().numpy()))
                for own, value in zip((gap, count), self._another(age.abs(), gap, count, marked), strict=True):
                    own.copy_(value)
                for silent in (age, examples):
                    silent.masked_fill_(marked, 0.0)
            return chosen

        return reset_due(now, "snr", choose, self.outgoing)

    def _another(self, age: Tensor, gap: Tensor, count: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
        """The mean gap and the number of gaps, after adding a gap of `age` updates for each unit in `ends`."""
        more = torch.where(ends, (count + 1).clamp(max=self.window), count)
        return torch.where(ends, gap + (age - gap) / more.clamp(min=1), gap), more
