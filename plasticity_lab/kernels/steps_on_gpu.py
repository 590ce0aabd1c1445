"""Optimizer steps of linear layers on a GPU by kernels that also compute the gradient, which is then never stored.

They equal `on_gpu.product` followed by the composed optimizer, to the bit. On a CPU these operators compute the same
with torch; only tests use that.

Legend: K runs, B examples, I inputs, O outputs.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.kernels import on_gpu

MOST_EXAMPLES = 2047
"""Sums over more examples have parts (see `triton_kernels.PART`), and the kernel's sums have none."""
OF_MOMENTS = ("weight1", "bias1", "weight2", "bias2")


@torch.library.custom_op("plasticity_lab::adam_on_gpu", mutates_args=("weight", "bias", *OF_MOMENTS))
def _adam(
    x: Tensor, delta: Tensor, numbers: Tensor, weight: Tensor, bias: Tensor, weight1: Tensor, bias1: Tensor,
    weight2: Tensor, bias2: Tensor, rounded: bool,
) -> None:  # fmt: skip
    _check(weight)
    parts = [weight, bias, weight1, bias1, weight2, bias2]
    if x.is_cuda:
        from plasticity_lab.kernels.triton_adam import adam_of_product  # a CPU needs no Triton

        with torch.cuda.device(x.device):
            adam_of_product(x, delta, numbers, parts, rounded)
        return
    take1, take2, beta2, epsilon, size, root, kept = numbers.unsqueeze(2).unsqueeze(3).unbind(1)
    ones = delta.new_ones(1, 1, 1).expand(len(delta), 1, delta.shape[1])
    gradients = on_gpu.product(x.transpose(1, 2), delta), on_gpu.product(ones, delta)
    for gradient, parameter, first, second in zip(gradients, parts[:2], parts[2:4], parts[4:], strict=True):
        first.add_((gradient - first) * take1)
        second.mul_(beta2).add_(gradient * gradient * take2)
        parameter.mul_(kept).sub_(size * first / (second.sqrt() * root + epsilon))


def _check(weight: Tensor) -> None:
    if (count := weight[0].numel()) >= on_gpu.MOST:
        raise ValueError(
            f"A layer of one run has {count:,} weights, and {on_gpu.MOST - 1:,} at most; make it narrower."
        )


@_adam.register_fake
def _(*_: Any) -> None:
    return None


def adam(x: Tensor, delta: Tensor, numbers: Tensor, *parts: Tensor) -> None:
    """A step of Adam or AdamW in place by the gradients of a layer, xᵀ · delta and the sum of delta.

    x (K, B, I), delta (K, B, O), numbers (K, 7): see `Adam.kernel_numbers`. parts: weight (K, I, O) and bias (K, 1, O),
        then the first moments of both, then the second moments.
    """
    # Graphs of torch's compiler divide by an approximate instruction, as the composed step in them does.
    _adam(x, delta, numbers, *parts, not torch.compiler.is_compiling())


STEPS: dict[str | None, Callable[..., None]] = {"linear_adam": adam}
"""`Optimizer.kernel` → the step on a GPU."""


def serves(kernel: str | None, parameter: Tensor, examples: int) -> bool:
    """Whether a kernel of a GPU takes the optimizer step of linear layers.

    kernel: `Optimizer.kernel`. parameter: one of the parameters. examples: B.
    """
    return kernel in STEPS and examples <= MOST_EXAMPLES and on_gpu.serves(parameter)


def step_of(kernel: str, parameter: Tensor) -> Callable[..., None]:
    """The step by a kernel, for the device of a parameter."""
    # A process without kernels of a CPU has no operators of theirs.
    there = kernel in STEPS and on_gpu.serves(parameter)
    return STEPS[kernel] if there else getattr(torch.ops.plasticity_lab, kernel)
