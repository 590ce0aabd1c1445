"""What is looked at on this machine and on a compute node alike: store, data, and the code itself."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from launch.doctor.clock import of_clock
from launch.doctor.file_system import file_system
from launch.doctor.finding import FAILS, OK, UNKNOWN, Finding, attempt
from launch.plan.compiling import compiled_folder, not_compiled_here
from launch.wording import in_bytes
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import beside
from plasticity_lab.records.provenance import CHECKOUT, provenance, why_no_commit
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import code_digest

LEAST_FREE = 2**30
"""Bytes below which a store counts as full: checkpoints of a few packs."""
LEAST_FILES = 1000
"""Files below which it does."""
TRIAL_BYTES = 2**25
"""Bytes that are written and removed: a quota shows only where writing meets it."""


def of_store(store: Store, lease_seconds: float) -> list[Finding]:
    """Whether it can be written, or made where there is none yet, and has what leases need; nothing is left."""
    try:
        place = store.try_out()
    except StoreError as error:
        return [Finding(FAILS, str(error))]
    new = "it is not there yet, and can be made; the disk" if place != store.root else "it can be written, and"
    kind = file_system(place)
    words = f"Store {store.root}{f' ({kind})' if kind else ''}: {new} has the hard links of leases."
    return [Finding(OK, words), of_clock(place, lease_seconds), _space(place)]


def of_data(benchmarks: Iterable[Benchmark], folder: str | None) -> list[Finding]:
    """Whether what the benchmarks' tasks are made of is there, complete as far as they can see."""
    place = data_folder(folder)
    return [attempt(lambda benchmark=benchmark: f"Data: {benchmark.verified(place)}") for benchmark in benchmarks]


def software() -> dict[str, Any]:
    """The code that runs here: where, its commit or `why` there is none, versions, and what keeps it from compiling."""
    made = provenance()
    same = {"code": code_digest(), **{key: made[key] for key in ("commit", "dirty", "python", "versions", "host")}}
    why = why_no_commit() if made["commit"] is None else ""
    uncompiled = not_compiled_here()
    words = uncompiled and uncompiled.sentence
    return {"checkout": str(CHECKOUT), "executable": sys.executable, "uncompiled": words, "why": why, **same}


def of_software(facts: Mapping[str, Any]) -> list[Finding]:
    """What runs, and whether records can say which code made them."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    found = [Finding(OK, f"Python {facts['python']} ({facts['executable']}), {versions}.")]
    if facts["commit"] is None:
        words = f"Code in {facts['checkout']}: {facts['why']}. So records name no commit, only a digest of the code."
        found.append(Finding(UNKNOWN, words))
    else:
        changed = ", with changes that are not committed" if facts["dirty"] else ""
        found.append(Finding(OK, f"Code in {facts['checkout']}: commit {facts['commit'][:12]}{changed}."))
    if facts["uncompiled"]:
        words = f"Compiling: {facts['uncompiled']}. So every run is computed eager here, which is slower for long ones."
        return [*found, Finding(UNKNOWN, words)]
    return [*found, Finding(OK, f"Compiling: it works, and {compiled_folder()} keeps what is compiled.")]


def of_scratch() -> Finding:
    """Whether temporary files can be written, which compilers, and sbatch's scripts here, need."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(2**20))
            file.flush()
    except OSError as error:
        return Finding(FAILS, f"Temporary files: {error}; TMPDIR=FOLDER names a place that can be written.")
    return Finding(OK, f"Temporary files: {tempfile.gettempdir()} can be written.")


def _space(place: Path) -> Finding:
    free, files = shutil.disk_usage(place).free, os.statvfs(place)
    if free < LEAST_FREE:
        return Finding(FAILS, f"Space: {in_bytes(free)} are free there, too little; free some, or name another store.")
    if files.f_files and files.f_favail < LEAST_FILES:  # some file systems do not count them
        words = f"Space: the disk can hold only {files.f_favail:,} more files"
        return Finding(FAILS, f"{words}; remove some, or name another store.")
    try:
        with beside(place / "space", bytes(TRIAL_BYTES)):
            pass
    except StoreError as error:
        return Finding(FAILS, f"Space: {in_bytes(free)} are free there, but not for you. {error}")
    return Finding(OK, f"Space: {in_bytes(free)} are free there; a quota may leave less, but {in_bytes(TRIAL_BYTES)}.")
