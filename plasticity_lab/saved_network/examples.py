"""What a saved network is handed, whatever it comes as, as a tensor of examples in rows.

Legend: B examples, D numbers of an example, * its shape.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from plasticity_lab.errors import InputError

TensorOrArray = Tensor | ArrayLike
"""A tensor, a NumPy array, or nested lists of numbers."""


def in_rows(given: TensorOrArray, example: tuple[int, ...]) -> Tensor:
    """Examples (B, D), or one alone (D,), on the CPU: uint8, int64, float32 or bool.

    given: (B, D), (B, *), of images of one channel also (B, H, W); or one example without B. What could be either is a
    batch: (1, H, W) is a batch of one. example: *. Raises InputError that says which shapes there are.
    """
    values = _tensor(given)
    shapes, shape = _shapes(example), tuple(values.shape)
    if shape[1:] in shapes:
        return values.reshape(len(values), *shapes[0])
    if shape in shapes:
        return values.reshape(shapes[0])
    raise InputError(
        f"The examples are of shape {shape}; the network takes a batch of shape "
        f"{' or '.join(_with_batch(each) for each in shapes)}, or one example, the same without B."
    )


def floats_of(values: Tensor) -> Tensor:
    """Numbers of any kind as float32."""
    return values.to(torch.float32)


def _shapes(example: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    """The shapes in which an example may come in a batch: flat first."""
    flat = (prod(example),)
    of_one_channel = [example[1:]] if len(example) == 3 and example[0] == 1 else []
    return list(dict.fromkeys([flat, example, *of_one_channel]))


def _with_batch(shape: tuple[int, ...]) -> str:
    return f"({', '.join(['B', *map(str, shape)])})"


def _tensor(given: TensorOrArray) -> Tensor:
    if not isinstance(given, Tensor):
        try:
            array = np.asarray(given)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"The examples are no array of numbers ({error}).") from error
        if array.dtype.kind not in "biuf":
            raise InputError(f"The examples are of dtype {array.dtype}; they must be real numbers.")
        kind = {"b": bool, "f": np.float32}.get(array.dtype.kind, np.uint8 if array.dtype == np.uint8 else np.int64)
        return torch.from_numpy(array.astype(kind))  # a copy: it may be read-only, or lie backwards in memory
    if given.is_complex():
        raise InputError(f"The examples are of dtype {given.dtype}; they must be real numbers.")
    given = given.cpu()
    if given.is_floating_point():
        return floats_of(given)
    return given if given.dtype in (torch.bool, torch.uint8) else given.to(torch.int64)
