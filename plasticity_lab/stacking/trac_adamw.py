"""TRAC around AdamW."""

from plasticity_lab.component import check
from plasticity_lab.stacking.adamw import AdamW
from plasticity_lab.stacking.trac import TRAC


class TRACAdamW(TRAC):
    """TRAC with the steps of AdamW. Its settings are AdamW's, and `scale`."""

    moments = AdamW.moments
    of_rate = AdamW.of_rate

    def __init__(
        self,
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 1e-2,
        reset: str = "never",
        scale: float = 1e-8,
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.base = AdamW(lr, beta1, beta2, epsilon, weight_decay, reset)
        self.lr, self.beta1, self.beta2, self.epsilon, self.weight_decay = lr, beta1, beta2, epsilon, weight_decay
        self.reset = reset
        self.scale = check("optimizer.scale", scale, above=0)
        self.set_schedule(schedule, schedule_by, warmup, final)
