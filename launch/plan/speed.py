"""How fast a kind of device is, and how wide its packs should be: by which plans choose widths and estimate times."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from plasticity_lab.agents.cost import Cost

USUAL = "dense"
"""The yardstick, networks of matrix products alone, whose speed is taken for one that was not measured."""
FORWARD_SHARE = 0.1
"""What a pass without an update costs whatever its width, by what an eager update does. Measured on one core with one
MLP: 60 µs, of which the products are half, beside 1,260."""
HOST_STEP_SECONDS = 3e-4
"""What a step of an environment takes that was not measured: about an Atari game's, four frames of it."""
GRAPH_SECONDS = 15.0
"""What compiling takes, for each graph of a pack after its first; that one is not counted."""


@dataclass(frozen=True)
class Speed:
    """How fast a device trains networks of one sort, by mode ("eager", "compiled", "kernels" where there are figures).

    width: the most runs of a pack. step_seconds: what an update costs whatever its width. flops: operations a second of
    matrix products and convolutions. memory: the bytes a run takes, by those that are estimated.
    """

    width: dict[str, int]
    step_seconds: dict[str, float]
    flops: dict[str, float]
    memory: float = 1.0

    def seconds(self, mode: str, width: int, updates: int, flops: int) -> float:
        """Estimated seconds of a pack's updates.  flops: operations of one run's update."""
        measured = self._measured(mode)
        return updates * (self.step_seconds[measured] + flops * width / self.flops[measured])

    def widest(self, mode: str) -> int:
        """The most runs of a pack."""
        return self.width[self._measured(mode)]

    def _measured(self, mode: str) -> str:
        """The mode whose figures serve: where there are none of kernels, those of compiled steps."""
        return "compiled" if mode == "kernels" and mode not in self.width else mode

    def forward_seconds(self, width: int, forwards: float, flops: int) -> float:
        """Estimated seconds of a pack's passes without an update, taken as eager.  flops: operations of one run's."""
        return forwards * (FORWARD_SHARE * self.step_seconds["eager"] + flops * width / self.flops["eager"])

    def bytes(self, estimated: int) -> int:
        """Bytes that a run takes."""
        return int(estimated * self.memory)


@dataclass(frozen=True)
class Calibration:
    """One kind of device.

    speeds: by the agents' yardsticks. basis: what it was measured on, or that it was not. host_steps: seconds of a step
    on the host, by environment. modes: by yardstick, those that somebody has set for `mode=auto`.
    """

    speeds: Mapping[str, Speed]
    basis: str
    host_steps: Mapping[str, float] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)

    def of(self, yardstick: str) -> Speed:
        """The speed by that yardstick; that of `USUAL` where it was not measured."""
        return self.speeds.get(yardstick, self.speeds[USUAL])

    def seconds(self, cost: Cost, mode: str, width: int) -> float:
        """Estimated seconds of a pack of such runs, whose steps on the host follow one another."""
        speed = self.of(cost.speed)
        return (
            speed.seconds(mode, width, cost.updates, cost.flops)
            + speed.forward_seconds(width, cost.forwards, cost.forward_flops)
            + speed.forward_seconds(width, cost.looks, cost.look_flops)
            + width * sum(n * self.host_steps.get(name, HOST_STEP_SECONDS) for name, n in cost.host_steps.items())
            + (GRAPH_SECONDS * (cost.graphs - 1) if mode != "eager" else 0.0)
        )
