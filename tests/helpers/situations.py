"""What an intervention sees, made by hand: a small network, activations as a test wants them, and moments of ones."""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.network import Network
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU


def begun(
    pack: Sequence[Intervention], network: Network | None = None, activation: Activation | None = None, side: int = 2
) -> Now:
    """A pack's first situation: if nothing else is said, of an MLP: 2 × 2 pixels, twice four units, four classes."""
    model = classifier(network or MLP(width=4), [activation or ReLU()] * len(pack), (1, side, side), 4)
    parameters = model.start(range(len(pack)), CPU)
    moments = {kind: {name: torch.ones_like(value) for name, value in parameters.items()} for kind in ("m", "v")}
    now = Now(model, parameters, on_run_axis(pack), {}, moments, seeds=range(len(pack)))
    return now._replace(state=pack[0].start(now))


def silent(now: Now, batch: int = 4) -> dict[str, Tensor]:
    """Activations of zero, unit → (K, B, *)."""
    runs, expansion = len(now.seeds), now.model.activation.expansion
    return {
        unit.name: torch.zeros(runs, batch, int(unit.produced[0] * expansion), *unit.produced[1:]) for unit in now.units
    }


def after(pack: Sequence[Intervention], now: Now, hidden: dict[str, Tensor], weights: Tensor | None = None) -> Now:
    """The situation after one more update, in which units gave `hidden`, and after rare work where that is due."""
    now = now._replace(hidden=hidden, weights=weights, updates=now.updates + 1)
    now = now._replace(state=pack[0].after_step(now))
    if now.updates % pack[0].every == 0:
        now = now._replace(state=pack[0].every_n_updates(now))
    return now


def copied(now: Now) -> dict[str, Tensor]:
    """Parameters, and moments as "m <name>" and "v <name>", copied."""
    kinds = {"": now.parameters, **{f"{kind} ": values for kind, values in now.moments.items()}}
    return {f"{kind}{name}": value.clone() for kind, values in kinds.items() for name, value in values.items()}


def changed_columns(before: Tensor, after: Tensor) -> list[int]:
    """Of one run's weights or biases (I, O): the columns in which anything has changed."""
    return (before != after).any(dim=0).nonzero().flatten().tolist()
