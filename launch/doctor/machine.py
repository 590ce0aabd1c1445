"""Findings of the doctor, a sentence each; checks on this machine and on a compute node: store, data, code, and W&B."""

import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch.plan.device import compiled_folder, devices, mps_runs, not_compiled_here, workers_to_share
from launch.tracking.wandb.environment import HOW_TO_CONFIGURE, check_tracking, decided, key_configured, server
from launch.wording import counted, in_bytes
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import ConfigError, PlasticityError, StoreError
from plasticity_lab.records.files import beside, clock_offset, disk_errors
from plasticity_lab.records.provenance import CHECKOUT, provenance, why_no_commit
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import code_digest

OK, FAILS, UNKNOWN = "ok", "fails", "unknown"
LEAST_FREE = 2**30
"""A store with fewer free bytes counts as full: they are the checkpoints of a few packs."""
LEAST_FILES = 1000
"""A store that can take fewer files counts as full."""
TRIAL_BYTES = 2**25
"""Bytes that are written and removed: only writing reveals a quota."""
STAT_SECONDS = 15.0
"""The longest wait for an answer of the file server."""
STAMPED_BY_CLIENTS = ("fuseblk", "fuse", "lustre", "sshfs", "9p", "smb2", "cifs")
"""File systems (by their names in `stat`) with clients that may stamp files by the client's clock."""
SEEN_SECONDS = 1.0
"""If the offset is larger, the stamps surely do not come from this machine's clock."""
NETWORK_SECONDS = 15.0
INSTEAD = "say tracking=wandb_offline, and upload later with `python -m launch sync`"


@dataclass(frozen=True)
class Finding:
    """state: ok | fails | unknown. words: the subject, and the way out of a failure."""

    state: str
    words: str


def attempt(question: Callable[[], str]) -> Finding:
    """ok with the answer to the question, or fails with the sentence of its error."""
    try:
        return Finding(OK, question())
    except PlasticityError as error:
        return Finding(FAILS, str(error))


def show(place: str, findings: Sequence[Finding]) -> None:
    """Prints findings under the name of their place."""
    print(f"{place}:", flush=True)
    for finding in findings:
        print(f"  {finding.state:<11}  {finding.words}", flush=True)


def of_store(store: Store, lease_seconds: float) -> list[Finding]:
    """Whether the store can be written, or made, and supports leases; leaves nothing behind."""
    try:
        place = store.try_out()
    except StoreError as error:
        return [Finding(FAILS, str(error))]
    new = "it is not there yet, and can be made; the disk" if place != store.root else "it can be written, and"
    kind = file_system(place)
    words = f"Store {store.root}{f' ({kind})' if kind else ''}: {new} has the hard links of leases."
    return [Finding(OK, words), of_clock(place, lease_seconds), _space(place)]


def of_data(benchmarks: Iterable[Benchmark], folder: str | None) -> list[Finding]:
    """Whether the data of the benchmarks' tasks exists and is complete, as far as the benchmarks can check."""
    place = data_folder(folder)
    return [attempt(lambda benchmark=benchmark: f"Data: {benchmark.verified(place)}") for benchmark in benchmarks]


def software() -> dict[str, Any]:
    """The code that runs here: its folder, its commit or `why` it has none, versions, and why it cannot compile."""
    made, uncompiled = provenance(), not_compiled_here()
    return {
        "checkout": str(CHECKOUT),
        "executable": sys.executable,
        "uncompiled": uncompiled and uncompiled.sentence,
        "why": why_no_commit() if made["commit"] is None else "",
        "code": code_digest(),
        **{key: made[key] for key in ("commit", "dirty", "python", "versions", "host")},
    }


