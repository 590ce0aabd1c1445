"""Calibrations in the store: measurements of a device kind, and the modes that a user has set for it."""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from launch.plan.speed import MODES, Calibration, Speed, default_calibration
from plasticity_lab.records.damage import DamagedFile, fault_of_fields, is_aside, read_mapping, write_mapping
from plasticity_lab.records.files import names
from plasticity_lab.records.kinds import CPU_BEFORE, device_name, is_cpu
from plasticity_lab.records.store import Store

_FIELDS = {"kind": str, "basis": str, "speeds": dict, "host_steps": dict, "modes": dict}
_SPEED_FIELDS = {"width": dict, "step_seconds": dict, "flops": dict, "memory": int | float}
_BEFORE = ("dense", "convolving")
"""In old files, these speeds are top-level fields, not under "speeds"."""
_ADVICE = "plans take the default figures until `python -m launch calibrate` measures again"


def calibration_of(kind: str, store: Store) -> Calibration:
    """The calibration of a device kind: the store's measurement of a device with that name, or the shipped figures.

    For a CPU without such a file, the file of earlier versions is read.  Raises DamagedFile; StoreError if the disk
    does not answer.
    """
    path, value = _found(kind, store)
    default = default_calibration(kind)
    return default if value is None else _calibration(path, value, default)


def calibrated(store: Store, kind: str) -> tuple[Calibration, list[DamagedFile]]:
    """As `calibration_of`, but for a damaged file the shipped figures, and the error.  Raises StoreError."""
    try:
        return calibration_of(kind, store), []
    except DamagedFile as error:
        return default_calibration(kind), [error]


def _found(kind: str, store: Store) -> tuple[Path, dict[str, Any] | None]:
    """The file of a device kind, and its content or None.

    If a CPU has no file, the file that earlier versions wrote for all CPUs.
    """
    path = store.calibration(device_name(kind))
    value = read_calibration(path)
    if value is None and is_cpu(kind):
        path = store.calibration(CPU_BEFORE)
        value = read_calibration(path)
    return path, value


def damaged_calibrations(store: Store) -> list[DamagedFile]:
    """The errors of damaged calibrations of a store.  Raises StoreError."""
    folder, damaged = store.root / "calibration", []
    for path in [folder / name for name in names(folder) if not is_aside(name)]:
        try:
            if (value := read_calibration(path)) is not None:
                _calibration(path, value, default_calibration(value["kind"]))
        except DamagedFile as error:
            damaged.append(error)
    return damaged


def read_calibration(path: Path) -> dict[str, Any] | None:
    """The content of a calibration, with only its top-level fields checked; None without a file.

    Raises DamagedFile; StoreError.
    """
    value = read_mapping(path, _ADVICE)
    if value is None:
        return None
    if "speeds" not in value and all(name in value for name in _BEFORE):
        value = {**value, "speeds": {name: value[name] for name in _BEFORE}, "host_steps": {}}
    value = {"modes": {}, **value}
    if fault := fault_of_fields(value, _FIELDS):
        raise DamagedFile(path, fault, _ADVICE)
    return value


def _calibration(path: Path, value: Mapping[str, Any], default: Calibration) -> Calibration:
    """The calibration in a file. Missing speeds are filled in from the default.  Raises DamagedFile."""
    speeds = {name: _speed(path, name, speed, default.of(name)) for name, speed in value["speeds"].items()}
    if not _all_numbers(value["host_steps"], may_be_zero=True):
        raise DamagedFile(path, "holds numbers that cannot have been measured (under host_steps)", _ADVICE)
    if not all(mode in MODES for mode in value["modes"].values()):
        raise DamagedFile(path, f"holds unknown modes (under modes); the modes are {', '.join(MODES)}", _ADVICE)
    steps = {**default.host_steps, **value["host_steps"]}
    return Calibration({**default.speeds, **speeds}, value["basis"], steps, value["modes"])


def _speed(path: Path, name: str, value: Any, default: Speed) -> Speed:
    """The measurement with one yardstick. Missing modes are filled in from the default.  Raises DamagedFile."""
    fault = fault_of_fields(value, _SPEED_FIELDS)
    if fault is None:
        positive = [value["width"], value["flops"], {"memory": value["memory"]}]
        if not (all(map(_all_numbers, positive)) and _all_numbers(value["step_seconds"], may_be_zero=True)):
            fault = "holds numbers that cannot have been measured"
    if fault is not None:
        raise DamagedFile(path, f"{fault} (under {name})", _ADVICE)
    return Speed(
        width=default.width | {mode: max(1, int(width)) for mode, width in value["width"].items()},
        step_seconds=default.step_seconds | {mode: float(each) for mode, each in value["step_seconds"].items()},
        flops=default.flops | {mode: float(each) for mode, each in value["flops"].items()},
        memory=float(value["memory"]),
    )


def _all_numbers(values: Mapping[str, Any], may_be_zero: bool = False) -> bool:
    """Whether all values are finite positive numbers, or zero if `may_be_zero`."""
    numbers = [value for value in values.values() if isinstance(value, int | float) and 0 <= value < math.inf]
    return len(numbers) == len(values) and (may_be_zero or all(numbers))


def write_calibration(store: Store, kind: str, calibration: Calibration, facts: Mapping[str, Any]) -> None:
    """Writes a calibration into the store for later plans, with the facts of its measurement.

    If the calibration sets no modes, the modes that were set before stay.  Raises StoreError.
    """
    name = device_name(kind)
    with contextlib.suppress(DamagedFile):
        if not calibration.modes and (before := _found(kind, store)[1]) is not None:
            calibration = replace(calibration, modes=before["modes"])
    write_mapping(store.calibration(name), {"kind": name, **asdict(calibration), **facts})


def set_modes(store: Store, kind: str, modes: Mapping[str, str]) -> Mapping[str, str]:
    """Sets the modes that `mode=auto` takes on a device kind.  modes: yardstick → mode; "auto" removes a setting.

    Returns all modes that are set now.  Raises DamagedFile; StoreError.
    """
    _, before = _found(kind, store)
    empty = {"basis": default_calibration(kind).basis, "speeds": {}, "host_steps": {}, "modes": {}}
    value = empty if before is None else before
    together = {name: mode for name, mode in {**value["modes"], **modes}.items() if mode != "auto"}
    write_mapping(store.calibration(device_name(kind)), {**value, "kind": device_name(kind), "modes": together})
    return together
