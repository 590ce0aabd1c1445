"""Pictures of any size and kind → small square ones, by averaging."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.errors import DataError


def down_sampled(paths: Sequence[Path], side: int) -> NDArray[np.uint8]:
    """The pictures at side × side pixels, in colour, (N, 3, side, side); each pixel is the mean of what it covers.

    A picture that is no square is squeezed into one, as in the published ImageNet at 32 × 32 (Chrabaszcz et al. 2017).
    Raises DataError for a file that is no picture.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Pillow decodes without holding other threads up
        return np.stack([*pool.map(lambda path: _one(path, side), paths)])


def _one(path: Path, side: int) -> NDArray[np.uint8]:
    from PIL import Image, UnidentifiedImageError  # only preparing a set needs it

    try:
        with Image.open(path) as picture:
            small = picture.convert("RGB").resize((side, side), Image.Resampling.BOX)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{path} is no picture that can be read: move it aside, or bring the right one.") from error
    return np.asarray(small).transpose(2, 0, 1)