def of_software(facts: Mapping[str, Any]) -> list[Finding]:
    """Python, packages and code, and whether records can name the code that made them."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    findings = [Finding(OK, f"Python {facts['python']} ({facts['executable']}), {versions}.")]
    if facts["commit"] is None:
        words = f"Code in {facts['checkout']}: {facts['why']}. So records name no commit, only a digest of the code."
        findings.append(Finding(UNKNOWN, words))
    else:
        changed = ", with changes that are not committed" if facts["dirty"] else ""
        findings.append(Finding(OK, f"Code in {facts['checkout']}: commit {facts['commit'][:12]}{changed}."))
    if facts["uncompiled"]:
        words = f"Compiling: {facts['uncompiled']}. So every run is computed eager here, which is slower for long ones."
        return [*findings, Finding(UNKNOWN, words)]
    return [*findings, Finding(OK, f"Compiling: it works, and {compiled_folder()} keeps the compiled code.")]


def of_gpus() -> list[Finding]:
    """Whether our kernels run on GPUs, and several workers can use one at the same time; [] without GPUs."""
    gpus = [name for name in devices("auto") if name != "cpu"]
    if not gpus:
        return []
    kernels = _of_kernels(gpus[0])
    if mps_runs():
        share = counted(workers_to_share(len(gpus)), "worker")
        return [kernels, Finding(OK, f"Sharing GPUs: MPS runs; up to {share} of agents that act use each GPU.")]
    return [
        kernels,
        Finding(
            UNKNOWN,
            "Sharing GPUs: MPS does not run, so each GPU has one worker, and waits while environments are stepped; "
            "`nvidia-cuda-mps-control -d` starts it.",
        ),
    ]


def _of_kernels(gpu: str) -> Finding:
    """Whether our kernels run on a GPU."""
    import torch

    from plasticity_lab.kernels import on_gpu

    reason = on_gpu.hindrance(torch.device(gpu))
    if reason is None:
        return Finding(OK, f"Kernels for GPUs: they run on {gpu}.")
    words = (
        f"they do not run on {gpu} ({reason}). So runs there are eager, and their last digits depend on their packs."
    )
    return Finding(UNKNOWN, f"Kernels for GPUs: {words}")


def of_scratch() -> Finding:
    """Whether temporary files can be written; compilers and the scripts for sbatch need them."""
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


def file_system(folder: Path) -> str:
    """The name of the file system of a folder, from `stat`; empty if `stat` does not know it."""
    command = ["stat", "--file-system", "--format=%T", folder]
    try:
        stat = subprocess.run(command, capture_output=True, text=True, timeout=STAT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return stat.stdout.strip() if stat.returncode == 0 else ""


def of_clock(place: Path, lease_seconds: float) -> Finding:
    """Compares the clock that stamps the store's files with this machine's, by writing and by touching a file.

    Leases compare these stamps, so all must come from one clock. Raises StoreError.
    """
    written, touched = clock_offset(place), _offset_of_a_touch(place)
    words = f"Clocks: the store's files are stamped {_apart(written)} this machine's clock"
    if abs(written - touched) > SEEN_SECONDS:
        words += f" when they are written, and {_apart(touched)} it when they are touched: leases would look too old"
        return Finding(FAILS, f"{words}. Put the store on another file system.")
    if abs(written) > lease_seconds / 2:
        right = "have the clocks set (NTP), or raise launch.lease_seconds"
        return Finding(FAILS, f"{words}, while leases last {lease_seconds:.0f} s; {right}.")
    if abs(written) <= SEEN_SECONDS and (kind := file_system(place)).startswith(STAMPED_BY_CLIENTS):
        words += f"; on {kind} each machine may stamp files by its own clock"
        return Finding(UNKNOWN, f"{words}, and leases need clocks that agree to {lease_seconds / 2:.0f} s (NTP).")
    return Finding(OK, f"{words}.")


def _offset_of_a_touch(place: Path) -> float:
    """As `clock_offset`, for a file that is touched, like leases."""
    with beside(place / "clock", b"") as file, disk_errors("write", file):
        os.utime(file, (0.0, 0.0))
        before = time.time()
        os.utime(file)
        after = time.time()
        stamp = file.stat().st_mtime
    return 0.0 if before <= stamp <= after else stamp - (after if stamp > after else before)


def _apart(seconds: float) -> str:
    return f"{abs(seconds):.1f} s {'behind' if seconds < 0 else 'ahead of'}"


def of_tracking(tracking: TrackingSettings, trains: bool) -> tuple[list[Finding], bool]:
    """Findings about W&B on this machine, and whether workers write to W&B online.

    trains: whether the workers are on this machine; if not, its network does not matter.
    """
    resolved, _ = decided(tracking)
    online = resolved.backend == "wandb_online"
    try:
        check_tracking(tracking)
    except ConfigError as error:
        return [Finding(FAILS, f"W&B: {error}")], online
    chosen = f"tracking={tracking.backend}" + (f", which is {resolved.backend} here" if resolved != tracking else "")
    findings = [Finding(OK, f"W&B: {chosen}.")]
    return [*findings, of_network("from this machine")] if online and trains else findings, online


def of_key() -> Finding:
    """Whether a worker finds a key on this node."""
    if key_configured():
        return Finding(OK, "W&B: a key is found.")
    return Finding(FAILS, f"W&B: no key is found on this node: {HOW_TO_CONFIGURE}; or {INSTEAD}.")


def of_network(where: str) -> Finding:
    """Whether W&B's server answers.  where: «from this node»."""
    address = server()
    try:
        with urllib.request.urlopen(address, timeout=NETWORK_SECONDS):
            pass
    except urllib.error.HTTPError:
        pass  # it has answered
    except (OSError, ValueError, http.client.HTTPException) as error:
        why = getattr(error, "reason", None) or error
        return Finding(FAILS, f"W&B: {address} cannot be reached {where} ({why}); {INSTEAD}.")
    return Finding(OK, f"W&B: {address} answers.")
