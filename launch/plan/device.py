"""The device a worker trains on: which there are, of which kind, and with how much memory.

torch, which takes over a second to import, is imported where it is asked about a device: memory of a CPU is known
without it.
"""

import math
import os

from plasticity_lab.errors import ConfigError
from plasticity_lab.process.control_groups import cpu_quota, memory_limit

COMMAND_BYTES, WORKER_BYTES = 192 * 2**20, 256 * 2**20
"""What a command takes that trains on this machine, and each of its workers without a pack: torch and other libraries.
Measured as anonymous memory: 180 and 235 MiB."""

WORKERS_A_CORE, FEWEST_WORKERS = 4, 16
"""How many workers a machine may have: some for each core, where packs wait for data or a GPU; a few on any machine."""


def devices(setting: str) -> list[str]:
    """The devices that `device=` names: the CPU, or for auto all GPUs like the first.  Raises ConfigError."""
    import torch

    there = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    # A plan is made for one kind of device.
    alike = [name for name in there if kind_of(name) == kind_of(there[0])]
    if setting == "auto":
        return alike or ["cpu"]
    if setting == "cpu":
        return ["cpu"]
    if setting == "cuda" and there:
        return alike
    if setting in there:
        return [setting]
    has = f"it has {', '.join(there)}" if there else "it has no GPU that torch can use"
    raise ConfigError(f"device is {setting}, which this machine has not: {has}; device=auto takes what is there.")


def kind_of(device: str) -> str:
    """What decides bits on a device, by asking and by computing; `kinds` says what its words are."""
    import torch

    if device == "cpu":
        from launch.plan.fingerprint import fingerprint

        return f"cpu-{torch.backends.cpu.get_cpu_capability().lower()}-{fingerprint()}"
    major, minor = torch.cuda.get_device_capability(device)
    library = f"HIP {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
    name = torch.cuda.get_device_name(device)
    return f"{name} (sm_{major}{minor}, {library}, cuDNN {torch.backends.cudnn.version()})"


def memory_of(device: str) -> int:
    """Bytes that packs on this device may use altogether: nine tenths of what is there."""
    if device == "cpu":
        return int(0.9 * _physical())
    import torch

    return int(0.9 * torch.cuda.get_device_properties(device).total_memory)


def memory_here(workers: int) -> int:
    """Bytes of this machine's memory that a pack of each of some workers may use.

    Where the process is limited to less than the machine has, as in a container, what the processes take without any
    pack counts too: of a small limit that is most.
    """
    limit = limited_memory()
    if limit is None:
        return memory_of("cpu") // workers
    return max(0, (int(0.9 * limit) - COMMAND_BYTES) // workers - WORKER_BYTES)


def limited_memory() -> int | None:
    """Bytes that this process and its workers may use together; None where they may use all of the machine's."""
    limit = memory_limit()
    return limit if limit is not None and limit < _physical() else None


def cores() -> int:
    """The cores this process may use; under Slurm or in a container they are fewer than the machine's.

    A limit on their time counts as cores, rounded up: half a core is one, which one worker can use.
    """
    quota = cpu_quota()
    return allotted_cores() if quota is None else min(allotted_cores(), math.ceil(quota))


def allotted_cores() -> int:
    """The cores on which this process may run, for whatever share of their time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_workers() -> int:
    """How many workers this machine may have."""
    return max(FEWEST_WORKERS, WORKERS_A_CORE * cores())


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
