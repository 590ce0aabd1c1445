"""The arguments of an intervention's methods: the situation of a pack.

Legend: K runs, B examples, E slices, * the shape of one example at a unit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import taking_part

Tensors = Mapping[str, Tensor]
State = dict[str, Tensor]
Examples = Callable[[int], Iterable[tuple[Tensor, Tensor]]]
"""(most) → at most that many examples of the finished task, evenly spread over it, in batches: inputs as floats
(K, B, D), and answers: labels (K, B), or actions (K, B) or (K, B, A)."""
LogLikelihood = Callable[[Tensors, Tensor], Tensor]
"""(outputs, name → (K, B, O); answers) → the logarithm of the answers' likelihood, (K, B)."""


class ComingData(Protocol):
    """The data of the task that begins, before its first update. Only agents that provide `COMING` have them."""

    def gradients(self, parameters: Tensors, batch: int, most: int | None = None) -> Iterator[Tensors]:
        """The gradients of the agent's loss, one batch after another: name → (K, ...) like the parameters.

        A batch's loss is the mean over its examples, without penalties, in evaluation mode: randomised activations have
        their mean slope, and no statistics change. Each run's stream_seed decides the order of its examples.
        parameters: the gradients are taken at these parameters. batch: examples of a batch; the last batch may have
        fewer. most: the largest number of examples; None: all.
        """
        ...


class Penalty(NamedTuple):
    """A penalty with values that `after_step` of the same update reads, so that nothing is computed twice.

    total (K,). noted: name → (K, ...), without a gradient (`Now.noted`).
    """

    total: Tensor
    noted: Tensors = {}


def noting(penalty: Tensor | Penalty) -> Penalty:
    """What `Intervention.penalty` returns, as a `Penalty`."""
    return penalty if isinstance(penalty, Penalty) else Penalty(penalty)


Divergence = Callable[[Tensors, Tensors], Tensor]
"""(outputs, reference: name → (K, B, O) both) → how far an agent's outputs are from the reference, (K, B). The gradient
reaches the outputs alone."""
Forward = Callable[[Tensors, Tensor], tuple[Tensors, Tensors]]
"""(parameters, inputs (K, B, D)) → outputs, name → (K, B, O), and activations, unit → (K, B, *), in evaluation mode."""


class Now(NamedTuple):
    """The arguments of an intervention's methods. A field that a method does not receive keeps its default.

    model: the functions of the network, its layers and units.
    parameters: the active ones, (K, ...), without frozen ones; a forward pass takes `{**now.frozen, **now.parameters}`.
    frozen: parameters that nothing trains, and the running statistics of batch normalisation.
    moments: kind → the same names. Only these may be changed.
    settings: the intervention's settings on the run axis, name → (K,). state: the intervention's state.
    keys (K, 2), count (): for random numbers inside a compiled update, `uniforms(now.keys, now.count, n)`.
    updates: the same count as a number, outside of compiled code; never reset, unlike the optimizer's count.
    seeds: the init_seed of each run, for random numbers outside: `host_stream(seed, purpose, now.updates)`.
    gradients: the update's gradients. hidden: its activations, unit → (K, B, *), if the intervention watches units.
    optimizer: the optimizer's settings, name → (K,) float64; step: the optimizer's step of this update, the parameters
        after it minus those before. Both only for a class that declares `needs_step`; step only in `after_step`.
    x, outputs, hidden, forward: in `penalty`, if the intervention watches outputs: the inputs of the batch (K, B, D),
        the network's outputs, name → (K, B, O), and activations for them, not computed twice; and a forward pass under
        any parameters, for example those at birth.
    loss, divergence: in the same cases, the agent's loss of each example, (K, B), for actors the policy's; and the
        agent's measure of the distance between two outputs.
    second: the inputs of a second batch of the same shape, (K, B, D), if the intervention requires one. It is drawn
        from the same data under another key. Its rows have the same weights.
    round: the number of updates that learn from the same data, such as a rollout; 1 if every update draws new data.
    noted: in `after_step`, the values that the penalty has noted. before: the network before the optimizer's step, if
        the intervention declares `needs_before`. It is a copy, and may become a part of the state.
    weights (B,): the weight of each row of the batch in a mean over examples; 0 for padding rows; None: equal.
    task: the position of the task that begins or has ended.
    examples, log_likelihood: the data and likelihood of the ended task, if the agent provides them.
    coming: in `before_task`, the data of the task that begins, if the agent provides them.
    activation: the settings of the activation on the run axis, and body: the active environment, None if there is only
        one; both for `Model.forward`.
    targets: outside of an update, the parameters of target networks, like `parameters`. They may be changed in place;
        otherwise they follow at their own time.
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
    x: Tensor | None = None
    outputs: Tensors = {}
    forward: Forward | None = None
    loss: Tensor | None = None
    divergence: Divergence | None = None
    second: Tensor | None = None
    round: int = 1
    noted: Tensors = {}
    before: Tensors = {}
    optimizer: Tensors = {}
    step: Tensors = {}
    weights: Tensor | None = None
    task: int = 0
    examples: Examples | None = None
    log_likelihood: LogLikelihood | None = None
    coming: ComingData | None = None
    activation: Tensors = {}
    body: str | None = None
    targets: Sequence[Tensors] = ()
    frozen: Tensors = {}

    @property
    def network(self) -> Tensors:
        """The parameters and the running statistics: a copy of the network includes both."""
        of_batches = {name: value for name, value in self.frozen.items() if name in self.model.statistics}
        return {**self.parameters, **of_batches}

    @property
    def units(self) -> list[Unit]:
        """The units of the model that can be reset, without the units of idle environments."""
        return [unit for unit in self.model.units if taking_part(unit, self.parameters) and not unit.is_sum]

    def mean_over_batch(self, values: Tensor) -> Tensor:
        """(K,): the mean over the examples of the sum of each one's values (K, B, ...), without padding rows.

        The last bits of the result may depend on the pack. Its gradient does not.
        """
        values_KBN = values.flatten(2)
        weights = 1 / values_KBN.shape[1] if self.weights is None else self.weights.view(1, -1, 1)
        return (values_KBN * weights).flatten(1).sum(dim=1)
