"""An assay of any torch network: `assay(module, fresh=factory, x=inputs, classes=10)`.

Legend: R repetitions, N examples, P points of a curve.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from plasticity_lab.assays.assay import Assay
from plasticity_lab.assays.readings import UNDEFINED, values_of
from plasticity_lab.errors import InputError

PROBLEMS = ("fresh_labels", "teacher", "paired_offset")


@dataclass(frozen=True)
class Pair:
    """The result, means over repetitions; the names are explained in docs/pages/reference/assays.md.

    undefined: the reason why differences and ratios are NaN; "" if they are defined. curves: (P, R, 2), the loss on all
    examples of the aged and of the fresh network. after: the steps of the P points.
    """

    aged_loss: float
    fresh_loss: float
    loss_gap: float
    loss_gap_low: float
    loss_gap_high: float
    loss_ratio: float
    aged_steps: float
    fresh_steps: float
    undefined: str
    curves: np.ndarray
    after: list[int]


def assay(
    module: nn.Module,
    *,
    fresh: Callable[[], nn.Module],
    x: Tensor,
    problem: str = "fresh_labels",
    classes: int | None = None,
    steps: int = 400,
    batch_size: int = 64,
    repetitions: int = 3,
    points: int = 10,
    lr: float = 1e-3,
    seed: int = 0,
) -> Pair:
    """Trains copies of a module and fresh ones on the same problem, with the same data, order and steps, by Adam.

    fresh: makes a network of the same shape with new weights. x (N, ...): inputs of the network. problem: fresh_labels
    (random labels by the cross-entropy, of `classes`), teacher (the outputs of a further fresh network), or
    paired_offset (each network's own outputs plus the same normal numbers); the last two by the mean squared error.
    The module is left as it is, and so is torch's global generator. Raises InputError.
    """
    if problem not in PROBLEMS:
        raise InputError(f"problem is {problem!r}; it must be one of {', '.join(PROBLEMS)}.")
    if problem == "fresh_labels" and classes is None:
        raise InputError("problem='fresh_labels' needs the number of classes: assay(..., classes=10).")
    if len(x) < 2:
        raise InputError(f"x has {len(x)} examples; it must have at least 2.")
    size = min(batch_size, len(x))
    of_training: dict[str, Any] = {"steps": steps, "batch_size": size, "repetitions": repetitions, "points": points}
    how = Assay(**of_training, examples=len(x), lr=lr)
    curves_PRB = np.zeros((points + 1, repetitions, 2))
    for repetition in range(repetitions):
        draw = torch.Generator().manual_seed(1000 * seed + repetition)
        networks = [deepcopy(module), _made(fresh, draw)]
        targets = _targets(problem, networks, fresh, x, classes, draw)
        order = int(torch.randint(2**31, (), generator=draw))
        for branch, network in enumerate(networks):
            curves_PRB[:, repetition, branch] = _trained(network, x, targets[branch], how, order)
    found = values_of(how, {"loss": list(curves_PRB.reshape(points + 1, -1))}, 1)
    single = {name: float(value[0]) for name, value in found.items()}
    names = [name for name in Pair.__dataclass_fields__ if name in single and name != "undefined"]
    reason = UNDEFINED.get(int(single["undefined"]), "")
    return Pair(
        **{name: single[name] for name in names}, undefined=reason, curves=curves_PRB, after=how.measured_after()
    )


def _made(fresh: Callable[[], nn.Module], draw: torch.Generator) -> nn.Module:
    """A fresh network, drawn with a seed from `draw`."""
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(int(torch.randint(2**31, (), generator=draw)))
        return fresh()


@torch.no_grad()
def _targets(
    problem: str,
    networks: list[nn.Module],
    fresh: Callable[[], nn.Module],
    x: Tensor,
    classes: int | None,
    draw: torch.Generator,
) -> list[Tensor]:
    """The targets of the aged and of the fresh network."""
    if problem == "fresh_labels":
        assert classes is not None
        return [torch.randint(classes, (len(x),), generator=draw).to(x.device)] * 2
    if problem == "teacher":
        return [_made(fresh, draw).to(x.device).eval()(x)] * 2
    own = [network.eval()(x) for network in networks]
    offset = torch.randn(own[0].shape, generator=draw).to(x.device)
    return [outputs + offset for outputs in own]


def _trained(network: nn.Module, x: Tensor, targets: Tensor, how: Assay, order: int) -> list[float]:
    """The losses on all examples at the points, (P,), while the network is trained."""
    draw, after = torch.Generator().manual_seed(order), how.measured_after()
    optimizer = torch.optim.Adam(network.parameters(), lr=how.lr)
    found, each = [_loss(network.eval(), x, targets)], len(x) // how.batch_size
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(order)  # dropout draws the same numbers in both networks of a pair
        for step in range(how.steps):
            if step % each == 0:
                shuffled = torch.randperm(len(x), generator=draw)
            at = shuffled[step % each * how.batch_size :][: how.batch_size].to(x.device)
            optimizer.zero_grad()
            _error(network.train()(x[at]), targets[at]).backward()
            optimizer.step()
            found += [_loss(network.eval(), x, targets)] * after.count(step + 1)
    return found


@torch.no_grad()
def _loss(network: nn.Module, x: Tensor, targets: Tensor) -> float:
    return float(_error(network(x), targets))


def _error(outputs: Tensor, targets: Tensor) -> Tensor:
    if targets.is_floating_point():
        return (outputs - targets).square().mean()
    return cross_entropy(outputs, targets)
