"""Files of tensors, as torch writes them: read whole, or refused.

torch is imported where it is used: it takes a second, for which commands that only look at a store need not wait.
"""

import io
import zipfile
from typing import Any, BinaryIO


def save_tensors(value: dict[str, Any], file: BinaryIO) -> None:
    """Writes a mapping of tensors, numbers, words, and lists and dicts of them."""
    import torch

    torch.save(value, file)


def tensors_of(content: bytes) -> dict[str, Any]:
    """The mapping that a file's bytes hold, on the CPU; only tensors, numbers, words, lists and dicts are unpickled.

    Raises ValueError that says in a few words what is wrong with them; MemoryError.
    """
    import torch

    try:
        # torch.load does not compare the checksums that torch.save wrote: flipped bits would become numbers.
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            damaged = archive.testzip()
        value = None if damaged else torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # damaged bytes raise nearly anything
        raise ValueError("it is cut off, or another kind of file") from error
    if damaged:
        raise ValueError("one of its checksums is wrong")
    if not isinstance(value, dict):
        raise ValueError("it holds no mapping")
    return value
