"""Shares that add up to 1 along one axis of each example's table: e^x over the sum of all.

Legend: K runs, B examples, R rows, C columns.
"""

from collections.abc import Mapping
from math import inf

import torch
from torch import Tensor

from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.stacking.elementary import exp, log_softmax


def shares_of_rows(parameters: Mapping[str, Tensor], x_KBRC: Tensor) -> Tensor:
    """Along each row.  → like x. parameters: of the network, which say whether kernels compute it."""
    if isinstance(parameters, ThroughKernels):
        return parameters.shares(x_KBRC)
    return exp(log_softmax(x_KBRC))


def shares_of_columns(parameters: Mapping[str, Tensor], x_KBRC: Tensor, there: int) -> Tensor:
    """Down each column, of which the first `there` rows take part; the others have 0.  → (K, B, C, R), turned."""
    if isinstance(parameters, ThroughKernels):
        return parameters.shares(x_KBRC, there).transpose(2, 3)
    columns = x_KBRC.transpose(2, 3)
    absent = torch.arange(columns.shape[3], device=columns.device) >= there
    return exp(log_softmax(torch.where(absent, -inf, columns)))
