"""What interventions that reset have in common: how a unit begins anew, and how resets are counted.

Legend: K runs.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, State, Tensors
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import Units, cut_off, forget, start_anew
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.measures import Column, Measure

OUTGOING = ("keep", "zero")


class Resets(Intervention):
    """An intervention that resets something now and then, and whose state has "resets", (K,): how many so far."""

    columns: ClassVar = (
        Column(Measure("resets", "Resets so far", "count", places=0, short="resets"), "resets", {"task": "value"}),
    )

    def measured(self, state: State) -> Tensors:
        """The count, "resets" (K,)."""
        return {"resets": state["resets"]}


def none_yet(now: Now) -> Tensor:
    """The count of resets at the start, (K,)."""
    first = next(iter(now.parameters.values()))
    return torch.zeros(len(first), dtype=torch.int64, device=first.device)


Chosen = Sequence[tuple[Unit, Units]]
"""Places of a network, and which units of each."""


def reset_due(now: Now, purpose: str, choose: Callable[[State, int], Chosen], outgoing: str = "zero") -> State:
    """The state after the resets of those runs that "due", (K,), counts any for; it begins at 0 again.

    choose: (a state that it may change in place, run) → the units to reset. purpose, outgoing: as of `reset_units`.
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
    """Resets chosen units of one run, in place → how many: fresh weights in, as their layer started; biases and moments
    zero.

    chosen: places, and which units of each. purpose: of the random numbers, with the updates so far and the place's
    name. outgoing: whether the weights out of the units become zero too (zero), or stay with their moments (keep).
    Where units of two successive layers are chosen, what is between them is a weight out.
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
