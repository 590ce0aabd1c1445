"""Elastic weight consolidation: holds the parameters that earlier tasks needed near their earlier values.

Legend: K runs, E examples of a part, B examples, D numbers of an example.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.component import Chosen, check
from plasticity_lab.interventions.intervention import EXAMPLES, Intervention
from plasticity_lab.interventions.l2 import pull, squared_distances
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.heads.tokenised import Tokenised
from plasticity_lab.networks.per_example import squared_gradients
from plasticity_lab.stacking.run_axis import aligned, beside

AT_ONCE = 40
"""Examples of one backward pass. Its intermediate tensors then take as much memory as those in an evaluation."""


class EWC(Intervention):
    """strength · Σ F (θ − θ*)², per run, in the loss; F is the Fisher information's diagonal, θ* the last task's θ.

    At the end of a task, F ← decay · F + mean over `examples` of (∂ log p(answer | x) / ∂θ)², and θ* ← θ. The gradient
    of each example is squared separately, in evaluation mode. The answers are the given ones: labels, or under PPO the
    actions taken. Under PPO p is therefore the policy π(a | s), and parameters that only the value needs are not held.
    decay = 1 adds up all tasks, 0 keeps only the last one. Inactive parameters, their F and their θ* do not change.

    examples: the largest number of the task's examples to use, evenly spread over the task. batch: number of examples
    averaged before a gradient is squared. If it is 2 or more, the result is not the Fisher information but about 1 /
    batch of it, as in implementations that square the gradient of a whole batch. half: strength / 2, as in some
    implementations. Its state has twice the size of the parameters.
    Source: Kirkpatrick et al. 2017; its online form Schwarz et al. 2018 (γ is `decay`); Appendix E.3.
    """

    requires = frozenset({EXAMPLES})
    leaves_parameters = True
    operations = 25
    copies = 3
    between_tasks = True
    neutral = {"batch": 1}

    def __init__(
        self, strength: float = 50.0, decay: float = 1.0, examples: int = 1000, batch: int = 1, half: bool = False
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0)
        self.decay = check("intervention.decay", decay, at_least=0, at_most=1)
        self.examples = check("intervention.examples", examples, at_least=1)
        self.batch = check("intervention.batch", batch, at_least=1)
        self.half = half

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 with head=tokenised: version 1 squared the gradient of each token, not of each example."""
        head = others.get("head")
        by_token = head is not None and issubclass(head.kind, Tokenised) and settings.get("batch", 1) == 1
        return max(2, cls.science_version) if by_token else cls.science_version

    def start(self, now: Now) -> State:
        """For each parameter: "fisher <name>", zeros, and "anchor <name>", a copy of its value; both have its shape (K,
        ...).
        """
        fisher = {f"fisher {name}": torch.zeros_like(value) for name, value in now.parameters.items()}
        return fisher | {f"anchor {name}": value.clone() for name, value in now.parameters.items()}

    def penalty(self, now: Now) -> Tensor:
        """(K,): strength · Σ F (θ − θ*)², or half of it, over the parameters that are active."""
        squares = (
            now.state[f"fisher {name}"] * squared_distances(value, now.state[f"anchor {name}"])
            for name, value in now.parameters.items()
        )
        return pull(now.settings["strength"], self.half, squares)

    def after_task(self, now: Now) -> State:
        """Adds the task's Fisher information, and moves the anchor."""
        state = dict(now.state)
        found, count = self._summed(now)
        for name, value in now.parameters.items():
            old = state[f"fisher {name}"]
            old = beside(now.settings["decay"], old) * old
            state[f"fisher {name}"] = old + found[name] / count if name in found else old
            state[f"anchor {name}"] = value.clone()
        return state

    def _summed(self, now: Now) -> tuple[dict[str, Tensor], int]:
        """The squared gradients by parameter, summed over examples or batches, and the number of these."""
        by_example = self.batch == 1 and now.model.by_example
        total, count = dict[str, Tensor](), 0
        for x, answered in regrouped(AT_ONCE if by_example else self.batch, now.examples(self.examples)):
            if by_example:
                assert now.log_likelihood is not None
                whole = {**now.frozen, **now.parameters}
                squares = squared_gradients(now.model, whole, now.activation, now.body, x, answered, now.log_likelihood)
            else:
                squares = squared_mean_gradient(now, x, answered)
            for name, value in squares.items():
                total[name] = total[name] + value if name in total else value
            count += x.shape[1] if by_example else 1
        return total, count


def squared_mean_gradient(now: Now, x_KBD: Tensor, answers: Tensor) -> dict[str, Tensor]:
    """(∂ mean over the examples of log p(answer | x) / ∂θ)² of each run, by parameter, like it; in evaluation mode."""
    there = x_KBD.shape[1]
    x = pad(x_KBD, (0, 0, 0, aligned(there) - there))

    def total(parameters: Mapping[str, Tensor]) -> Tensor:
        outputs, _ = now.model.forward({**now.frozen, **parameters}, now.activation, x, None, now.body)
        given = {name: value[:, :there] for name, value in outputs.items()}
        return now.log_likelihood(given, answers).mean(dim=1).sum()

    return {name: gradient.square() for name, gradient in torch.func.grad(total)(dict(now.parameters)).items()}


def regrouped(size: int, parts: Iterable[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    """The same examples and answers (K, E, ...), `size` at a time; the last may be fewer."""
    left: tuple[Tensor, Tensor] | None = None
    for part in parts:
        x, answers = part if left is None else (torch.cat(pair, dim=1) for pair in zip(left, part, strict=True))
        *whole, left = zip(x.split(size, dim=1), answers.split(size, dim=1), strict=True)
        yield from whole
    if left is not None:
        yield left
