"""Calibrations in the store: measurements of a device kind, and the modes that a user has set for it."""

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from launch.plan.device import not_compiled_here
from launch.plan.planner import Resources
from launch.plan.speed import Calibration, default_calibration
from plasticity_lab.records.damage import DamagedFile, is_aside, read_as, read_mapping, write_mapping
from plasticity_lab.records.files import names
from plasticity_lab.records.kinds import device_name
from plasticity_lab.records.store import Store

_ADVICE = "plans take the default figures until `python -m launch calibrate` measures again"


def calibration_of(kind: str, store: Store) -> Calibration:
    """The calibration of a device kind: the store's measurement of a device with that name, or the shipped figures.

    Raises DamagedFile; StoreError if the disk does not answer.
    """
    measured, default = read_calibration(store.calibration(device_name(kind))), default_calibration(kind)
    return default if measured is None else measured.over(default)


def calibrated(store: Store, kind: str) -> tuple[Calibration, list[DamagedFile]]:
    """As `calibration_of`, but for a damaged file the shipped figures, and the error.  Raises StoreError."""
    try:
        return calibration_of(kind, store), []
    except DamagedFile as error:
        return default_calibration(kind), [error]


def resources_on(
    store: Store, kind: str, memory: int, workers: int, known: bool = True, host_memory: int = sys.maxsize
) -> Resources:
    """The resources of workers on a kind of device (see `Resources`), by its calibration.  Raises StoreError."""
    calibration, damaged = calibrated(store, kind)
    return Resources(kind, calibration, not_compiled_here(), memory, workers, damaged, known, host_memory)


def calibrations_in(store: Store, damaged: list[DamagedFile]) -> list[Calibration]:
    """All calibrations of a store, as measured. The errors of damaged files go to `damaged`.  Raises StoreError."""
    folder, calibrations = store.root / "calibration", []
    for path in [folder / name for name in names(folder) if not is_aside(name)]:
        try:
            calibrations.append(read_calibration(path))
        except DamagedFile as error:
            damaged.append(error)
    return [calibration for calibration in calibrations if calibration is not None]


def damaged_calibrations(store: Store) -> list[DamagedFile]:
    """The errors of damaged calibrations of a store.  Raises StoreError."""
    damaged: list[DamagedFile] = []
    calibrations_in(store, damaged)
    return damaged


def read_calibration(path: Path) -> Calibration | None:
    """A calibration as measured; None without a file.  Raises DamagedFile; StoreError."""
    return read_as(Calibration, path, _ADVICE)


def write_calibration(store: Store, kind: str, calibration: Calibration, facts: Mapping[str, Any]) -> None:
    """Writes a calibration into the store for later plans, with the facts of its measurement.

    If the calibration sets no modes, the modes that were set before stay.  Raises StoreError.
    """
    path = store.calibration(device_name(kind))
    with contextlib.suppress(DamagedFile):
        if not calibration.modes and (before := read_calibration(path)) is not None:
            calibration = replace(calibration, modes=before.modes)
    write_mapping(path, {**asdict(replace(calibration, kind=device_name(kind))), **facts})


def set_modes(store: Store, kind: str, modes: Mapping[str, str]) -> Mapping[str, str]:
    """Sets the modes that `mode=auto` takes on a device kind.  modes: yardstick → mode; "auto" removes a setting.

    Returns all modes that are set now.  Raises DamagedFile; StoreError.
    """
    path = store.calibration(device_name(kind))
    before = read_calibration(path) or Calibration({}, default_calibration(kind).basis, kind=device_name(kind))
    together = {name: mode for name, mode in {**before.modes, **modes}.items() if mode != "auto"}
    write_mapping(path, {**asdict(before), **(read_mapping(path, _ADVICE) or {}), "modes": together})
    return together
