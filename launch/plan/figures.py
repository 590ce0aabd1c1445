"""The figures that are shipped: how fast kinds of devices are, and which mode is the fastest there.

docs/speed.md has the measurements, by the commands that the comments name. Of a CPU's kind only the vector
instructions say how fast it is, so these figures are another processor's, and say of which; `python -m launch
calibrate` measures the one at hand, which corrects times and widths. Rules change here, and by name (`--set-mode`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from launch.plan.speed import USUAL, Calibration, Speed
from plasticity_lab.records.kinds import instructions_of, is_cpu

ON_THE_DISK = 3.0
"""CPU seconds that a command spends on compiled code which lies on the disk: importing torch.compile, loading."""


@dataclass(frozen=True)
class Rule:
    """Which mode is the fastest.

    fused: where our kernels take the optimizer's step too (`Cost.fused`); unfused: where they do not. from_seconds: a
    run for which that mode would save less, by the figures, beside an eager one, is eager.
    """

    fused: str
    unfused: str
    from_seconds: float


@dataclass(frozen=True)
class Figures:
    """calibration: what times and widths are by. rules: by yardstick (`Cost.speed`)."""

    calibration: Calibration
    rules: Mapping[str, Rule]


def default_calibration(kind: str) -> Calibration:
    """What is taken for a device kind that was not measured."""
    return _figures_of(kind).calibration


def rule_of(kind: str, yardstick: str) -> Rule:
    """Which mode is the fastest on a kind of device; the rule of `USUAL` for a yardstick without one."""
    rules = _figures_of(kind).rules
    return rules.get(yardstick, rules[USUAL])


def known_yardsticks() -> list[str]:
    """Those that have a rule of their own, in order."""
    return sorted({name for figures in (AVX2, AVX512, GPU) for name in figures.rules})


def _figures_of(kind: str) -> Figures:
    if not is_cpu(kind):
        return GPU
    return AVX512 if instructions_of(kind) == "avx512" else AVX2


BY_KERNELS = Rule("kernels", "kernels", ON_THE_DISK)
# The figures are of images of 32 × 32 pixels. For those of 8 × 8 a run saves 2.4 times what they say (docs/speed.md).
CONVOLVING = Rule("kernels", "kernels", ON_THE_DISK / 2)
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
    rules={"dense": BY_KERNELS, "convolving": CONVOLVING, "boards": BY_KERNELS, "ppo": BY_KERNELS},
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
    rules={"dense": BY_KERNELS, "convolving": CONVOLVING, "boards": BY_KERNELS, "ppo": BY_KERNELS},
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
    rules={name: Rule("compiled", "compiled", 15.0) for name in ("dense", "convolving", "boards")},
)
