"""How fast a kind of device is, and how wide its packs should be: from which a plan chooses and estimates."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plasticity_lab.agents.cost import Cost
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, is_aside, read_mapping
from plasticity_lab.records.files import names, write_json
from plasticity_lab.records.kinds import CPU_BEFORE, device_name, is_cpu
from plasticity_lab.records.store import Store

USUAL = "dense"
"""The yardstick, networks of matrix products alone, whose speed is taken for one that was not measured."""
FORWARD_SHARE = 0.1
"""What a pass without an update costs whatever its width, by what an eager update does. Measured on one core with one
MLP: 60 µs, of which the products are half, beside 1,260."""
HOST_STEP_SECONDS = 3e-4
"""What a step of an environment takes that was not measured: about an Atari game's, four frames of it."""
GRAPH_SECONDS = 15.0
"""What compiling takes, for each graph of a pack after its first; that one is not counted."""

KERNELS_FROM = 1.1
"""So many times as fast as compiled packs must those by our kernels be, by measurement, for mode=auto to take them."""

_FIELDS = {"kind": str, "basis": str, "speeds": dict, "host_steps": dict}
_SPEED_FIELDS = {"width": dict, "step_seconds": dict, "flops": dict, "memory": int | float}
_BEFORE = ("dense", "convolving")
"""The speeds that files of before had, beside the other fields."""
_ADVICE = "plans take the default figures until `python -m launch calibrate` measures anew"


@dataclass(frozen=True)
class Speed:
    """How fast a device trains networks of one sort, by mode ("eager", "compiled", "kernels" where measured).

    width: the most runs of a pack. step_seconds: what an update costs whatever its width. flops: operations a second of
    matrix products and convolutions. memory: the bytes a run takes, by those that are estimated. comparable: the
    modes whose figures were found together, sorted; those of others are another device's.
    """

    width: dict[str, int]
    step_seconds: dict[str, float]
    flops: dict[str, float]
    memory: float = 1.0
    comparable: tuple[str, ...] = ("compiled", "eager")

    def seconds(self, mode: str, width: int, updates: int, flops: int) -> float:
        """Estimated seconds of a pack's updates.  flops: operations of one run's update."""
        measured = self._measured(mode)
        return updates * (self.step_seconds[measured] + flops * width / self.flops[measured])

    def widest(self, mode: str) -> int:
        """The most runs of a pack."""
        return self.width[self._measured(mode)]

    def kernels_pay(self, flops: int) -> bool:
        """Whether packs by our kernels were measured, beside compiled ones, to be enough faster.

        flops: operations of one run's update.
        """

        def rate(mode: str) -> float:
            width = self.widest(mode)
            return width / self.seconds(mode, width, 1, flops)

        return {"compiled", "kernels"} <= set(self.comparable) and rate("kernels") >= KERNELS_FROM * rate("compiled")

    def _measured(self, mode: str) -> str:
        """The mode whose figures serve: where kernels were not measured, those of compiled steps."""
        return "compiled" if mode == "kernels" and mode not in self.width else mode

    def forward_seconds(self, width: int, forwards: int, flops: int) -> float:
        """Estimated seconds of a pack's passes without an update, taken as eager.  flops: operations of one run's."""
        return forwards * (FORWARD_SHARE * self.step_seconds["eager"] + flops * width / self.flops["eager"])

    def bytes(self, estimated: int) -> int:
        """Bytes that a run takes."""
        return int(estimated * self.memory)


@dataclass(frozen=True)
class Calibration:
    """One kind of device.

    speeds: by the agents' yardsticks. basis: what it was measured on, or that it was not. host_steps: seconds of a step
    on the host, by environment.
    """

    speeds: Mapping[str, Speed]
    basis: str
    host_steps: Mapping[str, float] = field(default_factory=dict)

    def of(self, yardstick: str) -> Speed:
        """The speed by that yardstick; that of `USUAL` where it was not measured."""
        return self.speeds.get(yardstick, self.speeds[USUAL])

    def seconds(self, cost: Cost, mode: str, width: int) -> float:
        """Estimated seconds of a pack of such runs, whose steps on the host follow one another."""
        speed = self.of(cost.speed)
        return (
            speed.seconds(mode, width, cost.updates, cost.flops)
            + speed.forward_seconds(width, cost.forwards, cost.forward_flops)
            + width * sum(n * self.host_steps.get(name, HOST_STEP_SECONDS) for name, n in cost.host_steps.items())
            + (GRAPH_SECONDS * (cost.graphs - 1) if mode != "eager" else 0.0)
        )


