"""A preconditioner of matrices with a factor for each axis, and its update (PSGD).

A factor is upper triangular, (M, N, N), or a diagonal, (M, N). Rows have the first factor R and columns the second C;
vectors are matrices of one row without R.

Legend: M matrices, I rows, O columns, N numbers of an axis, B numbers of the other.
Source: Li 2018, "Preconditioned stochastic gradient descent"; kron-torch 0.3.3, kron.py.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.stacking.products import exact_sums, product
from plasticity_lab.stacking.run_axis import aligned, beside
from plasticity_lab.stacking.triangular import inverse, lower_bound, with_ones

Factors = Sequence[Tensor]
TINY = torch.finfo(torch.float32).tiny


def preconditioned(factors: Factors, x_MIO: Tensor) -> Tensor:
    """RᵀR x CᵀC, like x."""
    factors, x = _padded(factors, x_MIO)
    found = _applied(list(map(_transposed, factors)), _applied(factors, x))
    return found[:, : x_MIO.shape[1], : x_MIO.shape[2]]


@torch.library.custom_op("plasticity_lab::changed_if_due", mutates_args=())
def changed_if_due(
    factors: list[Tensor], x_MIO: Tensor, normal_MIO: Tensor, rate_M: Tensor, due_M: Tensor, balanced_M: Tensor
) -> list[Tensor]:
    """The factors, for matrices that are due after an update (`changed`), before which some are balanced.

    It is one operator: a compiled graph calls it, since to compile its parts takes a minute. On a CPU nothing is
    computed if no matrix is due.
    """
    if due_M.device.type == "cpu" and not due_M.any():
        return [factor.clone(memory_format=torch.contiguous_format) for factor in factors]
    first: Factors = factors
    if len(factors) == 2:
        pairs = zip(balanced(factors), factors, strict=True)
        first = [torch.where(beside(balanced_M, factor), even, factor) for even, factor in pairs]
    pairs = zip(changed(first, x_MIO, normal_MIO, rate_M), factors, strict=True)
    return [torch.where(beside(due_M, factor), after, factor).contiguous() for after, factor in pairs]


@changed_if_due.register_fake
def _(factors: list[Tensor], *_: Tensor) -> list[Tensor]:
    return [factor.new_empty(factor.shape) for factor in factors]


def changed(factors: Factors, x_MIO: Tensor, normal_MIO: Tensor, rate_M: Tensor) -> list[Tensor]:
    """The factors after one update by a momentum x and normal numbers v of its shape.

    With A = R x Cᵀ and B = R⁻ᵀ v C⁻¹ a factor F of the rows becomes F − rate · triu(AAᵀ − BBᵀ) F / ‖AAᵀ + BBᵀ‖; for
    columns with Aᵀ and Bᵀ. The norm is `lower_bound`'s. A diagonal factor takes the diagonal parts, and their maximum
    as the norm.
    """
    padded, x = _padded(factors, x_MIO)
    v = pad(normal_MIO, (0, x.shape[2] - x_MIO.shape[2], 0, x.shape[1] - x_MIO.shape[1]))
    a, b = _applied(padded, x), _applied([_transposed(_inverse(factor)) for factor in padded], v)
    pairs = [(a, b), (_turned(a), _turned(b))][-len(factors) :]
    next_ones = [_next(factor, *pair, rate_M) for factor, pair in zip(padded, pairs, strict=True)]
    return [_cut(own, factor) for own, factor in zip(next_ones, factors, strict=True)]


def balanced(factors: Factors) -> list[Tensor]:
    """Both factors with the same largest absolute number; their product does not change."""
    first, second = (factor.abs().flatten(1).amax(dim=1) for factor in factors)
    mean = (first * second).sqrt()
    return [_scaled(factor, mean / own) for factor, own in zip(factors, (first, second), strict=True)]


def _next(factor: Tensor, a_MNB: Tensor, b_MNB: Tensor, rate_M: Tensor) -> Tensor:
    """A factor after an update."""
    if factor.dim() == 2:
        of_a, of_b = exact_sums(a_MNB * a_MNB), exact_sums(b_MNB * b_MNB)
        norm = (of_a + of_b).amax(dim=1, keepdim=True).clamp(min=TINY)
        return factor - rate_M.unsqueeze(1) * (of_a - of_b) * (factor / norm)
    of_a, of_b = product(a_MNB, _turned(a_MNB)), product(b_MNB, _turned(b_MNB))
    both = of_a + of_b
    largest = both.abs().flatten(1).amax(dim=1)
    norm = torch.where(largest > 0, lower_bound(both, largest), largest).clamp(min=TINY)
    return factor - product(_scaled(torch.triu(of_a - of_b), rate_M) / norm.view(-1, 1, 1), factor)


def _applied(factors: Factors, x_MIO: Tensor) -> Tensor:
    """R x Cᵀ, or x Cᵀ without R."""
    x = _times(factors[0], x_MIO) if len(factors) == 2 else x_MIO
    return _turned(_times(factors[-1], _turned(x)))


def _times(factor: Tensor, x_MNB: Tensor) -> Tensor:
    return factor.unsqueeze(2) * x_MNB if factor.dim() == 2 else product(factor, x_MNB)


def _turned(x: Tensor) -> Tensor:
    return x.transpose(1, 2).contiguous()


def _transposed(factor: Tensor) -> Tensor:
    return factor if factor.dim() == 2 else _turned(factor)


def _inverse(factor: Tensor) -> Tensor:
    return 1 / factor if factor.dim() == 2 else inverse(factor)


def _scaled(values: Tensor, by_M: Tensor) -> Tensor:
    return values * beside(by_M, values)


def _padded(factors: Factors, x_MIO: Tensor) -> tuple[list[Tensor], Tensor]:
    """Factors and matrices with axes of multiples of four, so that products have the same bits at every place."""
    sizes = [aligned(size) for size in x_MIO.shape[1:]] if len(factors) == 2 else [1, x_MIO.shape[2]]
    x = pad(x_MIO, (0, sizes[1] - x_MIO.shape[2], 0, sizes[0] - x_MIO.shape[1]))
    return [_grown(factor, size) for factor, size in zip(factors, sizes[-len(factors) :], strict=True)], x


def _grown(factor: Tensor, size: int) -> Tensor:
    """The factor with further numbers of the identity."""
    return with_ones(factor, size) if factor.dim() == 3 else pad(factor, (0, size - factor.shape[1]), value=1.0)


def _cut(padded: Tensor, factor: Tensor) -> Tensor:
    """The padded factor at the size of another one."""
    size = factor.shape[1]
    return padded[:, :size] if factor.dim() == 2 else padded[:, :size, :size]
