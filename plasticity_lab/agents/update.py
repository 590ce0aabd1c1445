"""The update that all agents share: gradient, optimizer step and intervention, for a loss given by the agent.

Legend: K runs, * any shape.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from plasticity_lab.agents.optimizer_step import (
    Settings,
    TrainState,
    UpdateInputs,
    by_count,
    optimizer_step_of,
    scheduled,
    trained,
)
from plasticity_lab.agents.parts import Parts
from plasticity_lab.interventions.intervention import SECOND_BATCH, Intervention
from plasticity_lab.interventions.now import Now, State, Tensors, noting
from plasticity_lab.kernels import steps_on_gpu
from plasticity_lab.kernels.operators import RANDOM_NUMBERS
from plasticity_lab.kernels.through import Tapped, ThroughKernels, prepare, through
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.device import uniforms
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.normed import linear_of
from plasticity_lab.stacking.optimizer import Optimizer, clipped
from plasticity_lab.stacking.update_rule import UpdateRule


class LossOutput(NamedTuple):
    """Output of a loss.

    total: any shape. It is summed before the backward pass, which yields each run's gradient. Run k's part must
        therefore depend on run k alone.
    measured: name → (K, ...), for the agent.
    hidden: the activations, unit → (K, ...), as returned by `Model.forward`, together with the network's auxiliary
        losses. The update adds those losses to the total.
    weights: weights of the batch's rows, (B,), as in `Now.weights`; None if all rows are examples.
    outputs: the network's outputs for the batch, name → (K, B, O), for interventions that watch them.
    each: the loss of each example without its weight, (K, B), for the same interventions; for an actor the policy's.
    statistics: running statistics after the batch, name → (K, ...), in the loss of an update if the network has any.
    """

    total: Tensor
    measured: Tensors
    hidden: Tensors
    weights: Tensor | None = None
    outputs: Tensors = {}
    each: Tensor | None = None
    statistics: Tensors = {}


Loss = Callable[[Tensors, Settings, Tensors], LossOutput]
"""(parameters, settings, batch) → `LossOutput`. A free function of the model: it must not capture a learner, because a
compiled graph would keep the learner's tensors. Sums over examples belong on the host: inside a compiled update, the
last bit of a sum may depend on the pack's width.
"""
Update = Callable[[TrainState, UpdateInputs, Tensors], tuple[State, Tensors]]
SECOND = "second x"
"""Batch entry with the inputs of a second batch (`Now.second`), if the intervention requires one."""
Clip = Callable[[Tensors, Tensors], dict[str, Tensor]]
"""(gradients, the agent's settings) → gradients, applied before the optimizer; each run is clipped separately."""


def clip_to(max_norm: float | None) -> Clip | None:
    """Scales each run's gradients to a norm of at most `max_norm`; None: no limit."""
    if max_norm is None:
        return None

    def clip(gradients: Tensors, settings: Tensors) -> dict[str, Tensor]:
        some = next(iter(gradients.values()))
        return clipped(gradients, some.new_full(some.shape[:1], max_norm))

    return clip


def fuses(optimizer: Optimizer, intervention: Intervention, clipped: bool) -> bool:
    """Whether kernels also take the optimizer step, which requires that no other part uses the gradients.

    clipped: whether gradients are clipped.
    """
    return optimizer.kernel is not None and not clipped and not intervention.takes_gradients()


def called_kernels(model: Model, optimizer: Optimizer, intervention: Intervention, clipped: bool) -> list[str]:
    """The parts of the kernels that an update calls in kernel mode, if each row of its batch is an example.

    clipped: whether gradients are clipped.
    """
    fused = model.network.rows_are_examples and fuses(optimizer, intervention, clipped)
    step = [optimizer.kernel] if fused and optimizer.kernel is not None else []
    of_tensors = ["steps"] if step or optimizer.kernel_of_tensors is not None else []
    draws = [RANDOM_NUMBERS] if isinstance(optimizer, UpdateRule) and optimizer.draws else []
    return [*model.kernel_parts, *step, "linear_gradients", *of_tensors, *draws]


def of_kernels(parts: Parts, models: Sequence[Model], clipped: bool = False) -> dict[str, Any]:
    """The fields of a `Cost` for an agent with kernels."""
    optimizer, intervention = parts.optimizers[0], parts.interventions[0]
    called = [part for model in models for part in called_kernels(model, optimizer, intervention, clipped)]
    return {"kernels": True, "kernel_parts": [*dict.fromkeys(called), "log_softmax"]}  # nearly all losses call it


def update_of(
    model: Model,
    loss: Loss,
    optimizer: Optimizer,
    intervention: Intervention,
    clip: Clip | None = None,
    kernels: bool = False,
    examples: str | None = None,
    body: str | None = None,
    divergence: Callable[[Tensors, Tensors, Tensors], Tensor] | None = None,
    in_round: int = 1,
) -> Update:
    """The update as a function of tensors alone: (train state, inputs, batch) → (the intervention's next state, the
    loss's measurements).

    kernels: whether our own kernels of a CPU compute linear layers.
    examples: the batch entry, (K, B, ...), that passes through each layer once; None if no entry does. With kernels,
        and on a GPU, one also takes the optimizer step of linear layers then, unless other parts need their gradients.
    body: the environment of the batch; None if there is only one.
    divergence, in_round: `Now.divergence`, as a function of the agent's settings and both outputs, and `Now.round`, for
        interventions that watch outputs. The batch then has `SECOND`, if the intervention requires it.
    """
    optimize = optimizer_step_of(model, optimizer, intervention)
    once = examples is not None and model.network.rows_are_examples
    fused = once and fuses(optimizer, intervention, clip is not None)
    if kernels:
        prepare(called_kernels(model, optimizer, intervention, clipped=clip is not None or not once), at_once=False)
    layers = [layer for each in model.design.layers if isinstance(layer := linear_of(each), StackedLinear)]

    def taps_of(train: TrainState, batch: Tensors) -> dict[str, Tensor]:
        """Zeros (K, B, O) for each layer if a kernel takes the layers' step; otherwise none."""
        if examples is None or not fused:
            return {}
        rows, some = batch[examples].shape[:2], next(iter(train.parameters.values()))
        if not (kernels or steps_on_gpu.serves(optimizer.kernel, some, rows[1])):
            return {}
        return {
            layer.name: torch.zeros(*rows, layer.padded, device=batch[examples].device)
            for layer in layers
            if f"{layer.name}.weight" in train.parameters
        }

    def watched(output: LossOutput, train: TrainState, inputs: UpdateInputs, batch: Tensors) -> dict[str, Any]:
        """The fields of `Now` for a penalty that watches outputs."""
        assert examples is not None, "the agent provides OUTPUTS without a batch that passes through the network once"
        forward = partial(_forward, model, inputs.settings["activation"], body, kernels, model.frozen(train.parameters))
        hidden, x = _activations(model, output.hidden), batch[examples]
        found = {"x": x, "outputs": output.outputs, "hidden": hidden}
        apart = None if divergence is None else partial(divergence, inputs.settings["agent"])
        found |= {"loss": output.each, "divergence": apart, "second": batch.get(SECOND), "round": in_round}
        return {**found, "weights": output.weights, "forward": forward}

    def total(
        parameters: Tensors, taps: Tensors, learned: Tensors, train: TrainState, inputs: UpdateInputs, batch: Tensors
    ) -> tuple[Tensor, tuple[Tensors, Tensors, Tensors, Tensors, Tensors, Tensors]]:
        parameters = {**train.parameters, **parameters}
        layered = ThroughKernels(parameters, taps) if kernels else Tapped(parameters, taps) if taps else parameters
        output = loss(layered, inputs.settings, batch)
        now = _now(model, parameters, train, inputs)
        if intervention.watches_outputs:
            now = now._replace(state={**train.state, **learned}, **watched(output, train, inputs, batch))
        hidden = _activations(model, output.hidden) if intervention.watches_units else {}
        rows = {} if output.weights is None else {"weights": output.weights}
        layer_inputs = layered.given if isinstance(layered, Tapped) else {}
        total = output.total.sum() + (term := noting(intervention.penalty(now))).total.sum()
        for name in model.losses:
            total = total + output.hidden[name].sum()
        return total, (output.measured, hidden, rows, layer_inputs, term.noted, output.statistics)

    def update(train: TrainState, inputs: UpdateInputs, batch: Tensors) -> tuple[State, Tensors]:
        inputs = scheduled(optimizer, inputs)
        taps = taps_of(train, batch)
        names = {f"{layer}.{part}" for layer in taps for part in ("weight", "bias")}
        others = {name: value for name, value in model.learned(train.parameters).items() if name not in names}
        learned = {name: train.state[name] for name in intervention.learned}
        gradients_of = torch.func.grad(total, argnums=(0, 1, 2), has_aux=True)
        (gradients, deltas, of_learned), (measured, hidden, rows, layer_inputs, noted, statistics) = gradients_of(
            others, taps, learned, train, inputs, batch
        )
        if clip is not None:
            gradients = clip(gradients, inputs.settings["agent"])
        keeps = intervention.needs_step or intervention.needs_before
        kept = _now(model, train.parameters, train, inputs).network if keeps else {}
        before = {name: value.clone() for name, value in kept.items()}
        optimize(train, gradients, inputs)
        weights = {f"{name}.weight": x for name, x in layer_inputs.items()}
        for own, corrections in by_count(model, inputs, list(weights)):
            own_inputs = {name.removesuffix(".weight"): weights[name] for name in own}
            if own_inputs:
                settings = inputs.settings["optimizer"]
                optimizer.update_linear(own_inputs, deltas, train.parameters, train.moments, settings, corrections)
        for name, value in statistics.items():
            train.parameters[name].copy_(value)
        if learned:
            train = train._replace(state=trained(optimizer, train.state, learned, of_learned, inputs))
        shown: dict[str, Any] = {"before": before, "noted": noted, "round": in_round}
        if intervention.needs_step:
            shown["step"] = {name: train.parameters[name] - value for name, value in before.items()}
            shown["optimizer"] = inputs.settings["optimizer"]
        now = _now(model, train.parameters, train, inputs, gradients=gradients, hidden=hidden, **rows, **shown)
        return intervention.after_step(now), measured

    return update


def _forward(
    model: Model, activation: Tensors, body: str | None, kernels: bool, frozen: Tensors, parameters: Tensors, x: Tensor
) -> tuple[Tensors, Tensors]:
    """A `Now.forward`. activation: the settings of the activation."""
    outputs, hidden = model.forward(through({**frozen, **parameters}, kernels), activation, x, None, body)
    return outputs, _activations(model, hidden)


def _now(model: Model, parameters: Tensors, train: TrainState, inputs: UpdateInputs, **more: Any) -> Now:
    """The intervention's view of an update. parameters: the current ones. more: further fields of `Now`."""
    own, learned = inputs.settings["intervention"], model.learned(parameters)
    frozen = model.frozen(train.parameters)
    return Now(model, learned, own, train.state, train.moments, inputs.keys, inputs.count, frozen=frozen, **more)


def _activations(model: Model, hidden: Tensors) -> Tensors:
    """The activations of a forward pass, without the network's auxiliary losses in the same dictionary."""
    if not model.design.losses:
        return hidden
    return {name: value for name, value in hidden.items() if name not in model.losses}


def example_losses(loss: Loss, settings: Settings) -> Callable[[Tensors, Tensors], Tensor]:
    """The loss outside of an update: (parameters, batch) → the loss of each example, (K, B).

    The batch's weights are 1. The eager function can be differentiated twice. A compiled one cannot: its elementary
    functions have first derivatives only.
    """

    def losses(parameters: Tensors, batch: Tensors) -> Tensor:
        return loss(parameters, settings, batch).total

    return losses


def takes_second(intervention: Intervention) -> bool:
    """Whether an update for this intervention has a second batch."""
    return SECOND_BATCH in intervention.requires


def row_of(rows: Tensors, at: Tensor) -> dict[str, Tensor]:
    """One row of tables with a row for each update. at: its index, (1,)."""
    return {name: values.index_select(0, at).squeeze(0) for name, values in rows.items()}


def drawn(
    model: Model, keys: Mapping[str, Tensor], count: Tensor, batch: int, body: str | None = None
) -> dict[str, Tensor]:
    """The random numbers that `Model.forward` takes in training, for `batch` rows: "drawn" if the activation is
    randomised, and "noise" if layers are noisy.

    keys: "activation" and "noise", (K, 2) each (see `PackedNetwork.step_keys`). count (): a new one for each pass.
    """
    numbers = {}
    if draws := model.draws(batch, body):
        numbers["drawn"] = uniforms(keys["activation"], count, draws)
    if noise := model.noise(batch, body):
        numbers["noise"] = uniforms(keys["noise"], count, noise)
    return numbers
