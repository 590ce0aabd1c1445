"""Kron: PSGD with a preconditioner for each axis of a matrix.

Legend: K runs, E experts, M matrices (K, or K · E), I rows and O columns of a matrix, N numbers of an axis, S steps.
"""

from functools import cache
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.randomness.device import uniforms
from plasticity_lab.stacking.decays import steps_to_settle, unbiased
from plasticity_lab.stacking.kronecker import changed_if_due, preconditioned
from plasticity_lab.stacking.optimizer import Tensors
from plasticity_lab.stacking.products import run_sums
from plasticity_lab.stacking.run_axis import aligned, beside
from plasticity_lab.stacking.update_rule import RuleInputs, UpdateRule, noise, real_part

FLAT_START, ANNEALING = 500, 0.001
"""The first updates all change the factors; then the probability of a change falls at this rate."""
DAMPING = float(np.sqrt(np.finfo(np.float32).eps))
LARGEST_STEP = 1.1
"""The largest root mean square of a parameter's step, before it is multiplied by lr."""
BALANCED = 0.01
"""The share of the factors' changes before which both factors of a matrix get the same norm."""
APART = 1 << 40
"""Added to the count for random numbers that are not `noise`'s."""
SAVING = "none", "largest", "all"
MATRICES = "weight", "sigma"
"""The last part of the names of matrices; all other parameters are vectors."""


