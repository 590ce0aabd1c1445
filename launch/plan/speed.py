"""How fast kinds of devices are: the figures by which plans estimate times, and choose widths and modes.

docs/speed.md has the measurements of the shipped figures, by the commands that the comments name. A CPU's kind names
only its vector instructions. So the shipped figures are from another processor, and their basis names it. `python -m
launch calibrate` measures the processor at hand, which corrects times and widths, and `--set-mode` changes a rule.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plasticity_lab.agents.cost import Cost
from plasticity_lab.records.kinds import instructions_of, is_cpu

USUAL = "dense"
"""The yardstick of networks that have matrix products only. Its speed serves for yardsticks without a measurement."""
FORWARD_SHARE = 0.1
"""The fixed cost of a forward pass, as a share of an eager update's. Measured on one core with one MLP: 60 µs, of which
the products are half, to 1,260 µs."""
HOST_STEP_SECONDS = 3e-4
"""A step of an environment that was not measured: about one of an Atari game, with four frames."""
GRAPH_SECONDS = 15.0
"""Compiling one graph. A pack's first graph is not counted."""
ON_THE_DISK = 3.0
"""CPU seconds that a command spends on compiled code which lies on the disk: importing torch.compile, loading."""


@dataclass(frozen=True)
class Speed:
    """How fast a device trains one kind of network, by mode ("eager", "compiled", and "kernels" if it was measured).

    width: the most runs of a pack. step_seconds: the cost of an update at any width. flops: operations a second of
    matrix products and convolutions. memory: the bytes that a run takes, relative to the estimate.
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
        """The mode to read figures of: compiled instead of kernels if the device has no figures of kernels."""
        return "compiled" if mode == "kernels" and mode not in self.width else mode

    def forward_seconds(self, width: int, forwards: float, flops: int) -> float:
        """Estimated seconds of a pack's forward passes without update, by eager figures.  flops: of one run's pass."""
        return forwards * (FORWARD_SHARE * self.step_seconds["eager"] + flops * width / self.flops["eager"])

    def bytes(self, estimated: int) -> int:
        """Bytes that a run takes."""
        return int(estimated * self.memory)


@dataclass(frozen=True)
class Calibration:
    """The figures of one kind of device.

    speeds: by yardstick of the agents. basis: the device that was measured, or a note that this one was not.
    host_steps: environment → seconds of a step on the host. modes: yardstick → the mode set by hand for `mode=auto`.
    """

    speeds: Mapping[str, Speed]
    basis: str
    host_steps: Mapping[str, float] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)

    def of(self, yardstick: str) -> Speed:
        """The speed by that yardstick; by `USUAL` if it was not measured."""
        return self.speeds.get(yardstick, self.speeds[USUAL])

    def seconds(self, cost: Cost, mode: str, width: int) -> float:
        """Estimated seconds of a pack of such runs.  Their steps on the host follow one another."""
        speed = self.of(cost.speed)
        return (
            speed.seconds(mode, width, cost.updates, cost.flops)
            + speed.forward_seconds(width, cost.forwards, cost.forward_flops)
            + speed.forward_seconds(width, cost.looks, cost.look_flops)
            + width * sum(n * self.host_steps.get(name, HOST_STEP_SECONDS) for name, n in cost.host_steps.items())
            + (GRAPH_SECONDS * (cost.graphs - 1) if mode != "eager" else 0.0)
        )


def makespan(held: Sequence[float], waiting: Sequence[float]) -> float:
    """Seconds until the last pack ends, if each worker takes the next pack as soon as it is free.

    held: seconds that each worker still needs for its pack, 0 for none; at least one worker. waiting: seconds of the
    other packs, in the order in which workers take them.
    """
    ends = list(held)
    heapq.heapify(ends)
    for seconds in waiting:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


@dataclass(frozen=True)
class Rule:
    """mode: the fastest one. from_seconds: a run is eager if the figures promise a smaller saving than this."""

    mode: str
    from_seconds: float


@dataclass(frozen=True)
class Figures:
    """calibration: the figures for times and widths. rules: by yardstick (`Cost.speed`)."""

    calibration: Calibration
    rules: Mapping[str, Rule]


def default_calibration(kind: str) -> Calibration:
    """The shipped figures, for a device kind without a measurement."""
    return _figures_of(kind).calibration


def rule_of(kind: str, yardstick: str) -> Rule:
    """The rule for the fastest mode on a kind of device; that of `USUAL` for a yardstick without one."""
    rules = _figures_of(kind).rules
    return rules.get(yardstick, rules[USUAL])


def known_yardsticks() -> list[str]:
    """The yardsticks that have a rule of their own, in order."""
    return sorted(RULES_ON_A_CPU.keys() | GPU.rules.keys())


def _figures_of(kind: str) -> Figures:
    if not is_cpu(kind):
        return GPU
    return AVX512 if instructions_of(kind) == "avx512" else AVX2


BY_KERNELS = Rule("kernels", ON_THE_DISK)
# The figures are for images of 32 × 32 pixels. For 8 × 8 pixels a run saves 2.4 times as much (docs/speed.md).
CONVOLVING = Rule("kernels", ON_THE_DISK / 2)
RULES_ON_A_CPU = {"dense": BY_KERNELS, "convolving": CONVOLVING, "boards": BY_KERNELS, "ppo": BY_KERNELS}
# Rainbow-lite with network=small_impala on invaders, on an EPYC of Zen 4 with AVX-512: eager in packs of 1, 4 and 8,
# kernels of 1 and 6, reading and writing the memory included; compiled at 1.9 times the kernels' time, by scripts that
# were not kept. AVX2 alone was not measured. docs/speed.md, "Value agents", has Rainbow in packs of 1 and 8.
BOARDS = Speed(
    width={"eager": 8, "compiled": 8, "kernels": 8},
    step_seconds={"eager": 1.1e-2, "compiled": 1e-3, "kernels": 1e-3},
    flops={"eager": 2.5e10, "compiled": 2.7e10, "kernels": 5.1e10},
)
AVX2 = Figures(
    Calibration(
        # python -m launch.bench.compiling on an EPYC of Zen 4, where MKL takes AVX2; of the CNN since its pooling keeps
        # numbers, and what of its step is not products as below. Kernels: 1.13 and 1.5 × compiled packs, as on a Zen 3
        # (mlp_kernels_zen3.txt, cnn_kernels.txt).
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
        basis="shipped: of an AMD EPYC, Zen 4 with AVX2 and Zen 3, boards with AVX-512, as docs/speed.md has them; "
        "not measured here",
    ),
    rules=RULES_ON_A_CPU,
)
AVX512 = Figures(
    Calibration(
        # The yardsticks in packs of 1 and 8 (MLP), 1 and 2 (CNN), in turns: docs/speed.md, "Which mode a run takes".
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
        basis="shipped: measured on one core of an Intel Xeon with AVX-512, boards on one of an AMD EPYC, as "
        "docs/speed.md has it; not measured here",
    ),
    rules=RULES_ON_A_CPU,
)
GPU = Figures(
    Calibration(
        # docs/speed.md, "On a GPU": packs of 16, 64, 256 and 512 compiled, of 1 and 64 eager; of the CNN of 16 and 64,
        # compiled.
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
                memory=1.1,  # 1.05 on an H200, by what make test-gpu looks at
            ),
            # Rainbow with network=small_impala in packs of 16 and 64, compiled; eager as above.
            "boards": Speed(
                width={"eager": 32, "compiled": 64},
                step_seconds={"eager": 1.2e-2, "compiled": 3.3e-3},
                flops={"eager": 4.3e11, "compiled": 4.3e11},
                memory=3.0,
            ),
        },
        basis="shipped: of an NVIDIA H200, as docs/speed.md has it; not measured here",
    ),
    # The first worker compiles, and later ones find its graphs on the disk: some 2,000 updates of the yardsticks.
    rules={name: Rule("compiled", 15.0) for name in ("dense", "convolving", "boards")},
)
