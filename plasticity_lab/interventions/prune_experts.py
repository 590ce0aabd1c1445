"""Pruning of experts: some are closed for good, so that no token is sent to them and none gets anything back.

Legend: K runs, E experts.
"""

from collections.abc import Mapping
from math import gcd
from typing import Any, ClassVar

import torch

from plasticity_lab.component import Chosen, Component, check
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.heads.expert_choice import ExpertChoice
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.measures import Column, Measure
from plasticity_lab.stacking.router import StackedRouter


class PruneExperts(Intervention):
    """Closes `count` experts: one after `first` updates, the next after every further `apart` updates; apart 0: all at
    once.

    The run's init_seed selects the experts. The router of a closed expert is masked: its slots have weight zero in the
    output for the tokens, and tokens contribute nothing to its slots. Its results are discarded. Whether an expert is
    open is a parameter of the router, so a target network follows at its next copy, and saved weights include it.
    Source: Sokar et al. 2025, Appendix B.5.1: two of four experts are pruned once, or gradually; the time is not given.
    """

    unit_kind: ClassVar = "expert"
    needs_gradients = False
    read_if: ClassVar = {"apart": ("count", lambda count: count > 1)}
    capped = frozenset({"first", "apart"})
    columns: ClassVar = (Column(Measure("pruned", "Pruned experts", "count", places=0), "pruned", {"task": "value"}),)

    def __init__(self, count: int = 2, first: int = 2_500_000, apart: int = 0) -> None:
        self.count = self.prunes = check("intervention.count", count, at_least=1)
        self.needs_experts = count + 1  # one stays
        self.first = check("intervention.first", first, at_least=1)
        self.apart = check("intervention.apart", apart, at_least=0)
        self.every = gcd(first, apart) if apart and count > 1 else first

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 if one expert of `ExpertChoice` remains: in version 1 it took the first tokens, and ignored the router."""
        head, its = others.get("head", (Component, {}))
        one_stays = issubclass(head, ExpertChoice) and its["experts"] == settings["count"] + 1
        return 2 if one_stays else super().version_beside(settings, others)

    def first_after(self) -> dict[str, int]:
        """Its `first`."""
        return {"first": self.first}

    def start(self, now: Now) -> State:
        """The number of experts pruned so far, "pruned" (K,)."""
        first = next(iter(now.parameters.values()))
        return {"pruned": torch.zeros(len(first), dtype=torch.int64, device=first.device)}

    def due(self, updates: int) -> int:
        """The number of experts that are pruned after that number of updates."""
        if updates < self.first:
            return 0
        return self.count if not self.apart else min(self.count, 1 + (updates - self.first) // self.apart)

    def every_n_updates(self, now: Now) -> State:
        """Closes those that are due, in place."""
        many = self.due(now.updates)
        router = next(layer for layer in now.model.design.layers if isinstance(layer, StackedRouter))
        is_open = now.parameters[f"{router.name}.open"]
        for run, seed in enumerate(now.seeds):
            chosen = host_stream(seed, "prune experts").permutation(is_open.shape[1])[:many]
            is_open[run, torch.from_numpy(chosen).to(is_open.device)] = 0.0
        return {"pruned": torch.full_like(now.state["pruned"], many)}

    def measured(self, state: State) -> State:
        """The count, "pruned" (K,)."""
        return {"pruned": state["pruned"]}


def prunes(others: Mapping[str, Chosen]) -> bool:
    """Whether experts are closed among a run's components."""
    return any(issubclass(each, PruneExperts) for each, _ in others.values())
