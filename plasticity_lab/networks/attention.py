"""Attention of each example's tokens to each other, for all runs, examples and heads of a pack at once.

Legend: K runs, B examples, N tokens, R = B · N rows, D numbers of a token, H heads, d = D / H numbers
of a head, T = K · B · H tables.
"""

from collections.abc import Mapping
from math import sqrt

from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.kernels.layers import attention
from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.networks.heads.routing import shares_of_columns
from plasticity_lab.stacking.products import product
from plasticity_lab.stacking.run_axis import aligned


def attended(
    parameters: Mapping[str, Tensor], queries_KRD: Tensor, keys_KRD: Tensor, values_KRD: Tensor, tokens: int, heads: int
) -> Tensor:
    """For each head softmax(Q Kᵀ / √d) V, the heads next to each other, (K, R, D).

    parameters: the network's parameters; their type decides whether our kernel computes it. tokens: N.
    Source: Vaswani et al. 2017, section 3.2. Otherwise rows and columns are padded to multiples of 4, so that a run's
    products have the same bits in any pack; the softmax leaves out the padding.
    """
    if isinstance(parameters, ThroughKernels):
        return attention(queries_KRD, keys_KRD, values_KRD, tokens, heads)
    runs, rows, numbers = queries_KRD.shape
    queries, keys, values = (_tables(x.unflatten(1, (-1, tokens)), heads) for x in (queries_KRD, keys_KRD, values_KRD))
    scores = product(keys, (queries / sqrt(numbers // heads)).mT)  # a column for each query
    shares = shares_of_columns(parameters, scores.unflatten(0, (runs, -1)), tokens).flatten(0, 1)
    found = product(shares, values)[:, :tokens, : numbers // heads]
    return found.unflatten(0, (runs, rows // tokens, heads)).transpose(2, 3).flatten(3).flatten(1, 2)


def _tables(x_KBND: Tensor, heads: int) -> Tensor:
    """The tokens of each head, padded, (T, N, d)."""
    tables = x_KBND.unflatten(3, (heads, -1)).transpose(2, 3)
    more_tokens, more_numbers = (aligned(count) - count for count in tables.shape[3:])
    return pad(tables, (0, more_numbers, 0, more_tokens)).contiguous().flatten(0, 2)
