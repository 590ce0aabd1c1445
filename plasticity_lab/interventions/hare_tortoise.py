"""Hare and Tortoise: a slow average of the network follows it, and the network returns to the average periodically.

Legend: K runs.
"""

from collections.abc import Mapping
from math import gcd
from typing import TypeVar

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.average import averages, copied, follow
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State, Tensors

SLOW = "tortoise "
"""Prefix of the state's entries for the slow network."""
Count = TypeVar("Count", int, Tensor)
EVALUATED = ("tortoise", "hare")


class HareTortoise(Intervention):
    """s ← strength · s + (1 − strength) · θ after every update; θ ← s periodically. θ is the hare, s the tortoise.

    s starts as the network at birth, and includes all parameters: biases, normalisation and its running statistics,
    σ of noisy layers, learned parameters of activations. It does not include which experts are open. The hare learns
    and acts.

    every: updates from one return of the hare to the next; null: it never returns, so only the average is added.
    first: the number of updates before the first return; null: `every`. evaluated: the network that is tested on
    held-out images, or in the test after a task. shared: whether the first update after a return moves both, s ← θ, as
    in the authors' code, which lets them share memory then. Moments and target networks stay as they are. With
    strength 0 the tortoise is the hare, and the run the plain one. Source: Lee et al. 2024
    (docs/pages/reference/interventions/hare_tortoise.md).  State: one number a parameter.
    """

    capped = frozenset({"every"})
    read_if = dict.fromkeys(("first", "shared"), ("every", lambda every: every is not None))
    needs_gradients = False
    operations = 10

    def __init__(
        self,
        strength: float = 0.999,
        every: int | None = 1000,
        first: int | None = None,
        evaluated: str = "tortoise",
        shared: bool = False,
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, at_most=1)
        self.period = check("intervention.every", every, at_least=1)
        self.first = check("intervention.first", first, at_least=1)
        self.slow_is_tested = check("intervention.evaluated", evaluated, one_of=EVALUATED) == "tortoise"
        self.shared = shared
        self.every = None if every is None else gcd(every, every if first is None else first)

    def first_after(self) -> Mapping[str, int]:
        """Its `first`, or `every`."""
        if self.period is None:
            return {}
        return {"every": self.period} if self.first is None else {"first": self.first}

    def start(self, now: Now) -> State:
        """The tortoise, "tortoise <parameter>" (K, ...): a copy of the parameters."""
        return copied(now, SLOW)

    def after_step(self, now: Now) -> State:
        """s follows the active parameters, in place."""
        returned = None
        if self.shared and self.period is not None:
            assert now.count is not None
            returned = self._returns(now.count)
        network = now.network
        for name, slow in averages(now, SLOW).items():
            fast = network[name]
            if returned is not None:
                slow.copy_(torch.where(returned, fast, slow))
            follow(slow, fast, now.settings["strength"])
        return now.state

    def every_n_updates(self, now: Now) -> State:
        """The hare returns to the tortoise, in place, if it is due."""
        if self._returns(now.updates):
            network = now.network
            for name, slow in averages(now, SLOW).items():
                network[name].copy_(slow)
        return now.state

    def _returns(self, updates: Count) -> Count:
        """Whether the hare returns after that number of updates, () or a bool."""
        assert self.period is not None
        since = updates - (self.period if self.first is None else self.first)
        return (since >= 0) & (since % self.period == 0)

    def tested(self, parameters: Tensors, state: State) -> Tensors:
        """The tortoise, unless the hare is to be tested."""
        if not self.slow_is_tested:
            return parameters
        return {name: state.get(f"{SLOW}{name}", value) for name, value in parameters.items()}
