"""Bytes compressed by Zstandard, if its package is installed: pip install zstandard, the extra `replay`."""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from plasticity_lab.errors import PlasticityError

CODEC = "zstd"
LEVEL = 1
"""The fastest. Level 3 takes as much time for frames of games, and saves nothing."""
INSTALL = "pip install zstandard"


class NotUnpacked(PlasticityError):
    """Bytes that are damaged."""


class PackerMissing(PlasticityError):
    """The package that compressed some bytes is not installed here."""


def is_installed() -> bool:
    """Whether bytes can be compressed here."""
    return find_spec("zstandard") is not None


def packed(values: Any) -> bytes:
    """The bytes of a contiguous array, compressed.  Raises PackerMissing."""
    # A copy: the package's bytes object keeps the memory that incompressible values would need.
    return bytes(memoryview(_codec()[0].compress(values)))


def unpacked(blob: bytes, size: int) -> bytes:
    """The original bytes, exactly `size`.  Raises NotUnpacked if they are damaged, PackerMissing."""
    _, decompressor, size_of, error = _codec()
    try:
        if (holds := size_of(blob)) != size:  # before so much memory is taken
            raise NotUnpacked(f"The compressed bytes say that they hold {holds:,} bytes; there must be {size:,}.")
        return decompressor.decompress(blob)
    except error as fault:
        raise NotUnpacked(f"The compressed bytes are damaged: {fault}.") from fault


def unpacked_together(blobs: Sequence[bytes], size: int, threads: int) -> list[Any]:
    """Buffers with the original bytes of each blob, exactly `size`, by several threads.  Raises as `unpacked`."""
    _, decompressor, _, error = _codec()
    if not hasattr(decompressor, "multi_decompress_to_buffer"):  # the package's other backend
        return [unpacked(blob, size) for blob in blobs]
    sizes = np.full(len(blobs), size, np.uint64).tobytes()
    try:
        found = decompressor.multi_decompress_to_buffer(list(blobs), decompressed_sizes=sizes, threads=threads)
    except error as fault:
        raise NotUnpacked(f"The compressed bytes are damaged: {fault}.") from fault
    return [found[at] for at in range(len(blobs))]


@cache
def _codec() -> tuple[Any, Any, Any, type[Exception]]:
    try:
        import zstandard
    except ImportError as error:
        raise PackerMissing(f"Compressed replay memories need zstandard, which is not installed: {INSTALL}.") from error
    compressor, decompressor = zstandard.ZstdCompressor(level=LEVEL), zstandard.ZstdDecompressor()
    return compressor, decompressor, zstandard.frame_content_size, zstandard.ZstdError
