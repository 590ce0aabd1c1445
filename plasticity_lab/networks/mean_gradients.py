"""The gradient of a mean over examples, of a whole pack.

Legend: K runs, B examples, D numbers of an example, O numbers of an output.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.networks.model import Model
from plasticity_lab.stacking.run_axis import aligned


def mean_gradients(
    model: Model,
    parameters: Mapping[str, Tensor],
    shape: Mapping[str, Tensor],
    body: str | None,
    x_KBD: Tensor,
    answers: Tensor,
    of: Callable[[Mapping[str, Tensor], Tensor], Tensor],
) -> dict[str, Tensor]:
    """∂ (mean of `of` over the examples) / ∂θ of each run, by parameter: of those on which it depends.

    of: outputs, name → (K, B, O), and answers (K, B, ...) to a number for each example, (K, B). In evaluation mode: a
    randomised activation takes its mean.
    """
    there = x_KBD.shape[1]
    x = pad(x_KBD, (0, 0, 0, aligned(there) - there))
    values = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    with torch.enable_grad():
        outputs, _ = model.forward(values, shape, x, None, body)
        total = of({name: value[:, :there] for name, value in outputs.items()}, answers).mean(dim=1).sum()
    gradients = torch.autograd.grad(total, list(values.values()), allow_unused=True)
    return {name: gradient for name, gradient in zip(values, gradients, strict=True) if gradient is not None}
