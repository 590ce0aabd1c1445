"""The process that trains: its threads, its compiled code and its memory."""

import contextlib
import ctypes
import gc
import importlib
import os
import sys
from types import SimpleNamespace
from typing import Any

import torch

from launch.plan.device import FOLDER, workers_folder
from plasticity_lab.errors import PlasticityError
from plasticity_lab.process.garbage import collect_waiting

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt (malloc.h)."""
KEPT_BYTES = 2**31 - 1
"""The largest block of memory that is kept for the next tensor: the maximum of mallopt."""


class DeviceLost(PlasticityError):
    """A GPU that only another process can use again."""


def prepare_process() -> None:
    """Sets one thread, flushes denormals, and keeps freed memory for the next step.

    Two processes of one thread beat one of two, and numbers do not vary with the number of cores. Adam's moments of
    silent weights decay into denormals, which cost up to 1.4× unless they are flushed. glibc returns blocks above
    32 MiB to the system at once. Getting them again, page by page, took a third of the time of convolutions.
    """
    _import_compiler_later()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    for threshold in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
        _call_glibc("mallopt", threshold, KEPT_BYTES)


class _Later:
    """In the place of torch's compiler, `torch._dynamo`, until something else of it is asked for."""

    compiled_autograd = SimpleNamespace(_disable=contextlib.nullcontext)

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("torch._dynamo"), name)  # which then takes this place


def _import_compiler_later() -> None:
    """Spares eager processes the import of torch's compiler, one second of CPU time.

    `torch.func.grad` of torch 2.13 imports it only to disable its backward pass, which nothing has enabled without it.
    """
    if "torch._dynamo" not in sys.modules:
        torch.__dict__["_dynamo"] = _Later()


def release_memory() -> None:
    """Returns the kept memory to the system: after a pack, the next one may need tensors of other sizes."""
    collect_waiting()
    _call_glibc("malloc_trim", 0)


def _call_glibc(name: str, *arguments: int) -> None:
    """Calls a function of the C library; other libraries than glibc do not have it."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)


def prepare_compiling() -> None:
    """Tells torch the worker's folder for compiled code."""
    os.environ[FOLDER] = str(workers_folder())


def free_memory(device: str) -> None:
    """Frees the memory of a failed pack.  Raises DeviceLost if its error has made the GPU unusable for this process."""
    gc.collect()
    if device != "cpu":
        try:
            torch.cuda.synchronize(device)
            torch.cuda.empty_cache()
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            raise DeviceLost(f"After a failed pack {device} no longer answers this process: {reason}") from error


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that the device, or the machine, has no memory left."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)  # torch's allocator on the CPU
