"""This machine: its devices, their kinds and memory, the cores for workers, and whether it can compile.

If nothing can be compiled, runs train eagerly. Importing torch takes over a second. So only functions about devices
import it. The memory of a CPU is read without it. `launch.bench` imports this without Hydra or pydantic.
"""

import ctypes
import math
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plasticity_lab.errors import ConfigError
from plasticity_lab.process.account import cache_folder
from plasticity_lab.process.control_groups import cpu_quota, memory_limit
from plasticity_lab.records.provenance import cpu_model

COMMAND_BYTES, WORKER_BYTES = 192 * 2**20, 256 * 2**20
"""The memory of a command that trains on this machine, and of one worker without a pack: torch and other libraries.
Their measured anonymous memory is 180 and 235 MiB."""

WORKERS_A_CORE, FEWEST_WORKERS = 4, 16
"""The limit on a machine's workers: a number for each core, since packs may wait for data or a GPU; at least
FEWEST_WORKERS on any machine."""
WORKERS_A_GPU = 4
"""The largest default number of workers that share a GPU, if NVIDIA's multi-process service (MPS) runs."""
MPS = "CUDA_MPS_PIPE_DIRECTORY"
"""The environment variable that names MPS's folder."""
FOLDER = "TORCHINDUCTOR_CACHE_DIR"
"""The environment variable that names torch's folder for compiled code."""
TRIAL = '#include <cmath>\nextern "C" double trial(double x) { return std::exp(x); }\n'
TRIAL_SECONDS = 60


def devices(setting: str) -> list[str]:
    """The devices that `device=` names; for auto, all GPUs of the first GPU's kind, or the CPU.  Raises ConfigError."""
    import torch

    gpus = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    # A plan is made for one kind of device.
    of_one_kind = [name for name in gpus if kind_of(name) == kind_of(gpus[0])]
    if setting == "auto":
        return of_one_kind or ["cpu"]
    if setting == "cpu" or setting in gpus:
        return [setting]
    if setting == "cuda" and gpus:
        return of_one_kind
    known = ", ".join(gpus) or "no GPU that torch can use"
    raise ConfigError(f"device is {setting}, but this machine has {known}; device=auto takes the available ones.")


def kind_of(device: str) -> str:
    """The kind of a device: all facts that decide the bits of its results, in the notation of `records.kinds`."""
    import torch

    if device == "cpu":
        from launch.plan.fingerprint import fingerprint

        return f"cpu-{torch.backends.cpu.get_cpu_capability().lower()}-{fingerprint()}"
    major, minor = torch.cuda.get_device_capability(device)
    library = f"HIP {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
    name = torch.cuda.get_device_name(device)
    return f"{name} (sm_{major}{minor}, {library}, cuDNN {torch.backends.cudnn.version()})"


def memory_of(device: str) -> int:
    """Bytes that all packs on this device may use together: nine tenths of its memory."""
    if device == "cpu":
        return int(0.9 * _physical())
    import torch

    return int(0.9 * torch.cuda.get_device_properties(device).total_memory)


