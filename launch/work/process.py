"""The process that trains: its threads, its compiled code, and its memory."""

import ctypes
import gc
import os

import torch

from launch.plan.compiling import FOLDER, workers_folder
from plasticity_lab.errors import PlasticityError

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's mallopt (malloc.h)."""
KEPT_BYTES = 2**31 - 1
"""The largest piece of memory that is kept for the next tensor: the most that mallopt takes."""


class DeviceLost(PlasticityError):
    """A GPU that can be used again by another process only."""


def prepare_process() -> None:
    """One thread, denormals flushed: two processes of one thread beat one of two, and numbers do not vary with cores.

    Adam's moments of silent weights decay into denormals, which cost up to 1.4× where they are not flushed.
    And the memory of one step's tensors serves the next: glibc gives all above 32 MiB back to the system at once, and
    to be given it again, page by page, took a third of the time of convolutions.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    for threshold in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
        _of_glibc("mallopt", threshold, KEPT_BYTES)


def release_memory() -> None:
    """Gives back to the system what is kept for tensors to come: after a pack, the next may need other ones."""
    _of_glibc("malloc_trim", 0)


def _of_glibc(name: str, *arguments: int) -> None:
    """Calls a function of the C library, which others than glibc do not have."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)


def prepare_compiling() -> None:
    """Tells torch the worker's folder for compiled code."""
    os.environ[FOLDER] = str(workers_folder())


def free_memory(device: str) -> None:
    """Frees what a failed pack has left in memory.  Raises DeviceLost if its error has made the GPU unusable here."""
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
