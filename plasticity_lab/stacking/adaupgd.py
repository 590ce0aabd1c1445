"""AdaUPGD: UPGD with Adam's moments, as the authors use it with PPO."""

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.stacking.decays import steps_to_settle, unbiased
from plasticity_lab.stacking.optimizer import Tensors
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.update_rule import RuleInputs, UpdateRule, adam_direction, noise
from plasticity_lab.stacking.upgd import follow_utilities, free_shares, shrink


class AdaUPGD(UpdateRule):
    """θ ← (1 − lr · decay) θ − 2 lr · (m̂ / (√v̂ + ε) + σ ξ)∘(1 − s), with s of `UPGD` and m̂, v̂ of Adam.

    The factor 2 is the authors': s is ½ for a weight of utility 0, and its step is then Adam's. Source: Elsayed &
    Mahmood 2024 (ICLR), the experiment with PPO, core/run/rl/adaupgd.py. Only the form with a maximum over all weights
    exists there, and so here. `reset`: never (moments cross tasks) or task.
    """

    moments = ("first", "second", "utility")
    draws = True
    copies = 4
    operations = 800

    def __init__(
        self,
        lr: float = 3e-4,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-5,
        utility_decay: float = 0.999,
        sigma: float = 0.001,
        weight_decay: float = 0.001,
        reset: str = "never",
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.beta1 = check("optimizer.beta1", beta1, at_least=0, below=1)
        self.beta2 = check("optimizer.beta2", beta2, at_least=0, below=1)
        self.epsilon = check("optimizer.epsilon", epsilon, above=0)  # padding has no gradient: 0 / 0
        self.utility_decay = check("optimizer.utility_decay", utility_decay, at_least=0, below=1)
        self.sigma = check("optimizer.sigma", sigma, at_least=0)
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))
        self.set_schedule(schedule, schedule_by, warmup, final)

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """first, second, utility (S, K): 1 / (1 − βᵗ) of each moment."""
        decays = {"first": "beta1", "second": "beta2", "utility": "utility_decay"}
        return {kind: unbiased(settings[decay], first, steps) for kind, decay in decays.items()}

    def settled(self, settings: Tensors) -> int:
        """The number of steps after which βᵗ is below 2⁻²⁶ for all moments of all runs, at most a million."""
        return steps_to_settle(*(settings[decay] for decay in ("beta1", "beta2", "utility_decay")))

    def step(self, now: RuleInputs) -> None:
        """One step in place."""
        follow_utilities(now)
        shares, drawn, settings = free_shares(now, "global"), noise(now, now.names), now.settings
        for name in now.names:
            parameter = now.parameters[name]
            lr, sigma = (beside(settings[key].float(), parameter) for key in ("lr", "sigma"))
            moved = (adam_direction(now, name) + sigma * drawn[name]) * shares[name]
            shrink(parameter, settings)
            parameter.sub_(2 * lr * moved)
