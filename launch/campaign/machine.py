"""The machine of a campaign: its cores, its GPU's memory and use, and NVIDIA's multi-process service."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from launch.campaign.entry import Entry
from launch.plan.device import MPS, cores, mps_runs

CORES_OF_WORKER = 2
"""A worker on a GPU keeps about one core busy, and its environments and the compiler another."""
FREE = 0.9
"""The part of the GPU's memory that packs may take."""
CONTROL = "nvidia-cuda-mps-control"
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


def workers_for(entry: Entry, device: str, memory_gb: float | None, here: int | None = None) -> int:
    """How many workers train its packs: as many as the cores feed, and as the GPU's memory holds; on a CPU all cores.

    here: the number of cores; by default this machine's.
    """
    here = here or cores()
    if device == "cpu":
        return here
    most = int(FREE * memory_gb / entry.memory_gb) if memory_gb else 1
    return max(1, min(here // CORES_OF_WORKER, most))


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
def multi_process_service(device: str) -> Iterator[Mapping[str, str]]:
    """Inside, the service runs, with its variables; they are empty if the machine has none, or if it does not start.

    A service that others have started is used as it is, and left running.
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
        try:
            yield of if started else {}
        finally:
            if started:
                _quiet([control], env, "quit\n")


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
        process = subprocess.Popen([smi, *query], stdout=to, stderr=subprocess.DEVNULL)
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
