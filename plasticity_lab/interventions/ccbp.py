"""Continuous continual backprop: all units are partly reset, the more the smaller their gradients are.

Legend: K runs, N units, channels or experts of a place, V values that it passes on, I inputs and O outputs of a layer.
"""

import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import OF_INPUTS, OF_UNITS, layer_inputs, outgoing_axis, passed_on
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.elementary import sigmoid
from plasticity_lab.stacking.products import exact_sums, folded, row_times
from plasticity_lab.stacking.run_axis import beside

LEAST = 1e-8
"""A smaller mean gradient of a place is replaced by this value before a division."""


class ContinuousContinualBackprop(Intervention):
    """After every `every` updates, resets the part α = strength · sigmoid(−sharpness · (u − 1)) of each unit.

    u is a unit's utility: a running mean with the rate `decay`. Its terms are the mean |gradient| of incoming weights
    plus the |gradient| of the bias, divided by the mean over the units of the place. A reset moves incoming weights by
    the part α to newly drawn ones and biases to their first values, multiplies outgoing weights by 1 − α, and moves u
    to 1; place by place, from the first layer to the last. Scales, shifts and noise deviations of the unit move to
    their first values too. Moments stay. An average unit has α = strength / 2. An expert is one unit. With strength 0
    nothing changes.

    Source: McCutcheon, Chatzaroulas & Fallah 2026, Algorithm 1, by the port ccbp-pytorch 0.0.3
    (docs/pages/reference/interventions/ccbp.md).  State: two numbers a unit.
    """

    needs_gradients = True
    operations = 15
    capped = frozenset({"every"})

    def __init__(
        self, strength: float = 0.015, sharpness: float = 16.0, decay: float = 0.99, every: int = 1000
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, at_most=1)
        self.sharpness = check("intervention.sharpness", sharpness, at_least=0)
        self.decay = check("intervention.decay", decay, at_least=0, below=1)
        self.every = check("intervention.every", every, at_least=1)

    def on_run_axis(self) -> dict[str, float]:
        """Strength, sharpness and 1 − decay: the difference of rounded numbers would be wrong in its sixth digit."""
        return {"strength": self.strength, "sharpness": self.sharpness, "rate": 1 - self.decay}

    def start(self, now: Now) -> State:
        """For each place, by name: `utility` (K, N), which starts at 1, and `bias`, the first biases as stored."""
        state: State = {}
        for unit in now.units:
            bias = now.parameters[f"{unit.incoming}.bias"]
            state[f"{unit.name}.utility"] = bias.new_ones(len(bias), unit.produced[0])
            state[f"{unit.name}.bias"] = bias.clone()
        return state

    def after_step(self, now: Now) -> State:
        """Updates the utilities of the active places."""
        state = dict(now.state)
        for unit in now.units:
            size = _gradient_size(now, unit)
            share = size.new_full((unit.produced[0], 1), 1 / unit.produced[0])
            mean = row_times(size, share.expand(len(size), -1, -1))[:, 0].clamp(min=LEAST)
            utility = state[f"{unit.name}.utility"]
            rate = beside(now.settings["rate"], utility)
            state[f"{unit.name}.utility"] = utility + rate * (size / beside(mean, size) - utility)
        return state

    def every_n_updates(self, now: Now) -> State:
        """Resets parts of all units, in place."""
        state = dict(now.state)
        for unit in now.units:
            utility = state[f"{unit.name}.utility"]
            strength, sharpness = (beside(now.settings[name], utility) for name in ("strength", "sharpness"))
            alpha_KN = strength * sigmoid(-sharpness * (utility - 1))
            for run, (share, alpha_N) in enumerate(zip(now.settings["strength"].tolist(), alpha_KN, strict=True)):
                if share > 0:
                    self._reset(now, run, unit, alpha_N)
            state[f"{unit.name}.utility"] = utility + alpha_KN * (1 - utility)
        return state

    def _reset(self, now: Now, run: int, unit: Unit, alpha_N: Tensor) -> None:
        """Resets parts of the units of one place in one run, in place."""
        draw = host_stream(now.seeds[run], "ccbp", now.updates, unit.name)
        fresh = now.model.start_of(now.model.design.layer(unit.incoming), run, draw)
        for name in now.parameters.keys() & {f"{unit.incoming}.{part}" for part in OF_UNITS}:
            own, goal = now.parameters[name][run], torch.from_numpy(fresh[name]).to(alpha_N.device)
            if name == f"{unit.incoming}.bias":
                goal = now.state[f"{unit.name}.bias"][run]
            if unit.kind == "expert":
                share = alpha_N.view(-1, 1, 1)
            else:
                units = len(alpha_N)
                own, goal, share = own[..., :units], goal[..., :units], alpha_N
            own.copy_(torch.lerp(own, goal, share))
        for layer in unit.outgoing:
            for name in now.parameters.keys() & {f"{layer}.{part}" for part in OF_INPUTS}:
                own, axis = now.parameters[name][run], outgoing_axis(now.model, unit, layer)
                kept = _kept_of_rows(now, unit, layer, 1 - alpha_N)
                own.mul_(kept.view(*(-1 if at == axis else 1 for at in range(own.dim()))))


def _gradient_size(now: Now, unit: Unit) -> Tensor:
    """Mean |gradient| of each unit's incoming weights, plus the |gradient| of its bias, (K, N).

    For an expert both are means over all its numbers. Exact sums of a layer's columns would make a compiled update
    twice as long: products of matrices have the same bits in any pack, too.
    """
    weight, bias = (now.gradients[f"{unit.incoming}.{part}"].abs() for part in ("weight", "bias"))
    if unit.kind == "expert":
        outputs = unit.produced[-1]
        sizes = exact_sums(folded(weight).flatten(-2)) * (1 / (weight.shape[-2] * outputs))
        return sizes + exact_sums(bias.flatten(-2)) * (1 / outputs)
    each = weight.new_full((weight.shape[1],), 1 / weight.shape[1]).expand(len(weight), -1)
    return (row_times(each, weight) + bias[:, 0])[:, : unit.produced[0]]


def _kept_of_rows(now: Now, unit: Unit, layer: str, kept_N: Tensor) -> Tensor:
    """The factor of each row of a following layer's weight, along `outgoing_axis`.

    If an activation passes on several values for a unit, each has the unit's factor; a value that two units make
    (gates) has the product of both factors.
    """
    passed = passed_on(now.model, unit)
    if passed < len(kept_N):
        kept_V = kept_N.view(-1, passed).prod(dim=0)
    else:
        kept_V = kept_N.repeat(passed // len(kept_N))
    return kept_V.repeat_interleave(layer_inputs(now.model, unit, layer) // passed)
