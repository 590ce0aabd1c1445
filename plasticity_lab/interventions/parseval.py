"""Parseval regularisation: a penalty that keeps the rows of weight matrices orthogonal; decoupled, a separate step.

Legend: K runs, I inputs and O outputs of a layer, E experts, N the rows that become orthogonal.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.l2 import with_slope
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.network import Layer
from plasticity_lab.stacking.products import exact_sums, product, run_sums
from plasticity_lab.stacking.router import StackedRouter
from plasticity_lab.stacking.run_axis import aligned, beside

WIDTH = 64
"""Chung et al. chose their strengths at this width."""
LAYERS, ROWS = ("hidden", "all"), ("units", "shorter")
LARGEST = 0.5
"""The largest norm of a decoupled step, as a multiple of the weights: a longer one could turn the weights' signs."""


class Parseval(Intervention):
    """strength · (64 / O)² · Σ over layers of ‖M ∘ (W Wᵀ) − scale · I‖²_F, per run; W has a row for each unit.

    layers: hidden: all except output layers, or all; a head's router is never included. A convolution's W is the matrix
    from a patch to the channels; each expert has a separate W. rows: units: a row for each unit; shorter: for each
    input (Wᵀ W) in layers with more units than inputs: their rows cannot be orthogonal. normalised: whether each row is
    divided by its length first. groups: units are divided into that many groups, the last one smaller if it must be,
    and the mask M restricts the products to a group. by_width: whether the factor (64 / O)² is used.

    decoupled: false: the penalty is part of the loss; true: it takes a separate step, θ ← θ − lr · strength · ∇R,
    with the gradient at the weights before the update, so Adam does not rescale it. That step never exceeds half of the
    weights.

    Source: Chung et al. 2024, Section 3, and their code; decoupled: AdamO, Rosseau et al. 2026
    (docs/pages/reference/interventions/parseval.md).
    """

    operations = 600  # two products, 2 · 100 operations each at width 100, and exact sums

    def __init__(
        self,
        strength: float = 1e-3,
        scale: float = 2.0,
        layers: str = "hidden",
        rows: str = "units",
        groups: int = 1,
        normalised: bool = False,
        by_width: bool = True,
        decoupled: bool = False,
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.scale = check("intervention.scale", scale, above=0)
        self.layers = check("intervention.layers", layers, one_of=LAYERS)
        self.rows = check("intervention.rows", rows, one_of=ROWS)
        self.groups = check("intervention.groups", groups, at_least=1)
        self.normalised = normalised
        self.by_width = by_width
        self.decoupled = decoupled
        self.needs_step = decoupled
        self.leaves_parameters = not decoupled

    def penalty(self, now: Now) -> Tensor:
        """(K,): 0 if it is decoupled.

        Sums are exact and the gradient is computed outside of autograd, so the bits do not depend on the pack.
        """
        if self.decoupled:
            return torch.zeros_like(now.settings["strength"])
        total = now.settings["strength"].new_zeros(())
        for layer in self._chosen(now):
            weight = now.parameters[f"{layer.name}.weight"]
            off, slope = self._off(layer, weight.detach(), now.settings["scale"])
            total = total + run_sums(off * off) * self._factor(layer) + with_slope(weight, slope)
        return now.settings["strength"] * total

    def after_step(self, now: Now) -> State:
        """Its step, in place, if it is decoupled."""
        if not self.decoupled:
            return now.state
        pace_K = now.optimizer["lr"].float() * now.settings["strength"]
        for layer in self._chosen(now):
            weight, taken = (of[f"{layer.name}.weight"] for of in (now.parameters, now.step))
            _, slope = self._off(layer, weight - taken, now.settings["scale"])
            weight.sub_(_at_most_half(beside(pace_K, slope) * slope, weight - taken))
        return now.state

    def _chosen(self, now: Now) -> list[Layer]:
        """The active layers with orthogonal weights."""
        left_out = now.model.design.outputs.values() if self.layers == "hidden" else ()
        layers = [layer for layer in now.model.design.layers if not isinstance(layer, StackedRouter)]
        return [layer for layer in layers if f"{layer.name}.weight" in now.parameters and layer.name not in left_out]

    def _off(self, layer: Layer, weight: Tensor, scale_K: Tensor) -> tuple[Tensor, Tensor]:
        """M ∘ (W Wᵀ) − scale · I of a layer, (K, ...), and ∇R like its weight, (K, I, O) or (K, E, I, O) as stored."""
        each = weight.flatten(0, 1) if weight.dim() == 4 else weight
        of_inputs = self.rows == "shorter" and layer.outputs > each.shape[1]
        rows, count = (each, each.shape[1]) if of_inputs else (each.transpose(1, 2), layer.outputs)
        scales = scale_K.repeat_interleave(len(each) // len(scale_K)).view(-1, 1, 1)
        lengths = _lengths(rows) if self.normalised else None
        rows = rows if lengths is None else rows / lengths
        off, slope = _distance(rows, self._mask(count, rows), count, scales)
        if lengths is not None:
            slope = (slope - rows * exact_sums(slope * rows).unsqueeze(-1)) / lengths
        slope = (slope if of_inputs else slope.transpose(1, 2)).reshape(weight.shape)
        return off.view(len(weight), -1), slope * self._factor(layer)

    def _factor(self, layer: Layer) -> float:
        return (WIDTH / layer.outputs) ** 2 if self.by_width else 1.0

    def _mask(self, count: int, rows: Tensor) -> Tensor:
        """(N, N): 1 for two rows of one group, 0 for others and for padding."""
        row = torch.arange(rows.shape[1], device=rows.device)
        group = torch.where(row < count, row // -(-count // self.groups), -1 - row)
        return (group.unsqueeze(0) == group.unsqueeze(1)).float() * (row < count).float()


def _distance(rows: Tensor, mask: Tensor, count: int, scales: Tensor) -> tuple[Tensor, Tensor]:
    """M ∘ (X Xᵀ) − scale · I for rows X (M, N, R), (M, N, N), and the derivative of its squared norm by X."""
    more = [aligned(size) - size for size in rows.shape[1:]]
    padded = pad(rows, (0, more[1], 0, more[0]))
    identity = torch.diag((torch.arange(rows.shape[1], device=rows.device) < count).float())
    gram = product(padded, padded.transpose(1, 2).contiguous())[:, : rows.shape[1], : rows.shape[1]]
    off = mask * gram - scales * identity
    return off, 4 * product(pad(off, (0, more[0], 0, more[0])), padded)[:, : rows.shape[1], : rows.shape[2]]


def _lengths(rows: Tensor) -> Tensor:
    """The Euclidean length of each row, (M, N, 1); 1 for a row of zeros."""
    lengths = exact_sums(rows * rows).sqrt().unsqueeze(-1)
    return torch.where(lengths > 0, lengths, 1.0)


def _at_most_half(step: Tensor, weight: Tensor) -> Tensor:
    """The step, shortened to half of the weight's length if it is longer, for each run. A bound of ours."""
    longest, length = LARGEST * run_sums(weight * weight).sqrt(), run_sums(step * step).sqrt()
    return torch.where(beside(length > longest, step), step * beside(longest / length, step), step)