CPU = Calibration(
    speeds={
        "dense": Speed(
            width={"eager": 16, "compiled": 8},
            step_seconds={"eager": 4e-4, "compiled": 7e-5},
            flops={"eager": 4.7e10, "compiled": 6.4e10},
        ),
        "convolving": Speed(
            width={"eager": 4, "compiled": 1},
            step_seconds={"eager": 1.5e-4, "compiled": 0.0},
            flops={"eager": 7.5e10, "compiled": 1.1e11},
        ),
    },
    basis="measured on one core of an AMD EPYC (Zen 5)",
)
GPU = Calibration(
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
)


def default_calibration(kind: str) -> Calibration:
    """What is taken for a device kind that was not measured."""
    return CPU if is_cpu(kind) else GPU


def calibration_of(kind: str, store: Store) -> Calibration:
    """The calibration of a device kind: as measured into the store on a device of that name, else the default.

    Of a CPU also as earlier versions measured it.  Raises DamagedFile; StoreError if the disk does not answer.
    """
    path = store.calibration(device_name(kind))
    value = read_calibration(path)
    if value is None and is_cpu(kind):
        path = store.calibration(CPU_BEFORE)
        value = read_calibration(path)
    return default_calibration(kind) if value is None else _calibration(path, value, default_calibration(kind))


def damaged_calibrations(store: Store) -> list[DamagedFile]:
    """What is wrong with calibrations of a store.  Raises StoreError."""
    folder, found = store.root / "calibration", []
    for path in [folder / name for name in names(folder) if not is_aside(name)]:
        try:
            if (value := read_calibration(path)) is not None:
                _calibration(path, value, default_calibration(value["kind"]))
        except DamagedFile as error:
            found.append(error)
    return found


def read_calibration(path: Path) -> dict[str, Any] | None:
    """What a file of the store's folder of calibrations holds, not looked into deeply; None where there is no file.

    Raises DamagedFile; StoreError.
    """
    value = read_mapping(path, _ADVICE)
    if value is None:
        return None
    if "speeds" not in value and all(name in value for name in _BEFORE):
        value = {**value, "speeds": {name: value[name] for name in _BEFORE}, "host_steps": {}}
    if fault := fault_of_fields(value, _FIELDS):
        raise DamagedFile(path, fault, _ADVICE)
    return value


def _calibration(path: Path, value: Mapping[str, Any], default: Calibration) -> Calibration:
    """The calibration that a file holds, and the default's speeds that it lacks.  Raises DamagedFile."""
    speeds = {name: _speed(path, name, speed, default.of(name)) for name, speed in value["speeds"].items()}
    steps = value["host_steps"]
    if not all(isinstance(each, int | float) and 0 <= each < math.inf for each in steps.values()):
        raise DamagedFile(path, "holds numbers that cannot have been measured (under host_steps)", _ADVICE)
    return Calibration({**default.speeds, **speeds}, value["basis"], {**default.host_steps, **steps})


def _speed(path: Path, name: str, value: Any, default: Speed) -> Speed:
    """What was measured by one yardstick; a mode that was not is as the default has it.  Raises DamagedFile."""
    fault = fault_of_fields(value, _SPEED_FIELDS)
    if fault is None:
        numbers = [*value["width"].values(), *value["flops"].values(), value["memory"]]
        seconds = list(value["step_seconds"].values())
        if not all(isinstance(number, int | float) for number in [*numbers, *seconds]):
            fault = "holds something else than numbers"
        elif not (all(0 < number < math.inf for number in numbers) and all(0 <= each < math.inf for each in seconds)):
            fault = "holds numbers that cannot have been measured"
    if fault is not None:
        raise DamagedFile(path, f"{fault} (under {name})", _ADVICE)
    return Speed(
        width=default.width | {mode: max(1, int(width)) for mode, width in value["width"].items()},
        step_seconds=default.step_seconds | {mode: float(each) for mode, each in value["step_seconds"].items()},
        flops=default.flops | {mode: float(each) for mode, each in value["flops"].items()},
        memory=float(value["memory"]),
        comparable=tuple(sorted(value["width"])),
    )


def write_calibration(store: Store, kind: str, calibration: Calibration, facts: Mapping[str, Any]) -> None:
    """Keeps a calibration in the store for later plans, with what was measured beside it.  Raises StoreError."""
    name = device_name(kind)
    write_json(store.calibration(name), {"kind": name, **asdict(calibration), **facts})
