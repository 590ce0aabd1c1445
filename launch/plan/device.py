"""The devices of this machine: their kinds, their memory, and the cores for workers.

Importing torch takes over a second. So only functions about devices import it. The memory of a CPU is read without it.
"""

import math
import os

from plasticity_lab.errors import ConfigError
from plasticity_lab.process.control_groups import cpu_quota, memory_limit

COMMAND_BYTES, WORKER_BYTES = 192 * 2**20, 256 * 2**20
"""The memory of a command that trains on this machine, and of one worker without a pack: torch and other libraries.
Their measured anonymous memory is 180 and 235 MiB."""

WORKERS_A_CORE, FEWEST_WORKERS = 4, 16
"""The limit on a machine's workers: a number for each core, since packs may wait for data or a GPU; at least
FEWEST_WORKERS on any machine."""


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


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
