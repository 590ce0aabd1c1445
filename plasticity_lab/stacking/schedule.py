"""Schedules of the learning rate: a warm-up, and a decay, within each task or over the run.

Legend: K runs, S updates.
"""

from collections.abc import Sequence
from math import cos, pi
from typing import Protocol

import torch
from torch import Tensor

SHAPES, PERIODS = ("constant", "linear", "cosine"), ("task", "run")


class Scheduled(Protocol):
    """An optimizer, as a schedule reads it.

    schedule: the shape of the decay, one of SHAPES. schedule_by: the period, one of PERIODS. warmup: the share of the
    period during which the rate rises. final: the rate at the end, as a share of the rate, unless it is constant.
    """

    schedule: str
    schedule_by: str
    warmup: float
    final: float


class Schedule:
    """The schedules of K runs, which share shape and period: the factor of each run's rate in each update.

    Update i of a period of n updates (i from 0) has the factor (i + 1) / w while i < w, with w = warmup · n. From then
    on, with p = (i − w) / (n − w): 1 (constant), 1 − (1 − final) p (linear), or final + (1 − final) (1 + cos πp) / 2
    (cosine). Updates after the n-th have p = 1. Computed in float64, a number at a time: the bits do not depend on the
    pack. active: whether the rate of any run ever changes.
    """

    def __init__(self, optimizers: Sequence[Scheduled]) -> None:
        self.shape, self.by = optimizers[0].schedule, optimizers[0].schedule_by
        self.warmup = torch.tensor([each.warmup for each in optimizers], dtype=torch.float64)
        self.final = torch.tensor([each.final for each in optimizers], dtype=torch.float64)
        self.active = self.shape != "constant" or bool(self.warmup.any())

    def factors(self, first: int, updates: int, length: int) -> Tensor:
        """(S, K) float64, for the updates first … first + updates − 1 of a period of `length` updates."""
        number = torch.arange(first, first + updates, dtype=torch.float64).unsqueeze(1)
        rising_K = self.warmup * length
        rise = ((number + 1) / rising_K).clamp(max=1.0)
        progress = ((number - rising_K) / (length - rising_K)).clamp(min=0.0, max=1.0)
        return rise * (1 - (1 - self.final) * self._fallen(progress))

    def _fallen(self, progress: Tensor) -> Tensor:
        """The share of the way to the final rate, any shape."""
        if self.shape == "constant":
            return torch.zeros_like(progress)
        if self.shape == "linear":
            return progress
        way = [(1 - cos(pi * each)) / 2 for each in progress.flatten().tolist()]
        return torch.tensor(way, dtype=torch.float64).view_as(progress)
