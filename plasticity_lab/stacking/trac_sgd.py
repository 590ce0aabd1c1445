"""TRAC around SGD."""

from plasticity_lab.component import check
from plasticity_lab.stacking.sgd import SGD
from plasticity_lab.stacking.trac import TRAC


class TRACSGD(TRAC):
    """TRAC with the steps of SGD. Its settings are SGD's, and `scale`."""

    moments = SGD.moments

    def __init__(
        self,
        lr: float = 1e-2,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        reset: str = "never",
        scale: float = 1e-8,
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.base = SGD(lr, momentum, weight_decay, reset)
        self.lr, self.momentum, self.weight_decay = lr, momentum, weight_decay
        self.reset = reset
        self.scale = check("optimizer.scale", scale, above=0)
        self.set_schedule(schedule, schedule_by, warmup, final)
