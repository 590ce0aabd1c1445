"""The data of a task that ended or begins, for interventions that read them.

Legend: B examples, D numbers of one, O numbers of an output.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from plasticity_lab.errors import InputError
from plasticity_lab.interventions.ewc import regrouped
from plasticity_lab.outside.plastic.model import LOGITS, OutsideModel

Loss = Callable[[Tensor, Tensor], Tensor]
"""(outputs (B, O), answers (B, ...)) → the loss of each example, (B,), or their mean, ()."""
Data = tuple[Tensor, Tensor] | Iterable[tuple[Tensor, Tensor]]
"""Inputs and answers: two tensors, or batches."""


def of_examples(outputs: Tensor, answers: Tensor) -> Tensor:
    """The cross-entropy of each example, (B,)."""
    return cross_entropy(outputs, answers, reduction="none")


class Examples:
    """The examples of a finished task (`interventions.now.Examples`): spread over tensors, or the first batches."""

    def __init__(self, data: Data, model: OutsideModel) -> None:
        self._data, self._model = data, model

    def __call__(self, most: int) -> Iterator[tuple[Tensor, Tensor]]:
        """At most that many examples, in batches: rows (1, B, D) and answers (1, B, ...)."""
        left = most
        for x, answers in _batches(self._data, most):
            self._model.example = tuple(x.shape[1:])
            yield x[:left].reshape(1, len(x[:left]), -1), answers[:left].unsqueeze(0)
            left -= len(x)
            if left <= 0:
                return


class Coming:
    """The data of a task that begins (`interventions.now.ComingData`), in the given order."""

    def __init__(self, data: Data, model: OutsideModel, loss: Loss) -> None:
        self._data, self._model, self._loss = data, model, loss

    def gradients(
        self, parameters: Mapping[str, Tensor], batch: int, most: int | None = None
    ) -> Iterator[dict[str, Tensor]]:
        """The gradients of the mean loss, one batch after another, like the parameters."""
        examples = Examples(self._data, self._model)(2**62 if most is None else most)
        for x, answers in regrouped(batch, examples):
            own = {name: value.detach().requires_grad_() for name, value in parameters.items()}
            with torch.enable_grad():
                outputs, _ = self._model.forward(own, {}, x)
                total = self._loss(_first(outputs)[0], answers[0]).mean()
                found = torch.autograd.grad(total, list(own.values()), allow_unused=True, materialize_grads=True)
            yield dict(zip(own, found, strict=True))


def log_likelihood_by(loss: Loss) -> Callable[[Mapping[str, Tensor], Tensor], Tensor]:
    """−loss of each example, (1, B), as `Now.log_likelihood`.  Raises InputError for a loss that is a mean."""

    def log_likelihood(outputs: Mapping[str, Tensor], answers: Tensor) -> Tensor:
        each = loss(_first(outputs)[0], answers[0])
        if each.shape[:1] != answers.shape[1:2]:
            raise InputError("The loss must give a number for each example; choose reduction='none'.")
        return -each.flatten(1).sum(dim=1).unsqueeze(0) if each.dim() > 1 else -each.unsqueeze(0)

    return log_likelihood


def cross_entropy_with(outputs: Mapping[str, Tensor], reference: Mapping[str, Tensor]) -> Tensor:
    """The cross-entropy of the first output's classes with a reference's, (1, B), as for the supervised agent."""
    from plasticity_lab.agents.supervised.step import divergence

    return divergence({}, {LOGITS: _first(outputs)}, {LOGITS: _first(reference)})


def divergence_by(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """`Now.divergence` by a function of the first outputs, (B, O) both → (B,)."""

    def divergence(outputs: Mapping[str, Tensor], reference: Mapping[str, Tensor]) -> Tensor:
        return function(_first(outputs)[0], _first(reference)[0].detach()).unsqueeze(0)

    return divergence


def _first(outputs: Mapping[str, Tensor]) -> Tensor:
    return next(iter(outputs.values()))


def _batches(data: Any, most: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs and answers in batches."""
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Tensor):
        x, answers = data
        count = min(most, len(x))
        at = torch.arange(count, device=x.device) * len(x) // max(1, count)
        yield x[at], answers[at.to(answers.device)]
        return
    yield from data
