"""The process that trains: its threads, its compiled code, and its memory."""

import gc
import os
import re
from pathlib import Path

import torch

from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.provenance import cpu_model


class DeviceLost(PlasticityError):
    """A GPU that can be used again by another process only."""


def prepare_process() -> None:
    """One thread, denormals flushed: two processes of one thread beat one of two, and numbers do not vary with cores.

    Adam's moments of silent weights decay into denormals, which cost up to 1.4× where they are not flushed.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def prepare_compiling() -> None:
    """Says where compiled code is kept, for the next worker to find: in the user's cache, or where torch was told.

    A folder for each kind of processor: nodes that share a home must not share machine code.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    processor = re.sub(r"\W+", "-", cpu_model()).strip("-").lower()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache / "plasticity_lab" / "compiled" / processor))


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
