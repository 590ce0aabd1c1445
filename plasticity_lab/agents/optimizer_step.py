"""One optimizer step of a network: the tensors that it needs, and its calls of the optimizer.

Legend: K runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import State, Tensors
from plasticity_lab.networks.layer_kinds import hidden_layers
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.units import real_columns
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import beside
from plasticity_lab.stacking.update_rule import RuleInputs, UpdateRule

Settings = Mapping[str, Tensors]
OF_BODY = "body."
OF_CHANGE = "change."
BY_STEP = "by_step"
"""Key in the settings for parameters with slices that were reset at different times. Maps to the optimizer's
corrections for its first T steps, name → (T, ...).
"""
RATE = "rate"
"""Key in the corrections if the learning rate has a schedule: the factor of each run's rate, (K,) float64."""
OF_RULE = "rule"
"""Key in the settings for an update rule that draws. Maps "keys" to the keys of its random numbers, (K, 2)."""


class TrainState(NamedTuple):
    """The tensors that an update changes: parameters, moments and the optimizer's other state (`rule`, see
    `Optimizer.start_state`) in place; the intervention's new `state` is returned.

    Contains active tensors only. Parameters of idle environments are left out, so no gradient, penalty or moment
    changes them.
    """

    parameters: Tensors
    moments: Mapping[str, Tensors]
    state: State
    rule: Mapping[str, Tensors] = {}


class UpdateInputs(NamedTuple):
    """Tensors that an update reads; the same for all agents.

    settings: part → name → (K,).
    keys: the keys of the intervention's random numbers, (K, 2).
    count (): number of earlier updates.
    corrections: the optimizer's corrections for this update. Keys with the prefix `OF_BODY` hold the corrections for
        parameters that only the active environment has; these have a separate step count. So have parameters that start
        again at a change of the network: `OF_CHANGE`, or both prefixes.
    """

    settings: Settings
    keys: Tensor
    count: Tensor
    corrections: Tensors


OptimizerStep = Callable[[TrainState, Tensors, UpdateInputs], None]
"""(train state, gradients, inputs): parameters, moments and the optimizer's other state are changed in place."""


def scheduled(optimizer: Optimizer, inputs: UpdateInputs) -> UpdateInputs:
    """The inputs with the learning rates of this update, by the schedule; unchanged without a schedule.

    Corrections that contain the rate are multiplied too (`Optimizer.of_rate`), also those for slices that were reset.
    """
    factor_K = inputs.corrections.get(RATE)
    if factor_K is None:
        return inputs

    def at_rate(rows: Tensors) -> dict[str, Tensor]:
        """Rows of corrections, (K,) or (T, K)."""
        changed = {name for name in rows if name.removeprefix(OF_CHANGE).removeprefix(OF_BODY) in optimizer.of_rate}
        return {name: (row * factor_K).float() if name in changed else row for name, row in rows.items()}

    own = inputs.settings["optimizer"]
    settings = {**inputs.settings, "optimizer": {**own, "lr": own["lr"] * factor_K}}
    if BY_STEP in settings:
        settings[BY_STEP] = at_rate(settings[BY_STEP])
    return inputs._replace(settings=settings, corrections=at_rate(inputs.corrections))


def optimizer_step_of(model: Model, optimizer: Optimizer, intervention: Intervention) -> OptimizerStep:
    """The step of one network's optimizer. An update rule is called once, for all active parameters."""
    real = real_columns(model) if isinstance(optimizer, UpdateRule) else {}

    def optimize(train: TrainState, gradients: Tensors, inputs: UpdateInputs) -> None:
        ages = {name: age for name, age in intervention.ages(train.state).items() if name in gradients}
        if isinstance(optimizer, UpdateRule):
            optimizer.step(_rule_inputs(model, real, train, gradients, inputs, ages))
        else:
            _plain_step(model, optimizer, train, gradients, inputs, ages)

    return optimize


