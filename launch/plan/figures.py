"""The figures that are shipped: how fast kinds of devices are, and from when on which mode is the fastest there.

docs/speed.md has the measurements, by the commands that the comments name. Of a CPU's kind only the vector
instructions say how fast it is, so these figures are another processor's, and say of which; `python -m launch
calibrate` measures the one at hand, which corrects times and widths. Rules change here, and by name (`--set-mode`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from launch.plan.speed import USUAL, Calibration, Speed
from plasticity_lab.records.kinds import instructions_of, is_cpu


@dataclass(frozen=True)
class Rule:
    """Which mode is the fastest, by the whole command's CPU time, graphs on the disk.

    from_updates: runs with fewer are eager. fused: the mode of the others where our kernels take the optimizer's step
    too (`Cost.fused`); unfused: where they do not.
    """

    from_updates: int
    fused: str
    unfused: str


@dataclass(frozen=True)
class Figures:
    """calibration: what times and widths are by. rules: by yardstick (`Cost.speed`)."""

    calibration: Calibration
    rules: Mapping[str, Rule]


def default_calibration(kind: str) -> Calibration:
    """What is taken for a device kind that was not measured."""
    return _figures_of(kind).calibration


def rule_of(kind: str, yardstick: str) -> Rule:
    """From when on which mode is the fastest on a kind of device; that of `USUAL` for a yardstick without a rule."""
    rules = _figures_of(kind).rules
    return rules.get(yardstick, rules[USUAL])


def known_yardsticks() -> list[str]:
    """Those that have a rule of their own, in order."""
    return sorted({name for figures in (AVX2, AVX512, GPU) for name in figures.rules})


def _figures_of(kind: str) -> Figures:
    if not is_cpu(kind):
        return GPU
    return AVX512 if instructions_of(kind) == "avx512" else AVX2


AVX2 = Figures(
    Calibration(
        speeds={
            "dense": Speed(
                width={"eager": 16, "compiled": 8, "kernels": 8},
                step_seconds={"eager": 1e-3, "compiled": 1e-4, "kernels": 1e-4},
                flops={"eager": 2.9e10, "compiled": 4e10, "kernels": 5e10},
            ),
            "convolving": Speed(
                width={"eager": 4, "compiled": 1, "kernels": 1},
                step_seconds={"eager": 1.5e-4, "compiled": 0.0, "kernels": 0.0},
                flops={"eager": 7.5e10, "compiled": 1.1e11, "kernels": 1.1e11},
            ),
        },
        basis="docs/speed.md TODO",
    ),
    rules={
        "dense": Rule(3_000, "kernels", "kernels"),
        "convolving": Rule(3_000, "kernels", "kernels"),
        "ppo": Rule(3_000, "kernels", "kernels"),
    },
)
AVX512 = AVX2
GPU = Figures(
    Calibration(
        speeds={
            "dense": Speed(
                width={"eager": 256, "compiled": 256},
                step_seconds={"eager": 1.5e-3, "compiled": 4e-4},
                flops={"eager": 7e12, "compiled": 7e12},
            ),
            "convolving": Speed(
                width={"eager": 32, "compiled": 32},
                step_seconds={"eager": 2e-3, "compiled": 4e-4},
                flops={"eager": 7e12, "compiled": 7e12},
            ),
        },
        basis="computed for a data-centre GPU, not measured",
    ),
    rules={"dense": Rule(10_000, "compiled", "compiled"), "convolving": Rule(8_000, "compiled", "compiled")},
)
