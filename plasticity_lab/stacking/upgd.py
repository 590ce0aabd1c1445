"""UPGD: gradient descent with noise, both weighted by how little a weight has helped."""

from collections.abc import Mapping

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.decays import steps_to_settle, unbiased
from plasticity_lab.stacking.elementary import sigmoid
from plasticity_lab.stacking.optimizer import Tensors
from plasticity_lab.stacking.products import exact_sums
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.update_rule import RuleInputs, UpdateRule, noise, run_maximum

SCOPES = ("global", "local")
SMALLEST_NORM = 1e-12
"""torch.nn.functional.normalize divides by no smaller one."""


class UPGD(UpdateRule):
    """U ← β U − (1 − β) g∘θ;  s = σ(Û / max U);  θ ← (1 − lr · decay) θ − lr · (g + σ ξ)∘(1 − s), ξ ~ N(0, 1).

    U is the utility of each weight, Û = U / (1 − βᵗ), and max U is over all weights of the run, as stored: not
    corrected. `scope=local`: Û divided by its norm over a unit's inputs (weights), or over all units (other parameters)
    takes the place of Û / max U. `protecting=false`: g is not weighted, only the noise is. Source: Elsayed & Mahmood
    2024 (ICLR), Algorithm 1, first order, in the form of the authors' experiments
    (core/optim/weight_upgd/first_order.py). docs/pages/reference/optimizers.md lists the details, and where their
    README differs.
    `reset`: never (U crosses tasks) or task.
    """

    moments = ("utility",)
    draws = True
    copies = 3
    operations = 600

    def __init__(
        self,
        lr: float = 1e-2,
        utility_decay: float = 0.9999,
        sigma: float = 0.1,
        weight_decay: float = 0.0,
        protecting: bool = True,
        scope: str = "global",
        reset: str = "never",
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.utility_decay = check("optimizer.utility_decay", utility_decay, at_least=0, below=1)
        self.sigma = check("optimizer.sigma", sigma, at_least=0)
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.protecting = protecting
        self.scope = check("optimizer.scope", scope, one_of=SCOPES)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))
        self.set_schedule(schedule, schedule_by, warmup, final)

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """utility (S, K): 1 / (1 − βᵗ)."""
        return {"utility": unbiased(settings["utility_decay"], first, steps)}

    def settled(self, settings: Tensors) -> int:
        """The number of steps after which βᵗ is below 2⁻²⁶ for all runs, at most a million."""
        return steps_to_settle(settings["utility_decay"])

    def step(self, now: RuleInputs) -> None:
        """One step in place."""
        follow_utilities(now)
        shares, drawn, settings = free_shares(now, self.scope), noise(now, now.names), now.settings
        for name in now.names:
            parameter = now.parameters[name]
            lr, sigma = (beside(settings[key].float(), parameter) for key in ("lr", "sigma"))
            free, gradient = shares[name], now.gradients[name]
            moved = (
                (gradient + sigma * drawn[name]) * free if self.protecting else gradient + sigma * drawn[name] * free
            )
            shrink(parameter, settings)
            parameter.sub_(lr * moved)


def follow_utilities(now: RuleInputs) -> None:
    """U ← β U − (1 − β) g∘θ, in place."""
    for name in now.names:
        parameter, utility = now.parameters[name], now.moments["utility"][name]
        decay = now.settings["utility_decay"]
        kept, taken = (beside(share.float(), parameter) for share in (decay, 1 - decay))
        utility.mul_(kept).sub_(now.gradients[name] * parameter * taken)


def free_shares(now: RuleInputs, scope: str) -> dict[str, Tensor]:
    """1 − s for each weight, like the parameters.

    If max U is negative, the quotient's sign turns: the weights of least utility are protected, as in the authors'
    code. If max U is 0, so are the quotients of weights of utility 0 (their code divides 0 by 0).
    """
    utilities, names = now.moments["utility"], now.names
    largest_K = run_maximum(utilities, names, now.real) if scope == "global" else None
    found = {}
    for name in names:
        utility = utilities[name] * now.correction("utility", name)
        scale = _local_norm(name, utility) if largest_K is None else beside(largest_K, utility)
        found[name] = sigmoid(-torch.where(utility == 0, 0.0, utility / scale))  # 1 − s(x) = s(−x)
    return found


def shrink(parameter: Tensor, settings: Mapping[str, Tensor]) -> None:
    """θ ← (1 − lr · decay) θ, in place."""
    parameter.mul_(beside((1 - settings["lr"] * settings["weight_decay"]).float(), parameter))


def _local_norm(name: str, utility: Tensor) -> Tensor:
    """The Euclidean norm over the inputs of each unit, (K, ..., 1, O); for other parameters over the last axis."""
    by_unit = name.rpartition(".")[2] in ("weight", "sigma")
    squares = utility * utility
    sums = exact_sums(squares.transpose(-1, -2)).unsqueeze(-2) if by_unit else exact_sums(squares).unsqueeze(-1)
    return sums.sqrt().clamp(min=SMALLEST_NORM)