def _plain_step(
    model: Model,
    optimizer: Optimizer,
    train: TrainState,
    gradients: Tensors,
    inputs: UpdateInputs,
    ages: Tensors,
) -> None:
    """A step of an ordinary optimizer: first for parameters shared by all environments, then for the active one's own.
    Parameters with slices that were reset at different times come last.
    """
    names = gradients.keys() - ages.keys() if ages else gradients
    for own_names, corrections in by_count(model, inputs, [name for name in gradients if name in names]):
        if own_names:
            parameters = {name: train.parameters[name] for name in own_names}
            moments = {kind: {name: values[name] for name in own_names} for kind, values in train.moments.items()}
            optimizer.update(parameters, gradients, moments, inputs.settings["optimizer"], corrections)
    if ages:
        settings = inputs.settings["optimizer"]
        by_step = inputs.settings.get(BY_STEP, {})
        optimizer.update_slices(train.parameters, gradients, train.moments, settings, by_step, ages)


def _rule_inputs(
    model: Model,
    real: Mapping[str, int],
    train: TrainState,
    gradients: Tensors,
    inputs: UpdateInputs,
    ages: Tensors,
) -> RuleInputs:
    """The arguments of an update rule's step."""
    own = {name: row for names, row in by_count(model, inputs, list(gradients)) for name in names}
    by_step = inputs.settings.get(BY_STEP, {})
    learned = {name: gradient for name, gradient in gradients.items() if real.get(name) != 0}

    def correction(key: str, name: str) -> Tensor:
        parameter = train.parameters[name]
        if name not in ages:
            return beside(own[name][key], parameter)
        age, rows = ages[name], by_step[key]
        runs = torch.arange(len(age), device=age.device).unsqueeze(1)
        row = age.clamp(max=len(rows) - 1)
        values = rows[row, runs] if rows.dim() > 1 else rows[row]
        return values.view(*age.shape, *[1] * (parameter.dim() - 2))

    return RuleInputs(
        model.learned(train.parameters),
        gradients,
        train.moments,
        train.rule,
        inputs.settings["optimizer"],
        correction,
        real,
        model.units,
        lambda base: _plain_step(model, base, train, learned, inputs, ages),
        inputs.settings.get(OF_RULE, {}).get("keys"),
        inputs.count,
        hidden_layers(model.design),
    )


def trained(optimizer: Optimizer, state: State, learned: Tensors, gradients: Tensors, inputs: UpdateInputs) -> State:
    """The intervention's state after a step of the entries that it learns (see `Intervention.learned`).

    learned: these entries. gradients: theirs. Their moments are entries "<moment> of <entry>".
    """
    entries = {name: value.clone() for name, value in learned.items()}
    moments = {kind: {name: state[of_moment(kind, name)].clone() for name in learned} for kind in optimizer.moments}
    optimizer.update(entries, gradients, moments, inputs.settings["optimizer"], inputs.corrections)
    changed = {of_moment(kind, name): value for kind, values in moments.items() for name, value in values.items()}
    return {**state, **entries, **changed}


def of_moment(kind: str, entry: str) -> str:
    """The name of a moment of an entry that an intervention learns, in the intervention's state."""
    return f"{kind} of {entry}"


def by_count(model: Model, inputs: UpdateInputs, names: Sequence[str]) -> Iterator[tuple[list[str], Tensors]]:
    """Names of parameters with the same step count, and their corrections.

    Parameters of the active environment alone have a separate count; so have those that start again at a change of the
    network. The order of the names does not change within a group.
    """
    of_change = model.restarted
    for prefix in ("", OF_BODY, *((OF_CHANGE, f"{OF_CHANGE}{OF_BODY}") if of_change else ())):
        own = [name for name in names if prefix_of(model, name) == prefix]
        taken = {name: row for name, row in inputs.corrections.items() if name.startswith(prefix)} if prefix else {}
        yield own, {name.removeprefix(prefix): row for name, row in taken.items()} if prefix else inputs.corrections


def prefix_of(model: Model, name: str) -> str:
    """The prefix of a parameter's corrections."""
    of_change = OF_CHANGE if name in model.restarted else ""
    return of_change + (OF_BODY if model.owner(name) is not None else "")
