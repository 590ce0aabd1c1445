"""IDX files, the format MNIST is published in: a header of big-endian numbers, then the bytes of one array.

Header: two zero bytes, a byte for the element type, a byte for the number of dimensions, then each dimension in four
bytes.  Source: http://yann.lecun.com/exdb/mnist/.
"""

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np

from plasticity_lab.errors import DataError

GZIP_START = b"\x1f\x8b"
UNSIGNED_BYTE = 0x08


def unpacked_bytes(path: Path, remedy: str) -> bytes:
    """The content of a file, unzipped where it is gzipped (whatever its name says: some browsers unzip silently).

    Raises DataError, ending in the remedy, if its compressed data is damaged; OSError if the file cannot be read.
    """
    content = path.read_bytes()
    try:
        return gzip.decompress(content) if content.startswith(GZIP_START) else content
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is truncated or damaged: {remedy}.") from error


def parse_idx(content: bytes, path: Path, remedy: str) -> np.ndarray:
    """The array that an IDX file of bytes holds: uint8, writable, in the shape its header states.

    Raises DataError, naming `path` and ending in the remedy, if it is another kind of file or has another length than
    its header states.
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != UNSIGNED_BYTE or content[3] == 0:
        raise DataError(f"{path} is not an IDX file of bytes (it begins with '{content[:4].hex(' ')}'): {remedy}.")
    header = 4 + 4 * content[3]
    if len(content) < header:
        raise DataError(f"{path} is truncated in its header: {remedy}.")
    shape = struct.unpack(f">{content[3]}I", content[4:header])
    if len(content) != header + math.prod(shape):
        raise DataError(
            f"{path} is truncated or damaged: it holds {len(content):,} bytes where its header "
            f"promises {header + math.prod(shape):,}: {remedy}."
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape).copy()
