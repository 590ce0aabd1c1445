"""Attention of each example's tokens to each other, for all runs, examples and heads of a pack at once.

Legend: K runs, B examples, N tokens, D numbers of each, H heads, d numbers of a head, D / H; T tables, K · B · H.
"""

from collections.abc import Mapping
from math import sqrt

from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.networks.heads.routing import shares_of_columns
from plasticity_lab.stacking.products import product
from plasticity_lab.stacking.run_axis import aligned


def attended(
    parameters: Mapping[str, Tensor], queries_KBND: Tensor, keys_KBND: Tensor, values_KBND: Tensor, heads: int
) -> Tensor:
    """For each head softmax(Q Kᵀ / √d) V, the heads next to each other, (K, B, N, D).

    parameters: the network's parameters; their type decides whether our kernels compute the softmax.
    Source: Vaswani et al. 2017, section 3.2. Rows and columns are padded to multiples of 4, so that a run's products
    have the same bits in any pack; the softmax leaves out the padding.
    """
    runs, examples, tokens, numbers = queries_KBND.shape
    queries, keys, values = (_tables(x, heads) for x in (queries_KBND, keys_KBND, values_KBND))
    scores = product(keys, (queries / sqrt(numbers // heads)).mT)  # a column for each query
    shares = shares_of_columns(parameters, scores.unflatten(0, (runs, -1)), tokens).flatten(0, 1)
    found = product(shares, values)[:, :tokens, : numbers // heads]
    return found.unflatten(0, (runs, examples, heads)).transpose(2, 3).flatten(3)


def _tables(x_KBND: Tensor, heads: int) -> Tensor:
    """The tokens of each head, padded, (T, N, d)."""
    tables = x_KBND.unflatten(3, (heads, -1)).transpose(2, 3)
    more_tokens, more_numbers = (aligned(count) - count for count in tables.shape[3:])
    return pad(tables, (0, more_numbers, 0, more_tokens)).contiguous().flatten(0, 2)
