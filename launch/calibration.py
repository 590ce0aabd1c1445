"""How fast a kind of device is, and how wide its packs should be: from which a plan chooses and estimates."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Calibration:
    """One kind of device.

    width: the most runs of a pack, by mode. step_seconds: what a step costs whatever its width, by mode.
    flops: floating-point operations a second of the matrix products, by mode. basis: where the numbers come from.
    """

    width: dict[str, int]
    step_seconds: dict[str, float]
    flops: dict[str, float]
    basis: str

    def seconds(self, mode: str, width: int, steps: int, parameters: int, batch_size: int) -> float:
        """Estimated seconds of a pack: 6 operations a parameter and example (forward, and twice that backward)."""
        work = 6 * parameters * batch_size * width / self.flops[mode]
        return steps * (self.step_seconds[mode] + work)


CPU = Calibration(
    width={"eager": 16, "compiled": 8},
    step_seconds={"eager": 5e-4, "compiled": 1.5e-4},
    flops={"eager": 7e10, "compiled": 1e11},
    basis="measured on one core of an AMD EPYC (Zen 4)",
)
GPU = Calibration(
    width={"eager": 256, "compiled": 256},
    step_seconds={"eager": 1.5e-3, "compiled": 4e-4},
    flops={"eager": 1e13, "compiled": 1e13},
    basis="computed for a data-centre GPU, not measured",
)


def calibration_of(kind: str) -> Calibration:
    """The calibration of a device kind."""
    return CPU if kind == "cpu" else GPU
