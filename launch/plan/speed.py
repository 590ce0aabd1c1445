"""The speed of device kinds: plans use these figures to estimate times, and to choose widths and modes.

The shipped figures were measured before commit 970d8832; docs/speed.md of that commit has their tables. A CPU's kind
names only its vector instructions. So the shipped figures may come from another processor, and their basis names it.
`python -m launch calibrate` measures this machine's processor and corrects times and widths. `--set-mode` sets a mode.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plasticity_lab.agents.cost import Cost
from plasticity_lab.records.kinds import instructions_of, is_cpu

MODES = ("eager", "compiled", "kernels")
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
    """

    speeds: Mapping[str, Speed]
    basis: str
    host_steps: Mapping[str, float] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)

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
# Rainbow-lite with network=small_impala on invaders, on a Zen 4 EPYC with AVX-512. Eager packs of 1, 4 and 8 and kernel
# packs of 1 and 6 were measured, with reads and writes of the replay memory. Compiled packs took 1.9 times the kernels'
# time; these scripts were not kept. AVX2 alone was not measured.
BOARDS = Speed(
    width={"eager": 8, "compiled": 8, "kernels": 8},
    step_seconds={"eager": 1.1e-2, "compiled": 1e-3, "kernels": 1e-3},
    flops={"eager": 2.5e10, "compiled": 2.7e10, "kernels": 5.1e10},
)
AVX2 = Calibration(
    # python -m launch.bench.compiling on a Zen 4 EPYC; MKL takes AVX2 there. The CNN was measured after the change
    # that made its pooling keep numbers; its step_seconds are those measured for AVX512 below. Kernels reach 1.13
    # and 1.5 times the rate of compiled packs, as on a Zen 3 (analysis/measured/speed/{mlp,cnn}_kernels_zen3.json).
    speeds={
        "dense": Speed(
            width={"eager": 16, "compiled": 8, "kernels": 8},
            step_seconds={"eager": 8.2e-4, "compiled": 3.4e-5, "kernels": 3e-5},
            flops={"eager": 2.2e10, "compiled": 3.7e10, "kernels": 4.1e10},
        ),
        "convolving": Speed(
            width={"eager": 4, "compiled": 1, "kernels": 1},
            step_seconds={"eager": 1.4e-3, "compiled": 1e-4, "kernels": 4.3e-4},
            flops={"eager": 4.1e10, "compiled": 5.9e10, "kernels": 1e11},
        ),
        "boards": BOARDS,
    },
    basis="shipped: measured on an AMD EPYC (Zen 4 with AVX2, and Zen 3), boards with AVX-512; not measured here",
)
AVX512 = Calibration(
    # Packs of 1 and 8 (MLP), 1 and 2 (CNN), timed in turn.
    speeds={
        "dense": Speed(
            width={"eager": 16, "compiled": 8, "kernels": 8},
            step_seconds={"eager": 1.04e-3, "compiled": 9.6e-5, "kernels": 6.9e-5},
            flops={"eager": 2.9e10, "compiled": 4.05e10, "kernels": 4.9e10},
        ),
        "convolving": Speed(
            width={"eager": 4, "compiled": 1, "kernels": 1},
            step_seconds={"eager": 1.4e-3, "compiled": 1e-4, "kernels": 4.3e-4},
            flops={"eager": 3.7e10, "compiled": 5.4e10, "kernels": 7.7e10},
        ),
        "boards": BOARDS,
    },
    basis="shipped: measured on one core of an Intel Xeon with AVX-512, boards on one core of an AMD EPYC; "
    "not measured here",
)
GPU = Calibration(
    # MLP packs of 16, 64, 256 and 512 compiled, 1 and 64 eager; CNN packs of 16 and 64 compiled.
    speeds={
        "dense": Speed(
            width={"eager": 256, "compiled": 256},
            step_seconds={"eager": 8.4e-3, "compiled": 6.6e-5},
            flops={"eager": 4.5e12, "compiled": 4.5e12},
        ),
        "convolving": Speed(
            width={"eager": 32, "compiled": 64},
            step_seconds={"eager": 1.2e-2, "compiled": 6e-4},
            flops={"eager": 4.5e12, "compiled": 1e13},
            memory=1.1,  # make test-gpu measures 1.05 on an H200
        ),
        # Rainbow with network=small_impala in packs of 16 and 64, compiled; eager as above.
        "boards": Speed(
            width={"eager": 32, "compiled": 64},
            step_seconds={"eager": 1.2e-2, "compiled": 3.3e-3},
            flops={"eager": 4.3e11, "compiled": 4.3e11},
            memory=3.0,
        ),
    },
    basis="shipped: measured on an NVIDIA H200; not measured here",
)
