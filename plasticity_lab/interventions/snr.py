"""Self-Normalized Resets: a unit that has been silent for longer than its own past makes plausible begins anew.

Legend: K runs, N units or channels of a place.
"""

from math import inf, log

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.resets import OUTGOING, Chosen, Resets, none_yet, reset_due
from plasticity_lab.interventions.unit_statistics import examples_in, fired
from plasticity_lab.stacking import elementary
from plasticity_lab.stacking.run_axis import beside

KEPT = ("age", "examples", "gap", "count")
"""What is kept of each unit; see `SelfNormalizedResets.start`."""


class SelfNormalizedResets(Resets):
    """Resets a unit when a silence as long as its present one has a probability of at most `strength` (η; 0: never).

    A unit fires in an update if a value of its is larger than `epsilon` on any example of the batch (and at any pixel).
    Updates between its firings count as geometric with the mean of the last `window` or so: after a silent updates the
    probability is (1 − 1 / mean)^a. Only a silence of `min_age` examples or more counts (rows that fill up a batch are
    no examples), and a unit that has fired `min_count` times: of another no rate is known. `outgoing`: whether the
    weights out of a unit that is reset stay (keep) or become zero. `every`: after how many updates units are reset that
    are due.
    The silence that ended in a reset counts as one between two firings.

    Source: Farias & Jozefiak 2024, Algorithm 1; η, epsilon and window as in Table E10 (docs/interventions/snr.md).
    State: four numbers a unit.
    """

    watches_units = True
    needs_gradients = False

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
        """Of each unit, by name: `age`, the updates it has been silent for, below zero once it is to be reset;
        `examples`, how many these had; `gap`, the mean number of updates from one firing to the next; `count`, of how
        many gaps, at most `window`.

        Of each run: "resets", and "due", how many units are to be reset.
        """
        state: State = {"resets": none_yet(now), "due": none_yet(now)}
        for unit in now.units:
            like = now.parameters[f"{unit.incoming}.weight"]
            for name in KEPT:
                state[f"{unit.name}.{name}"] = like.new_zeros(like.shape[0], unit.produced[0])
        return state

    def after_step(self, now: Now) -> State:
        """Counts firings and silences, and marks the units that are to be reset."""
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
        """The mean gap and the count of gaps, where one of `age` updates ends."""
        more = torch.where(ends, (count + 1).clamp(max=self.window), count)
        return torch.where(ends, gap + (age - gap) / more.clamp(min=1), gap), more
