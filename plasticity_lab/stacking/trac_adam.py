"""TRAC around Adam."""

from plasticity_lab.component import check
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.trac import TRAC


class TRACAdam(TRAC):
    """TRAC with the steps of Adam. Its settings are Adam's, and `scale`."""

    moments = Adam.moments
    of_rate = Adam.of_rate

    def __init__(
        self,
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        reset: str = "never",
        scale: float = 1e-8,
        schedule: str = "constant",
        schedule_by: str = "task",
        warmup: float = 0.0,
        final: float = 0.0,
    ) -> None:
        self.base = Adam(lr, beta1, beta2, epsilon, reset)
        self.lr, self.beta1, self.beta2, self.epsilon = lr, beta1, beta2, epsilon
        self.reset = reset
        self.scale = check("optimizer.scale", scale, above=0)
        self.set_schedule(schedule, schedule_by, warmup, final)
