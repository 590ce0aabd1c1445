"""The machine of a campaign: its cores, its GPU's memory and use, and NVIDIA's multi-process service."""

import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from launch.campaign.running import ends_with_parent
from launch.campaign.schedule import Capacity
from launch.campaign.watcher import CONTROL, NOTHING, Watch
from launch.plan.device import MPS, cores, mps_runs

CORES_OF_WORKER = 2
"""A worker on a GPU keeps about one core busy, and its environments and the compiler another."""
FREE = 0.9
"""The part of the GPU's memory that packs may take."""
MODEL = 140.0, 16
"""GB of the GPU's memory and number of cores in the plan of a machine that is not here: an NVIDIA H200's."""
MPS_LOG = "CUDA_MPS_LOG_DIRECTORY"
SAMPLE_MILLISECONDS = 500
WAIT_SECONDS = 20


def gpu_memory_gb() -> float | None:
    """The memory of the first GPU; None without nvidia-smi."""
    said = _smi("--query-gpu=memory.total")
    return float(said.splitlines()[0]) / 1024 if said else None


def gpu_name() -> str:
    """The name of the first GPU; "" without nvidia-smi."""
    said = _smi("--query-gpu=name")
    return said.splitlines()[0].strip() if said else ""


def capacity(device: str, shared: bool, memory_gb: float | None = None, here: int | None = None) -> Capacity:
    """The workers that the cores feed, two cores for each on a GPU, and nine tenths of the GPU's memory.

    shared: whether studies may run at the same time. memory_gb, here: the GPU's memory and the number of cores; by
    default this machine's. If the memory is unknown, one worker is all.
    """
    here = here or cores()
    if device == "cpu":
        return Capacity(here, math.inf, shared)
    return Capacity(here // CORES_OF_WORKER, FREE * (memory_gb or gpu_memory_gb() or 0.0), shared)


def is_shared(device: str, service: bool) -> bool:
    """Whether processes use the device at the same time.  service: whether the campaign starts NVIDIA's service."""
    return device == "cpu" or service or bool(os.environ.get(MPS)) or mps_runs()


def is_model(device: str) -> bool:
    """Whether a plan is for the `MODEL`, since this machine has no GPU."""
    return device != "cpu" and not gpu_name()


def planned_capacity(device: str) -> Capacity:
    """The capacity in a campaign; if no GPU is here, `MODEL`'s."""
    if is_model(device):
        return capacity(device, True, *MODEL)
    return capacity(device, is_shared(device, shutil.which(CONTROL) is not None))


def environment(folder: Path, workers: int, device: str) -> dict[str, str]:
    """The variables of a command: one thread for each process, and caches of compiled code in the campaign's folder."""
    threads = "1" if device != "cpu" else os.environ.get("OMP_NUM_THREADS", "1")
    return {
        **os.environ,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "TORCHINDUCTOR_COMPILE_THREADS": str(max(1, cores() // max(workers, 1))),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TRITON_CACHE_DIR": str(folder / "cache" / "triton"),
        "PYTHONUNBUFFERED": "1",
    }


@contextmanager
def multi_process_service(device: str, watch: Watch = NOTHING) -> Iterator[Mapping[str, str]]:
    """Inside, the service runs, with its variables; they are empty if the machine has none, or if it does not start.

    A service that others have started is used as it is, and left running. watch: ends it after a kill of the campaign.
    """
    control = shutil.which(CONTROL)
    if device == "cpu" or control is None or os.environ.get(MPS) or mps_runs():
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="plasticity-mps-") as place:
        of = {MPS: f"{place}/pipe", MPS_LOG: f"{place}/log"}
        for folder in of.values():
            Path(folder).mkdir()
        env = {**os.environ, **of}
        started = _quiet([control, "-d"], env)
        watch.service(of[MPS] if started else "")
        try:
            yield of if started else {}
        finally:
            if started:
                _quiet([control], env, "quit\n")
                watch.service("")


@contextmanager
def busy(device: str, file: Path) -> Iterator[None]:
    """Inside, nvidia-smi writes the GPU's use in percent into a file, twice a second."""
    smi = shutil.which("nvidia-smi")
    if device == "cpu" or smi is None:
        yield
        return
    query = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", f"--loop-ms={SAMPLE_MILLISECONDS}"]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as to:
        process = subprocess.Popen([smi, *query], stdout=to, stderr=subprocess.DEVNULL, preexec_fn=ends_with_parent())
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def busy_share(file: Path) -> tuple[float, int]:
    """The mean of the samples in a file, in [0, 1], and their number."""
    lines = file.read_text().split() if file.exists() else []
    samples = [float(line) / 100 for line in lines if line.isdigit()]
    return (sum(samples) / len(samples), len(samples)) if samples else (0.0, 0)


def _smi(query: str) -> str:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return ""
    try:
        asked = [smi, query, "--format=csv,noheader,nounits"]
        return subprocess.run(asked, capture_output=True, text=True, timeout=WAIT_SECONDS, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _quiet(words: list[str], env: Mapping[str, str], stdin: str = "") -> bool:
    try:
        asked = subprocess.run(words, env=env, input=stdin, capture_output=True, text=True, timeout=WAIT_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return asked.returncode == 0
