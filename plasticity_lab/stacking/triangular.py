"""Inverses and norms of matrices with bits that do not depend on the pack.

Legend: M matrices, N rows and columns, B of them in a block.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.stacking.products import exact_sums, product, row_times, times
from plasticity_lab.stacking.run_axis import aligned

LARGEST_BLOCK = 4
"""Blocks up to this size are inverted row by row, larger ones from their quarters."""


def inverse(upper_MNN: Tensor) -> Tensor:
    """The inverses of upper triangular matrices, like them; numbers below the diagonal count as 0.

    The blocks on the diagonal are inverted by back substitution. Then neighbours A⁻¹ and C⁻¹ give the inverse of the
    block of both, with the corner −A⁻¹ B C⁻¹, until one block is left. Libraries' triangular solvers may give a matrix
    other bits at another place in memory.
    """
    size, blocks = upper_MNN.shape[1], 1
    while -(-size // blocks) > LARGEST_BLOCK:
        blocks *= 2
    block = aligned(-(-size // blocks))
    upper = with_ones(upper_MNN, block * blocks)
    found = _inverted_blocks(_diagonal_blocks(upper, block))
    while block < upper.shape[1]:
        corners = _diagonal_blocks(upper, 2 * block)[:, :block, block:]
        first, second = found.view(-1, 2, block, block).unbind(1)
        corner = -product(product(first.contiguous(), corners.contiguous()), second.contiguous())
        found = torch.cat([torch.cat([first, corner], 2), torch.cat([torch.zeros_like(corner), second], 2)], 1)
        block *= 2
    return found[:, :size, :size]


def with_ones(square_MNN: Tensor, size: int) -> Tensor:
    """The matrices with further rows and columns of the identity, to this size."""
    there, device = square_MNN.shape[1], square_MNN.device
    ones = torch.eye(size, device=device) * (torch.arange(size, device=device) >= there)
    return pad(square_MNN, (0, size - there, 0, size - there)) + ones


def _diagonal_blocks(square_MNN: Tensor, block: int) -> Tensor:
    """The blocks on the diagonal, one matrix after the other, (M · N / B, B, B)."""
    runs, size = square_MNN.shape[:2]
    cut = square_MNN.view(runs, size // block, block, size // block, block).transpose(2, 3)
    at = torch.arange(size // block, device=square_MNN.device)
    return cut[:, at, at].reshape(-1, block, block)


def _inverted_blocks(upper_MBB: Tensor) -> Tensor:
    """Back substitution from the last row: the rows above lose their share of each row that is found."""
    size = upper_MBB.shape[1]
    left = torch.eye(size, device=upper_MBB.device).expand_as(upper_MBB)
    rows: list[Tensor] = []
    for at in reversed(range(size)):
        rows.append(left[:, at : at + 1] / upper_MBB[:, at : at + 1, at : at + 1])
        left = left[:, :at] - upper_MBB[:, :at, at : at + 1] * rows[-1]
    return torch.cat(rows[::-1], dim=1)


def lower_bound(symmetric_MNN: Tensor, largest_M: Tensor) -> Tensor:
    """A lower bound of the spectral norm of symmetric matrices, (M,): ‖A x‖ for x = A a / ‖A a‖, a the longest column.

    largest_M: the largest absolute number of each matrix, above 0. Source: `_lb` of kron-torch.
    """
    scaled = symmetric_MNN / largest_M.view(-1, 1, 1)
    at = exact_sums((scaled * scaled).transpose(1, 2)).argmax(dim=1)
    column = scaled.gather(2, at.view(-1, 1, 1).expand(-1, scaled.shape[1], 1)).squeeze(2)
    once = row_times(column, scaled)
    once = once / exact_sums(once * once).sqrt().unsqueeze(1)
    twice = times(scaled, once)
    return exact_sums(twice * twice).sqrt() * largest_M
