"""The situation of a pack that an intervention is given.

Legend: K runs, B examples, E slices, * the shape of one example at a unit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import taking_part

Tensors = Mapping[str, Tensor]
State = dict[str, Tensor]
Examples = Callable[[int], Iterable[tuple[Tensor, Tensor]]]
"""At most that many of the finished task's examples, evenly spread over them, some at a time: inputs as floats
(K, B, D), and what was answered: labels (K, B), or actions (K, B) or (K, B, A)."""
LogLikelihood = Callable[[Tensors, Tensor], Tensor]
"""A network's outputs, name → (K, B, O), and answers → how likely it finds these, as logarithms, (K, B)."""


class Now(NamedTuple):
    """What an intervention sees. What a verb is not given stands at its default.

    model: the network's functions, its layers and units. parameters, moments: those that are active, (K, ...), moments
    by their kind; only these may be changed. settings: its own on the run axis, name → (K,). state: its own.
    keys (K, 2), count (): for random numbers inside a compiled update, `uniforms(now.keys, now.count, n)`. updates: as
    count, a plain number, outside of it; never begun anew, unlike the optimizer's. seeds: the runs' init_seeds, for
    random numbers outside: `host_stream(seed, purpose, now.updates)`. gradients: of the update. hidden: its
    activations, unit → (K, B, *), if the intervention watches units. weights (B,): of the batch's rows in a mean over
    its examples, 0 where a row only fills up the batch; None: all rows count alike. task: position of the one that
    begins or has ended; examples, log_likelihood: of the one that has, if provided. activation: its settings on
    the run axis, name → (K,); body: the active one, None where there is one alone: what `Model.forward` is given.
    targets: outside of an update, the parameters of networks that follow this one, as `parameters`; they may be changed
    in place too, and follow at their own time where they are not.
    """

    model: Model
    parameters: Tensors
    settings: Tensors
    state: State
    moments: Mapping[str, Tensors] = {}
    keys: Tensor | None = None
    count: Tensor | None = None
    updates: int = 0
    seeds: Sequence[int] = ()
    gradients: Tensors = {}
    hidden: Tensors = {}
    weights: Tensor | None = None
    task: int = 0
    examples: Examples | None = None
    log_likelihood: LogLikelihood | None = None
    activation: Tensors = {}
    body: str | None = None
    targets: Sequence[Tensors] = ()

    @property
    def units(self) -> list[Unit]:
        """The model's units but those of idle bodies."""
        return [unit for unit in self.model.units if taking_part(unit, self.parameters) and not unit.is_sum]
