"""Shared parts of interventions that reset units: statistics of units in an update, resets, and their count.

Statistics are parts of the compiled update. Their sums are exact (`exact_sums`), or for pixels a matrix product, so
that their bits do not depend on the pack. The former is cheaper in compiled code, the latter if there is much to add.

Legend: K runs, B rows of a batch, V values (of channels: maps) that an activation passes on, N units or channels of a
place, * the pixels of a map.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State, Tensors
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import Units, cut_off, forget, layer_inputs, outgoing_axis, passed_on, start_anew
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.measures import Column, Measure
from plasticity_lab.stacking.products import exact_sums, row_times
from plasticity_lab.stacking.run_axis import beside

OUTGOING = ("keep", "zero")


class Resets(Intervention):
    """An intervention that counts its resets: its state has "resets", (K,), the number so far."""

    columns: ClassVar = (
        Column(Measure("resets", "Resets so far", "count", places=0, short="resets"), "resets", {"task": "value"}),
    )

    def measured(self, state: State) -> Tensors:
        """The count, "resets" (K,)."""
        return {"resets": state["resets"]}


def none_yet(now: Now) -> Tensor:
    """A count of zero for each run, (K,)."""
    first = next(iter(now.parameters.values()))
    return torch.zeros(len(first), dtype=torch.int64, device=first.device)


def zeros_of_units(now: Now, *names: str) -> State:
    """Zeros for each unit, "<place>.<name>" → (K, N)."""
    state: State = {}
    for unit in now.units:
        like = now.parameters[f"{unit.incoming}.weight"]
        for name in names:
            state[f"{unit.name}.{name}"] = like.new_zeros(like.shape[0], unit.produced[0])
    return state


Chosen = Sequence[tuple[Unit, Units]]
"""Places of a network, each with the units to reset there."""


def reset_due(now: Now, purpose: str, choose: Callable[[State, int], Chosen], outgoing: str = "zero") -> State:
    """Resets units in all runs with a "due", (K,), that is not 0, sets it to 0, and returns the state.

    choose: (a state that it may change in place, run) → the units to reset. purpose, outgoing: see `reset_units`.
    """
    due = now.state["due"].cpu().numpy()
    if not due.any():
        return now.state
    state = {name: value.clone() for name, value in now.state.items()}
    for run in due.nonzero()[0].tolist():
        state["resets"][run] += reset_units(now, purpose, run, choose(state, run), outgoing)
    state["due"].zero_()
    return state


def reset_units(now: Now, purpose: str, run: int, chosen: Chosen, outgoing: str = "zero") -> int:
    """Resets chosen units of one run in place, and returns their number.

    Incoming weights are fresh, biases and moments are zero.

    purpose: key of the random numbers, together with the number of updates and the name of the place. outgoing: whether
    outgoing weights become zero too (zero), or stay with their moments (keep). If units of two successive layers are
    chosen, the weights between them count as outgoing.
    """
    chosen = [(unit, units) for unit, units in chosen if len(units)]
    for unit, units in chosen:
        draw = host_stream(now.seeds[run], purpose, now.updates, unit.name)
        start_anew(now.model, now.parameters, run, unit, units, draw, biases=False)
    for unit, units in chosen:
        if outgoing == "zero":
            cut_off(now.model, now.parameters, run, unit, units)
        forget(now.model, now.moments, run, unit, units, outgoing=outgoing == "zero")
    return sum(len(units) for _, units in chosen)


def of_units(values_KV: Tensor, unit: Unit) -> Tensor:
    """Statistics of the values that a place passes on → statistics of its units, (K, F, N); unit n has [:, :, n].

    F is 1 for most activations, and 2 if each unit passes on two values. For gated units (two per value), both get that
    value's statistic.
    """
    produced, passed = unit.produced[0], values_KV.shape[1]
    if passed < produced:
        values_KV = values_KV.repeat(1, produced // passed)
    return values_KV.unflatten(1, (-1, produced))


def fired(h: Tensor, weights: Tensor | None, unit: Unit, epsilon_K: Tensor) -> Tensor:
    """Whether any value of a unit, on any example of the batch and at any pixel, is larger than epsilon: (K, N) bool.

    h (K, B, V, *); weights: `Now.weights`.
    """
    largest = h.abs() if h.dim() == 3 else _largest_pixel(h.abs())
    if weights is not None:
        largest = torch.where(weights.view(1, -1, 1) > 0, largest, 0.0)
    largest_KV = largest.amax(dim=1)
    return of_units(largest_KV > beside(epsilon_K, largest_KV), unit).any(dim=1)


def _largest_pixel(size: Tensor) -> Tensor:
    """The maximum over the pixels, (K, B, V).  size (K, B, V, *).

    Halves are compared with each other, as long rows: torch's own maximum takes 15 times as long with channels last.
    """
    size_KBPV = size.movedim(2, -1).flatten(2, -2)
    while size_KBPV.shape[2] % 2 == 0:
        half = size_KBPV.shape[2] // 2
        size_KBPV = torch.maximum(size_KBPV[:, :, :half], size_KBPV[:, :, half:])
    return size_KBPV.amax(dim=2)


def mean_size(h: Tensor, weights: Tensor | None) -> Tensor:
    """The mean of |h| over the batch's examples and the pixels, (K, V).  h (K, B, V, *); weights: `Now.weights`."""
    examples, pixels = h.shape[1], h[0, 0, 0].numel()
    each_B = h.new_full((examples,), 1 / examples) if weights is None else weights
    if pixels == 1:
        return exact_sums((h.abs().flatten(2) * each_B.view(1, -1, 1)).transpose(1, 2))
    each_R = (each_B / pixels).repeat_interleave(pixels)  # a row is a pixel of an example, as with channels last
    size_KRV = h.detach().abs().movedim(2, -1).flatten(1, -2)
    return row_times(each_R.expand(len(h), -1), size_KRV)


def examples_in(h: Tensor, weights: Tensor | None) -> Tensor | int:
    """The number of rows of a batch that are examples, () or a number.  h (K, B, V, *); weights: `Now.weights`."""
    return h.shape[1] if weights is None else (weights > 0).sum()


def outgoing_size(model: Model, parameters: Mapping[str, Tensor], unit: Unit) -> Tensor:
    """For each value that the place passes on: Σ |w| over its weights in the active following layers, (K, V)."""
    passed, total = passed_on(model, unit), []
    for layer in unit.outgoing:
        if f"{layer}.weight" in parameters:
            axis = 1 + outgoing_axis(model, unit, layer)
            weight = parameters[f"{layer}.weight"].movedim(axis, 1)[:, : layer_inputs(model, unit, layer)]
            total.append(exact_sums(weight.abs().unflatten(1, (passed, -1)).flatten(2)))
    return torch.stack(total).sum(dim=0) if len(total) > 1 else total[0]
