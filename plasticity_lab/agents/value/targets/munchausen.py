"""The target of Munchausen DQN: the reward gets the scaled log-probability of the action taken."""

from torch import Tensor

from plasticity_lab.agents.value.targets.inputs import TARGET_NEXT, TARGET_NOW, TargetInputs
from plasticity_lab.agents.value.targets.target import Target
from plasticity_lab.component import check
from plasticity_lab.kernels import operators
from plasticity_lab.stacking.elementary import exp, log_softmax
from plasticity_lab.stacking.run_axis import beside


class Munchausen(Target):
    """r + α · clip(τ ln π(a|s), l₀, 0) + γ Σ π(a'|s') (q'(s', a') − τ ln π(a'|s')), where π = softmax(q' / τ).

    q' is the target network's, at the current states too. In returns of n steps only the first step has the bonus.
    With atoms, our law: π is by the mean values, and the next state's part is the mixture (weighted by π(a'|s')) of the
    projected atoms z − τ ln π(a'|s').
    alpha: α. tau: τ, in units of the (clipped) rewards. l0: l₀, the least value of τ ln π(a|s).
    Source: Vieillard et al. 2020, eq. 1 and section 3; defaults of their Atari experiments.
    """

    passes = (TARGET_NEXT, TARGET_NOW)

    def __init__(self, alpha: float = 0.9, tau: float = 0.03, l0: float = -1.0) -> None:
        self.alpha = check("target.alpha", alpha, at_least=0, at_most=1)
        self.tau = check("target.tau", tau, above=0)
        self.l0 = check("target.l0", l0, at_most=0)

    def target(self, inputs: TargetInputs) -> Tensor:
        """(K, B), or with atoms (K, B, Z)."""
        own = inputs.settings
        following = log_policy(inputs.passes[TARGET_NEXT].q(), own["tau"])
        taken = log_policy(inputs.passes[TARGET_NOW].q(), own["tau"]).gather(2, inputs.action.unsqueeze(2)).squeeze(2)
        scaled = (beside(own["tau"], taken) * taken).clamp(max=0).maximum(beside(own["l0"], taken))
        bonus = beside(own["alpha"], taken) * scaled
        return inputs.by_weights(exp(following), -beside(own["tau"], following) * following, bonus)


def log_policy(q_KBA: Tensor, tau_K: Tensor) -> Tensor:
    """ln π(a|s) of π = softmax(q / τ), (K, B, A)."""
    tau = beside(tau_K, q_KBA)
    if operators.serve(q_KBA):  # torch's compiler subtracts the largest q first, which it does not in the operator
        return log_softmax((q_KBA - q_KBA.amax(dim=2, keepdim=True)) / tau)
    return log_softmax(q_KBA / tau)
