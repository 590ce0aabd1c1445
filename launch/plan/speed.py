"""The speed of device kinds: plans use these figures to estimate times, and to choose widths and modes.

A CPU's kind names only its vector instructions. So the shipped figures (`shipped.yaml`) may be another processor's, and
their basis names it. `python -m launch calibrate` measures this machine's processor and corrects times and widths.
`--set-mode` sets a mode.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from launch.runs.files import table_in
from plasticity_lab.agents.cost import Cost
from plasticity_lab.records.damage import object_of
from plasticity_lab.records.kinds import instructions_of, is_cpu

MODES = ("eager", "compiled", "kernels")
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
USUAL = "dense"
"""The yardstick of networks with matrix products only. Yardsticks without a measurement take its speed."""
FORWARD_SHARE = 0.1
"""The fixed cost of a forward pass, as a share of an eager update's fixed cost: an upper estimate. With one MLP on one
core, a forward pass took 60 µs, half of it for the products, and an eager update 1,260 µs."""
HOST_STEP_SECONDS = 3e-4
"""Seconds of a step in an environment that was not measured: about one step of an Atari game, with four frames."""
GRAPH_SECONDS = 15.0
"""Seconds to compile one graph. A pack's first graph is not counted."""
ON_THE_DISK = 3.0
"""CPU seconds that a command spends on compiled code from the disk: importing torch.compile, and loading."""


@dataclass(frozen=True)
class Speed:
    """The speed of a device for one kind of network, by mode ("eager", "compiled", and "kernels" if it was measured).

    width: mode → the most runs of a pack. step_seconds: mode → the fixed cost of an update, at any width. flops: mode →
    operations a second in matrix products and convolutions. memory: the ratio of measured to estimated bytes of a run.
    """

    width: Mapping[str, Annotated[int, Field(ge=1)]]
    step_seconds: Mapping[str, Seconds]
    flops: Mapping[str, Positive]
    memory: Positive = 1.0

    def over(self, default: "Speed") -> "Speed":
        """This measurement, with the figures of `default` for modes that were not measured."""
        step_seconds = {**default.step_seconds, **self.step_seconds}
        return Speed({**default.width, **self.width}, step_seconds, {**default.flops, **self.flops}, self.memory)

    def seconds(self, mode: str, width: int, updates: int, flops: int) -> float:
        """Estimated seconds of a pack's updates.  flops: operations of one run's update."""
        measured = self._measured(mode)
        return updates * (self.step_seconds[measured] + flops * width / self.flops[measured])

    def widest(self, mode: str) -> int:
        """The most runs of a pack."""
        return self.width[self._measured(mode)]

    def _measured(self, mode: str) -> str:
        """The mode with figures: compiled instead of kernels if the device has no figures for kernels."""
        return "compiled" if mode == "kernels" and mode not in self.width else mode

    def forward_seconds(self, width: int, forwards: float, flops: int) -> float:
        """Estimated seconds of a pack's forward passes without update, from the eager figures.

        flops: operations of one run's forward pass.
        """
        return forwards * (FORWARD_SHARE * self.step_seconds["eager"] + flops * width / self.flops["eager"])

    def bytes(self, estimated: int) -> int:
        """Bytes that a run takes."""
        return int(estimated * self.memory)


@dataclass(frozen=True)
class Calibration:
    """The figures of one kind of device.

    speeds: yardstick of the agents → speed. basis: the measured device, or a note that this device was not measured.
    host_steps: environment → seconds of a step on the host. modes: yardstick → the mode set by hand for `mode=auto`.
    kind: the name of the device, in a file of a store.
    """

    speeds: Mapping[str, Speed]
    basis: str
    host_steps: Mapping[str, Seconds] = field(default_factory=dict)
    modes: Mapping[str, Literal["eager", "compiled", "kernels"]] = field(default_factory=dict)
    kind: str = ""

    def over(self, default: "Calibration") -> "Calibration":
        """This measurement, with the figures of `default` for everything that was not measured."""
        speeds = {name: speed.over(default.of(name)) for name, speed in self.speeds.items()}
        host_steps = {**default.host_steps, **self.host_steps}
        return Calibration({**default.speeds, **speeds}, self.basis, host_steps, self.modes)

    def of(self, yardstick: str) -> Speed:
        """The speed for a yardstick; the speed for `USUAL` if the yardstick was not measured."""
        return self.speeds.get(yardstick, self.speeds[USUAL])

    def seconds(self, cost: Cost, mode: str, width: int) -> float:
        """Estimated seconds of a pack of such runs.  Their steps on the host run one after another."""
        speed = self.of(cost.speed)
        return (
            speed.seconds(mode, width, cost.updates, cost.flops)
            + speed.forward_seconds(width, cost.forwards, cost.forward_flops)
            + speed.forward_seconds(width, cost.looks, cost.look_flops)
            + speed.seconds("eager", width, cost.passes, cost.pass_flops)
            + width * sum(n * self.host_steps.get(name, HOST_STEP_SECONDS) for name, n in cost.host_steps.items())
            + (GRAPH_SECONDS * (cost.graphs - 1) if mode != "eager" else 0.0)
        )


def makespan(held: Sequence[float], waiting: Sequence[float]) -> float:
    """Seconds until the last pack ends, if each worker takes the next pack as soon as it is free.

    held: seconds that each worker still needs for its pack, 0 without a pack; at least one worker. waiting: seconds of
    the other packs, in the order that workers take them.
    """
    ends = list(held)
    heapq.heapify(ends)
    for seconds in waiting:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


@dataclass(frozen=True)
class Rule:
    """The rule for the mode of a run.

    mode: the fastest mode. from_seconds: a run is eager if the estimated saving of that mode is smaller than this.
    """

    mode: str
    from_seconds: float


def default_calibration(kind: str) -> Calibration:
    """The shipped figures, for a device kind without a measurement."""
    if not is_cpu(kind):
        return GPU
    return AVX512 if instructions_of(kind) == "avx512" else AVX2


def rule_of(kind: str, yardstick: str) -> Rule:
    """The rule for the fastest mode on a kind of device; a yardstick without a rule takes the rule of `USUAL`."""
    rules = RULES_ON_A_CPU if is_cpu(kind) else RULES_ON_A_GPU
    return rules.get(yardstick, rules[USUAL])


def known_yardsticks() -> list[str]:
    """The sorted names of the yardsticks that have a rule."""
    return sorted(RULES_ON_A_CPU.keys() | RULES_ON_A_GPU.keys())


BY_KERNELS = Rule("kernels", ON_THE_DISK)
# The figures are for images of 32 × 32 pixels. For 8 × 8 pixels a run saves 2.4 times as much.
CONVOLVING = Rule("kernels", ON_THE_DISK / 2)
RULES_ON_A_CPU = {"dense": BY_KERNELS, "convolving": CONVOLVING, "boards": BY_KERNELS, "ppo": BY_KERNELS}
# The first worker compiles, and later workers find its graphs on the disk. The saving corresponds to some 2,000
# updates in the yardsticks.
RULES_ON_A_GPU = {name: Rule("compiled", 15.0) for name in ("dense", "convolving", "boards")}
_SHIPPED = table_in("plan/shipped.yaml")
COMPILING: Mapping[str, Any] = _SHIPPED["compiling"]
"""Seconds of the first compilation."""
AVX2, AVX512, GPU = (object_of(Calibration, _SHIPPED[name]) for name in ("avx2", "avx512", "gpu"))