def memory_here(workers: int) -> int:
    """Bytes of this machine's memory that each worker's pack may use.

    If the process has a memory limit, as in a container, the memory of the processes themselves is subtracted: it can
    be most of a small limit.
    """
    limit = limited_memory()
    if limit is None:
        return memory_of("cpu") // workers
    return max(0, (int(0.9 * limit) - COMMAND_BYTES) // workers - WORKER_BYTES)


def limited_memory() -> int | None:
    """Bytes that this process and its workers may use together; None if they may use the machine's whole memory."""
    limit = memory_limit()
    return limit if limit is not None and limit < _physical() else None


def cores() -> int:
    """The number of cores that this process may use; under Slurm or in a container, fewer than the machine has.

    A limit on CPU time counts as cores, rounded up: half a core counts as one, since one worker can use it.
    """
    quota = cpu_quota()
    return allotted_cores() if quota is None else min(allotted_cores(), math.ceil(quota))


def allotted_cores() -> int:
    """The number of cores that this process may run on; limits on CPU time are ignored."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_workers() -> int:
    """The largest allowed number of workers on this machine."""
    return max(FEWEST_WORKERS, WORKERS_A_CORE * cores())


def mps_runs() -> bool:
    """Whether NVIDIA's multi-process service has been started here, so that processes use a GPU at the same time."""
    written = Path(os.environ.get(MPS, "/tmp/nvidia-mps"), "nvidia-cuda-mps-control.pid")
    try:
        return Path("/proc", str(int(written.read_text()))).exists()
    except (OSError, ValueError):
        return False


def workers_to_share(gpus: int) -> int:
    """How many workers use each of this machine's GPUs by default, if a worker's core limits it: one without MPS."""
    return max(1, min(WORKERS_A_GPU, cores() // gpus)) if mps_runs() else 1


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True)
class NotCompiled:
    """The reason why nothing can be compiled here.

    why: the reason in a few words, for a plan's table. sentence: the reason as part of a sentence, with a way out.
    """

    why: str
    sentence: str


NO_COMPILER = NotCompiled("no C++ compiler", "there is no C++ compiler here; g++ would do")


def compiled_folder() -> Path:
    """The folder of compiled code for later processes: torch's setting, or a folder in the user's cache.

    Each processor model has a folder: nodes that share a home directory must not share machine code.
    """
    processor = re.sub(r"\W+", "-", cpu_model()).strip("-").lower()
    return Path(os.environ.get(FOLDER) or cache_folder() / "plasticity_lab" / "compiled" / processor)


def workers_folder() -> Path:
    """The worker's folder for compiled code: a subfolder of `compiled_folder` for the vector instructions of torch.

    torch's cache ignores this capability. It gave an AVX2 process the summing order of AVX-512.
    """
    import torch

    folder, capability = compiled_folder(), torch.backends.cpu.get_cpu_capability().lower()
    return folder if folder.name == capability else folder / capability  # a worker's child process inherits the folder


def not_compiled_here(device: str = "cpu") -> NotCompiled | None:
    """The reason why nothing can be compiled here for a device; None if a trial compiles and loads."""
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))), None)
    lack = NO_COMPILER if compiler is None else _tried(compiler, compiled_folder())
    if lack is not None or device == "cpu":
        return lack
    import torch

    from plasticity_lab.kernels import on_gpu

    reason = on_gpu.hindrance(torch.device(device))
    return None if reason is None else NotCompiled("no Triton", f"Triton compiles nothing for {device} ({reason})")


@cache
def _tried(compiler: str, folder: Path) -> NotCompiled | None:
    way_out = f"{FOLDER if os.environ.get(FOLDER) else 'XDG_CACHE_HOME'}=FOLDER names another place"
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryDirectory(dir=existing, prefix=".trial-") as trial:
            source, library = Path(trial, "trial.cpp"), Path(trial, "trial.so")
            source.write_text(TRIAL, encoding="utf-8")
            if why := _compiler_error([compiler, "-shared", "-fPIC", str(source), "-o", str(library)]):
                return NotCompiled("the C++ compiler fails", f"{compiler} compiles nothing here ({why})")
            try:
                ctypes.CDLL(str(library))
            except OSError:
                words = f"code that is compiled into {folder} may not be run there, as on a disk mounted noexec"
                return NotCompiled("no code runs in the cache", f"{words}; {way_out}")
    except OSError as error:
        words = f"compiled code cannot be kept in {folder} ({error.strerror})"
        return NotCompiled("the cache cannot be written", f"{words}; {way_out}")
    return None


def _compiler_error(command: list[str]) -> str:
    """The message of a compiler that fails; empty if the compiler works."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=TRIAL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    return (lines[-1][:200] if lines else f"status {done.returncode}") if done.returncode else ""
