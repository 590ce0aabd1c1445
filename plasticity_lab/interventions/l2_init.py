"""L2-Init: a penalty that pulls every parameter towards its initial value."""

from collections.abc import Collection, Mapping
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.component import Chosen, check
from plasticity_lab.interventions.held import Held
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.l2 import factor, pull, squared_distances, with_slope
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.prune_experts import prunes
from plasticity_lab.networks.units import real_columns
from plasticity_lab.stacking.products import run_sums
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.update_rule import real_part


class L2Init(Intervention):
    """strength · Σ (θ − θ₀)², per run, in the loss (so through Adam), over all parameters, biases included.

    Source: Kumar et al. 2023; Appendix E.3. Their paper writes it without a half, as the default here; their code
    multiplies by one half (`half`). `include_activation` extends it to learnable activation parameters. A closed
    expert stays closed.

    sorted: compares the sorted values of each parameter with its sorted initial values, so units may change places
        (Wasserstein L2-Init; Chung et al. 2024).
    reduction: sum, or the mean over the values of each parameter; the means are added up.
    power: 2 for the sum of squares, 1 for its root, a pull of constant length. Its gradient at θ₀ is 0.
    """

    neutral = {"half": False, "include_activation": True, "power": 2, "reduction": "sum", "sorted": False}
    operations = 15

    def __init__(
        self,
        strength: float = 1e-3,
        half: bool = False,
        include_activation: bool = True,
        power: int = 2,
        reduction: str = "sum",
        sorted: bool = False,
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.half = half
        self.include_activation = include_activation
        self.power = check("intervention.power", power, one_of=(1, 2))
        self.reduction = check("intervention.reduction", reduction, one_of=("sum", "mean"))
        self.sorted = sorted
        self.holds = (power, reduction, sorted) == (2, "sum", False)

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 together with `PruneExperts`: version 1 pulled closed experts open."""
        return 2 if prunes(others) else super().version_beside(settings, others)

    def start(self, now: Now) -> State:
        """A copy of the parameters it pulls towards, name → (K, ...); if `sorted`, their sorted values, (K, N)."""
        left_out = now.model.switches
        if not self.include_activation:
            left_out |= now.model.learned_by_activation
        names = [name for name in now.parameters if name not in left_out]
        return {name: value.clone() for name, value in self._compared(now, names).items()}

    def penalty(self, now: Now) -> Tensor:
        """(K,): strength · Σ (θ − θ₀)², or half of it, over the parameters that are active."""
        compared = self._compared(now, [name for name in now.state if name in now.parameters])
        pairs = {name: (value, now.state[name]) for name, value in compared.items()}
        shares = {name: 1 / count for name, count in _counts(now, pairs).items()} if self.reduction == "mean" else {}
        if self.power == 1:
            return pull(now.settings["strength"], self.half, [_root(pairs, shares).unsqueeze(1)])
        squares = {name: squared_distances(*pair) for name, pair in pairs.items()}
        squares |= {name: squares[name] * share for name, share in shares.items()}
        return pull(now.settings["strength"], self.half, squares.values())

    def held(self, now: Now) -> Held:
        """A pull towards the first values."""
        return Held(factor(now.settings["strength"], self.half), now.state)

    def _compared(self, now: Now, names: Collection[str]) -> dict[str, Tensor]:
        """Parameters as they are compared with their start: unchanged, or their sorted values without padding."""
        if not self.sorted:
            return {name: now.parameters[name] for name in names}
        real = real_columns(now.model)
        values = {name: real_part(now.parameters[name], name, real).flatten(1) for name in names}
        return {name: value.sort(dim=1, stable=True).values for name, value in values.items()}


def _counts(now: Now, names: Collection[str]) -> dict[str, int]:
    """How many values a run has in each parameter, without padding."""
    real = real_columns(now.model)
    return {name: real_part(now.parameters[name], name, real)[0].numel() for name in names}


def _root(pairs: Mapping[str, tuple[Tensor, Tensor]], shares: Mapping[str, float]) -> Tensor:
    """The root of Σ share · (value − start)² of each run, (K,).

    Its gradient divides by the root, so the sums are exact and computed outside of autograd.
    """
    away = {name: (value - start).detach() for name, (value, start) in pairs.items()}
    root = reduce(torch.add, (run_sums(each * each) * shares.get(name, 1.0) for name, each in away.items())).sqrt()
    over = torch.where(root > 0, 1 / root, 0.0)
    slopes = {name: each * beside(over * shares.get(name, 1.0), each) for name, each in away.items()}
    return root + reduce(torch.add, (with_slope(pairs[name][0], slope) for name, slope in slopes.items()))
