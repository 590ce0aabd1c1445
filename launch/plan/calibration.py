"""How fast a kind of device is, and how wide its packs should be: from which a plan chooses and estimates."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import read, write_json
from plasticity_lab.records.store import Store


@dataclass(frozen=True)
class Speed:
    """How fast a device trains networks of one sort, by mode ("eager", "compiled").

    width: the most runs of a pack. step_seconds: what a step costs whatever its width. flops: operations a second of
    matrix products and convolutions. memory: the bytes a run takes, by those that are estimated.
    """

    width: dict[str, int]
    step_seconds: dict[str, float]
    flops: dict[str, float]
    memory: float = 1.0

    def seconds(self, mode: str, width: int, steps: int, flops: int) -> float:
        """Estimated seconds of a pack.  flops: operations of one run's step."""
        return steps * (self.step_seconds[mode] + flops * width / self.flops[mode])

    def bytes(self, estimated: int) -> int:
        """Bytes that a run takes."""
        return int(estimated * self.memory)


@dataclass(frozen=True)
class Calibration:
    """One kind of device. dense: networks of matrix products alone. convolving: the others.

    basis: what it was measured on, or that it was not.
    """

    dense: Speed
    convolving: Speed
    basis: str

    def of(self, convolves: bool) -> Speed:
        """The speed of networks of that sort."""
        return self.convolving if convolves else self.dense


CPU = Calibration(
    dense=Speed(
        width={"eager": 16, "compiled": 8},
        step_seconds={"eager": 4e-4, "compiled": 7e-5},
        flops={"eager": 4.7e10, "compiled": 6.4e10},
    ),
    convolving=Speed(
        width={"eager": 4, "compiled": 1},
        step_seconds={"eager": 1.5e-4, "compiled": 0.0},
        flops={"eager": 7.5e10, "compiled": 1.1e11},
    ),
    basis="measured on one core of an AMD EPYC (Zen 5)",
)
GPU = Calibration(
    dense=Speed(
        width={"eager": 256, "compiled": 256},
        step_seconds={"eager": 1.5e-3, "compiled": 4e-4},
        flops={"eager": 7e12, "compiled": 7e12},
    ),
    convolving=Speed(
        width={"eager": 32, "compiled": 32},
        step_seconds={"eager": 2e-3, "compiled": 4e-4},
        flops={"eager": 7e12, "compiled": 7e12},
    ),
    basis="computed for a data-centre GPU, not measured",
)


def calibration_of(kind: str, store: Store) -> Calibration:
    """The calibration of a device kind: as measured into the store, else the default.  Raises StoreError."""
    default = CPU if kind.startswith("cpu") else GPU
    path = store.calibration(kind)
    content = read(path)
    if content is None:
        return default
    try:
        value = json.loads(content)
        dense, convolving = (_speed(value[sort], getattr(default, sort)) for sort in ("dense", "convolving"))
        return Calibration(dense, convolving, str(value["basis"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{path} is damaged ({error!r}); delete it, or measure anew with `python -m launch calibrate`."
        ) from error


def _speed(value: Mapping[str, Any], default: Speed) -> Speed:
    """What was measured; a mode that was not is as the default has it."""
    measured = {
        name: {mode: kind(number) for mode, number in value[name].items()}
        for name, kind in (("width", int), ("step_seconds", float), ("flops", float))
    }
    return Speed(
        width=default.width | measured["width"],
        step_seconds=default.step_seconds | measured["step_seconds"],
        flops=default.flops | measured["flops"],
        memory=float(value["memory"]),
    )


def write_calibration(store: Store, kind: str, calibration: Calibration, facts: Mapping[str, Any]) -> None:
    """Keeps a calibration in the store for later plans, with what was measured beside it.  Raises StoreError."""
    write_json(store.calibration(kind), {"kind": kind, **asdict(calibration), **facts})
