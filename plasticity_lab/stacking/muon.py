"""Muon: momentum, moved to the nearest orthogonal matrix, for hidden layers; AdamW for all other parameters.

Legend: K runs, E experts, I inputs and O outputs of a layer, M matrices.
"""

from math import sqrt

from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.component import check
from plasticity_lab.stacking.decays import steps_to_settle, unbiased
from plasticity_lab.stacking.optimizer import Tensors
from plasticity_lab.stacking.products import product, run_sums
from plasticity_lab.stacking.run_axis import aligned, beside
from plasticity_lab.stacking.update_rule import RuleInputs, UpdateRule, adam_direction

ITERATIONS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""The factors of X, X Xᵀ X and (X Xᵀ)² X in an iteration."""
SMALLEST_NORM = 1e-7


class Muon(UpdateRule):
    """Hidden matrices: m ← μ m + (1 − μ) g; θ ← (1 − lr · decay) θ − lr · √max(1, O / I) · NS((1 − μ) g + μ m).

    NS divides a matrix by its Frobenius norm and repeats X ← 3.4445 X − 4.775 X Xᵀ X + 2.0315 (X Xᵀ)² X five times,
    here in float32 (theirs: bfloat16). Hidden are the weights of layers that an activation precedes and follows, and in
    a transformer all of its blocks'; for a convolution the matrix from a patch to the channels, for experts each one's.
    All other parameters (first and last layers, biases, normalisation, activations) take AdamW's step with the rate
    lr · adam_share.

    Source: Jordan et al. 2024, "Muon", and KellerJordan/Muon (857d1ad), muon.py. `reset`: never (moments cross tasks)
    or task.
    """

    moments = ("first", "second")
    operations = 3000  # 5 iterations of 3 products, 2 · 100 operations each at width 100
    copies = 1

    def __init__(
        self,
        lr: float = 0.02,
        momentum: float = 0.95,
        adam_share: float = 0.015,
        beta1: float = 0.9,
        beta2: float = 0.95,
        epsilon: float = 1e-10,
        weight_decay: float = 0.0,
        reset: str = "never",
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.momentum = check("optimizer.momentum", momentum, at_least=0, below=1)
        self.adam_share = check("optimizer.adam_share", adam_share, at_least=0)
        self.beta1 = check("optimizer.beta1", beta1, at_least=0, below=1)
        self.beta2 = check("optimizer.beta2", beta2, at_least=0, below=1)
        self.epsilon = check("optimizer.epsilon", epsilon, above=0)  # padding has no gradient: 0 / 0
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))
        self.set_schedule(schedule, schedule_by, warmup, final)

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """first, second (S, K): 1 / (1 − βᵗ)."""
        decays = {"first": "beta1", "second": "beta2"}
        return {kind: unbiased(settings[decay], first, steps) for kind, decay in decays.items()}

    def settled(self, settings: Tensors) -> int:
        """The number of steps after which both corrections are constant."""
        return steps_to_settle(settings["beta1"], settings["beta2"])

    def step(self, now: RuleInputs) -> None:
        """One step in place."""
        hidden = {f"{layer}.weight" for layer in now.hidden}
        for name in now.names:
            parameter = now.parameters[name]
            share = 1.0 if name in hidden else now.settings["adam_share"]
            lr = now.settings["lr"] * share
            moved = _orthogonal_step(now, name) if name in hidden else adam_direction(now, name)
            parameter.mul_(beside((1 - lr * now.settings["weight_decay"]).float(), parameter))
            parameter.sub_(beside(lr.float(), parameter) * moved)


def _orthogonal_step(now: RuleInputs, name: str) -> Tensor:
    """√max(1, O / I) · NS of Nesterov's momentum, like the parameter.  Changes the momentum in place."""
    gradient, momentum = now.gradients[name], now.moments["first"][name]
    keep = beside(now.settings["momentum"].float(), gradient)
    take = beside((1 - now.settings["momentum"]).float(), gradient)
    momentum.mul_(keep).add_(gradient * take)
    mixed = gradient * take + momentum * keep
    outputs = now.real.get(name, mixed.shape[-1])
    scale = sqrt(max(1, outputs / mixed.shape[-2]))
    return newton_schulz(mixed.reshape(-1, *mixed.shape[-2:])).view_as(mixed) * scale


def newton_schulz(matrices_MIO: Tensor) -> Tensor:
    """Each matrix with singular values near 1, at 0.7 to 1.2; a matrix of zeros stays.  Like the argument.

    Rows and columns are padded with zeros, which stay zero, so that a run's products have the same bits at every place.
    """
    rows, columns = matrices_MIO.shape[1:]
    norms = run_sums(matrices_MIO * matrices_MIO).sqrt() + SMALLEST_NORM
    x = pad(matrices_MIO, (0, aligned(columns) - columns, 0, aligned(rows) - rows)) / norms.view(-1, 1, 1)
    of_columns = rows > columns  # the smaller of the two products
    x = x.transpose(1, 2).contiguous() if of_columns else x
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = product(x, x.transpose(1, 2).contiguous())
        x = a * x + product(b * gram + c * product(gram, gram), x)
    x = x.transpose(1, 2) if of_columns else x
    return x[:, :rows, :columns]
