"""The device a worker trains on: which there are, of which kind, and in which mode a run is computed on it.

torch, which takes over a second to import, is imported where it is asked about a device: memory and mode of a CPU are
known without it.
"""

import os
import shutil
from functools import cache

from launch.wording import say
from plasticity_lab.agents.cost import Cost
from plasticity_lab.errors import ConfigError

COMPILED_FROM_UPDATES = {"dense": 10_000, "convolving": 8_000}
"""Runs of at least this many updates are compiled, by the yardstick of their network (`Cost.speed`). So many it takes
until compiling has paid where it pays least: for a worker's first graphs, of which nothing lies in the cache yet, and
one pack that uses them (docs/speed.md has the measurements). Further packs pay from their first update on."""


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
        return int(0.9 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    import torch

    return int(0.9 * torch.cuda.get_device_properties(device).total_memory)


def cores() -> int:
    """The cores this process may use; under Slurm or in a container they are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compiler_there() -> bool:
    """Whether torch.compile can work here: it needs a C++ compiler, on a GPU too."""
    return any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "g++", "clang++"))


def mode_of(cost: Cost, setting: str, compiler: bool, kernels_pay: bool = False) -> str:
    """eager, compiled or kernels, by what the run itself costs: never by its mates.  Raises ConfigError.

    kernels_pay: whether they were measured on this kind of device to be faster than what is compiled alone. Where they
    are asked for and cannot be, the next best mode, and one line about it.
    """
    if setting == "kernels" and (why := _kernels_missing()) is not None:
        instead = "compiled" if compiler else "eager"
        _say_once(f"mode=kernels: {why} here, so runs are {instead}, which takes about twice as long or longer.")
        return instead
    if setting == "compiled" and not compiler:
        raise ConfigError("mode is compiled, but this machine has no C++ compiler; install g++, or say mode=eager.")
    if setting != "auto":
        return setting
    enough = COMPILED_FROM_UPDATES.get(cost.speed, COMPILED_FROM_UPDATES["dense"])
    if not compiler or cost.updates < enough:
        return "eager"
    return "kernels" if kernels_pay and cost.kernels and _kernels_missing() is None else "compiled"


def _kernels_missing() -> str | None:
    from plasticity_lab.kernels.build import missing  # torch

    return missing()


@cache
def _say_once(line: str) -> None:
    say(line)