class Kron(UpdateRule):
    """m ← β m + (1 − β) g; θ ← (1 − lr · decay) θ − lr · RᵀR m̂ CᵀC, with the root mean square of the step at most 1.1.

    R (I, I) and C (O, O) are the factors of a matrix, upper triangular and at first the identity; a vector has a
    diagonal C alone. Some updates change them first (`kronecker.changed`) by m̂ + √ε · mean |m̂| · v, v ~ N(0, 1), which
    also takes the place of m̂ then. An axis longer than `largest_triangular` has a diagonal factor; with
    `memory_saving=largest` so has the longer axis, with all both. Only matrices have weight decay.

    Source: Li 2018 (PSGD), in the form of kron-torch 0.3.3, kron.py.
    docs/pages/reference/optimizers.md lists the details.
    `reset=task`: momentum, factors and their schedule begin again at the end of each task.
    """

    moments = ("first",)
    draws = True
    copies = 70  # behind 784 inputs and at width 100: factors of 7 times the parameters, and temporary tensors
    operations = 20_000  # there, as a mean over 10,000 updates

    def __init__(
        self,
        lr: float = 0.0003,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        factor_lr: float = 0.1,
        update_probability: float = 0.03,
        largest_triangular: int = 8192,
        memory_saving: str = "none",
        reset: str = "never",
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.lr = check("optimizer.lr", lr, above=0)
        self.momentum = check("optimizer.momentum", momentum, at_least=0, below=1)
        self.weight_decay = check("optimizer.weight_decay", weight_decay, at_least=0)
        self.factor_lr = check("optimizer.factor_lr", factor_lr, at_least=0, below=1)
        self.update_probability = check("optimizer.update_probability", update_probability, at_least=1e-3, at_most=1)
        self.largest_triangular = check("optimizer.largest_triangular", largest_triangular, at_least=1)
        self.memory_saving = check("optimizer.memory_saving", memory_saving, one_of=SAVING)
        self.reset = check("optimizer.reset", reset, one_of=("never", "task"))
        self.set_schedule(schedule, schedule_by, warmup, final)

    def start_state(self, parameters: Tensors) -> dict[str, dict[str, Tensor]]:
        """The factors: "rows" of matrices, (K, I, I), or (K, I) if diagonal; "columns" (K, O, O) or (K, O), for vectors
        like them. Factors of experts have a further axis E behind K.
        """
        matrices = {name: value for name, value in parameters.items() if _is_matrix(name)}
        columns = {name: torch.ones_like(value) for name, value in parameters.items() if name not in matrices}
        columns |= {name: self._identity(value, -1) for name, value in matrices.items()}
        return {"rows": {name: self._identity(value, -2) for name, value in matrices.items()}, "columns": columns}

    def _identity(self, matrix: Tensor, axis: int) -> Tensor:
        """The first factor of an axis of a matrix."""
        size, (rows, columns) = matrix.shape[axis], map(aligned, matrix.shape[-2:])  # some columns may be padding
        longest = -2 if rows >= columns else -1
        saved = self.memory_saving == "all" or (self.memory_saving == "largest" and axis == longest)
        ones = matrix.new_ones(*matrix.shape[:-2], size)
        return ones if saved or size == 1 or size > self.largest_triangular else torch.diag_embed(ones)

    def corrections(self, settings: Tensors, first: int, steps: int) -> dict[str, Tensor]:
        """first (S, K): 1 / (1 − βᵗ). due (S, K): 1 if the step changes the factors, otherwise 0."""
        probabilities = settings["update_probability"]
        rows = np.stack([due_steps(each, first, steps) for each in probabilities.tolist()], axis=1)
        due = torch.from_numpy(rows.astype(np.float32)).to(probabilities.device)
        return {"first": unbiased(settings["momentum"], first, steps), "due": due}

    def settled(self, settings: Tensors) -> int:
        """The number of steps after which βᵗ is below 2⁻²⁶ for all runs, at most a million."""
        return steps_to_settle(settings["momentum"])

    def step(self, now: RuleInputs) -> None:
        """One step in place."""
        due = _due(now)
        drawn = noise(now, now.names) if any(map(_some, due.values())) else {}
        for name in now.names:
            parameter, gradient, momentum = now.parameters[name], now.gradients[name], now.moments["first"][name]
            momentum.add_((gradient - momentum) * beside((1 - now.settings["momentum"]).float(), gradient))
            mean = _matrices(momentum * now.correction("first", name), name, now)
            if _some(due[name]):
                mean = _change(now, name, mean, _matrices(drawn[name], name, now), due[name])
            moved = _bounded(preconditioned(_factors(now, name), mean))
            if _is_matrix(name):
                parameter.mul_(beside((1 - now.settings["lr"] * now.settings["weight_decay"]).float(), parameter))
            own = real_part(parameter, name, now.real)
            own.sub_(beside(now.settings["lr"].float(), own) * moved.view_as(own))


def _due(now: RuleInputs) -> dict[str, Tensor]:
    """Whether the factors of each parameter change, (K,). Experts that were reset keep the schedule of the others."""
    flags = {name: now.correction("due", name).flatten() > 0 for name in now.names}
    runs = len(now.settings["lr"])
    shared = next(flag for flag in flags.values() if len(flag) == runs)
    return {name: flag if len(flag) == runs else shared for name, flag in flags.items()}


def _change(now: RuleInputs, name: str, mean_MIO: Tensor, normal_MIO: Tensor, due_K: Tensor) -> Tensor:
    """Changes the factors of the runs that are due in place → the damped momentum, for the other runs the momentum."""
    assert now.keys is not None
    slices = len(mean_MIO) // len(due_K)
    draw_K = uniforms(now.keys, now.count + APART, 1)[:, 0]
    due_M, balanced_M, rate_M = (
        values.repeat_interleave(slices) for values in (due_K, draw_K < BALANCED, now.settings["factor_lr"].float())
    )
    damped = mean_MIO + beside(DAMPING * _mean(mean_MIO.abs()), mean_MIO) * normal_MIO
    factors = _factors(now, name)
    for own, after in zip(factors, changed_if_due(factors, damped, normal_MIO, rate_M, due_M, balanced_M), strict=True):
        own.copy_(after)
    return torch.where(beside(due_M, damped), damped, mean_MIO)


def _bounded(step_MIO: Tensor) -> Tensor:
    """The steps, scaled down if their root mean square is above `LARGEST_STEP`."""
    size_M = _mean(step_MIO * step_MIO).sqrt()
    return step_MIO * beside((LARGEST_STEP / (size_M + 1e-12)).clamp(max=1.0), step_MIO)


def _mean(x_MIO: Tensor) -> Tensor:
    return run_sums(x_MIO) / x_MIO.shape[1:].numel()


def _factors(now: RuleInputs, name: str) -> list[Tensor]:
    """The factors of a parameter without padding, as views, (M, N, N) or (M, N): rows and columns, or columns."""
    if not _is_matrix(name):
        values = real_part(now.state["columns"][name], name, now.real)
        return [values.flatten(0, -2)]
    found = []
    for kind, size in (("rows", None), ("columns", now.real.get(name))):
        values, dims = now.state[kind][name], now.parameters[name].dim()
        cut = values[..., :size, :size] if values.dim() == dims else values[..., :size]
        found.append(cut.flatten(0, dims - 3))
    return found


def _matrices(values: Tensor, name: str, now: RuleInputs) -> Tensor:
    """A parameter's numbers without padding as matrices, (M, I, O); a vector is one row."""
    own = real_part(values, name, now.real)
    return own.flatten(0, -3) if _is_matrix(name) else own.reshape(-1, 1, own.shape[-1])


def _is_matrix(name: str) -> bool:
    return name.rpartition(".")[2] in MATRICES


def _some(due: Tensor) -> bool:
    """Whether some run is due; compiled steps do not ask, and leave the factors of runs that are not due unchanged."""
    return torch.compiler.is_compiling() or due.is_meta or bool(due.any())


def due_steps(probability: float, first: int, steps: int) -> NDArray[np.bool_]:
    """Whether each of the steps first … first + steps − 1, counted from 1, changes the factors, (S,).

    A step does if the steps since the last one that did are at least 1 / p; p is 1 for 500 steps, then falls
    exponentially to `probability`, from where on a period is constant.
    """
    start = _first_changes(probability)
    wanted = np.arange(first, first + steps)
    period = ceil(1 / np.float32(probability))
    later = (wanted - start[-1]) % period == 0
    return np.where(wanted <= start[-1], np.isin(wanted, start), later)


@cache
def _first_changes(probability: float) -> NDArray[np.int64]:
    """The steps that change the factors, up to the first one at the last probability."""
    found, last, step = [], 0, 0
    least = np.float32(probability)
    while True:
        step += 1
        falling = np.exp(-np.float32(ANNEALING) * np.float32(step - 1 - FLAT_START), dtype=np.float32)
        if step - last >= 1 / np.clip(falling, least, np.float32(1)):
            found.append(step)
            last = step
            if falling <= least:
                return np.array(found)
