"""The meaning of a tensor's dimensions: which of them count examples, which count units, and which count positions.

A layout is followed through torch's functions by name and shape, so that the units of an activation are known behind
any reshaping: tokens, steps of a sequence, pixels, heads.

Legend: B examples, U units, R positions of an example.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from typing import Any

from torch import Tensor

EXAMPLES, UNITS, OTHER = "examples", "units", "other"


@dataclass(frozen=True)
class Factor:
    """A part of a dimension.  kind: EXAMPLES, UNITS or OTHER. order: its place among the parts of its kind."""

    kind: str
    size: int
    order: tuple[int, ...] = ()


Dim = tuple[Factor, ...]
Layout = tuple[Dim, ...]
"""For each dimension its factors, the slowest first; a dimension of size 1 has none."""
_number = count()


def fresh(kind: str, size: int) -> Dim:
    """A dimension with one factor."""
    return (Factor(kind, size, (next(_number),)),) if size != 1 else ()


def of_batch(shape: Sequence[int], examples: int) -> Layout:
    """The layout of an input: examples first."""
    return (fresh(EXAMPLES, examples), *(fresh(OTHER, size) for size in shape[1:]))


def of_state(shape: Sequence[int], examples: int) -> Layout | None:
    """The layout of a recurrent layer's last state, (layers, B, U); None for another shape."""
    if len(shape) != 3 or shape[1] != examples:
        return None
    return fresh(OTHER, shape[0]), fresh(EXAMPLES, examples), fresh(UNITS, shape[2])


def size_of(dim: Dim) -> int:
    """The size of a dimension."""
    return prod(factor.size for factor in dim)


def shape_of(layout: Layout) -> tuple[int, ...]:
    """The shape of a tensor."""
    return tuple(map(size_of, layout))


def as_positions(layout: Layout) -> Layout:
    """The same with units as mere positions, before a layer makes new ones."""
    return tuple(tuple(replace(own, kind=OTHER) if own.kind == UNITS else own for own in dim) for dim in layout)


def reshaped(layout: Layout, shape: Sequence[int]) -> Layout | None:
    """The layout after a reshape; None if the sizes do not fit each other."""
    left = [factor for dim in layout for factor in dim]
    found: list[Dim] = []
    for size in shape:
        dim, reached = list[Factor](), 1
        while reached < size:
            if not left:
                return None
            factor = left.pop(0)
            if size % (reached * factor.size) == 0:
                dim.append(factor)
                reached *= factor.size
                continue
            here, odd = divmod(size, reached)
            if odd or factor.size % here:
                if factor.kind != OTHER or not left or left[0].kind != OTHER:
                    return None
                left[0] = fresh(OTHER, factor.size * left[0].size)[0]  # positions that follow each other
                continue
            dim.append(replace(factor, size=here, order=(*factor.order, 0)))
            left.insert(0, replace(factor, size=factor.size // here, order=(*factor.order, 1)))
            reached = size
        found.append(tuple(dim))
    return None if left else tuple(found)


def permuted(layout: Layout, order: Sequence[int]) -> Layout:
    """The dimensions in another order."""
    return tuple(layout[at] for at in order)


def kinds(layout: Layout) -> set[str]:
    """The kinds of all factors."""
    return {factor.kind for dim in layout for factor in dim}


def units_of(layout: Layout) -> int:
    """U; 1 if no dimension counts units."""
    return prod(factor.size for dim in layout for factor in dim if factor.kind == UNITS)


def broadcast(layouts: Sequence[Layout | None], shape: Sequence[int]) -> Layout | None:
    """The layout of values of a shape that are made element by element of tensors that broadcast to it.

    Each dimension is taken from the first tensor that has it in full; units count before positions.
    """
    found: list[Dim | None] = [() if size == 1 else None for size in shape]
    for layout in layouts:
        for at, dim in enumerate(reversed(layout or ()), start=1):
            if at > len(shape) or size_of(dim) != shape[-at]:
                continue
            now = found[-at]
            if now is None or (_counts_units(dim) and not _counts_units(now) and EXAMPLES not in kinds((now,))):
                found[-at] = dim
    if any(layout is None for layout in layouts) and any(dim is None for dim in found):
        return None
    return tuple(fresh(OTHER, size) if dim is None else dim for dim, size in zip(found, shape, strict=True))


def _counts_units(dim: Dim) -> bool:
    return any(factor.kind == UNITS for factor in dim)


def resized(layout: Layout, shape: Sequence[int]) -> Layout | None:
    """The layout after a function that keeps the number of dimensions, for example a pooling or a slice.

    None if examples are not all kept.
    """
    if len(layout) != len(shape):
        return None
    found: list[Dim] = []
    for dim, size in zip(layout, shape, strict=True):
        if size_of(dim) == size:
            found.append(dim)
        elif EXAMPLES in kinds((dim,)):
            return None
        else:
            found.append(fresh(UNITS if _counts_units(dim) else OTHER, size))
    return tuple(found)


def arranged(value: Tensor, layout: Layout, examples: int) -> Tensor:
    """A tensor as (B, U, R), or as (B, U) if there are no positions.

    layout: the tensor's, for any number of examples.
    """
    return _merged(value, layout, examples, (EXAMPLES, UNITS, OTHER), 2)


def in_rows(value: Tensor, layout: Layout, examples: int) -> Tensor:
    """A tensor as (B, R, D): its last dimension stays the last.

    layout: the tensor's, except for the size of its last dimension.
    """
    width = value.shape[-1]
    rows = _merged(value, as_positions((*layout[:-1], fresh(UNITS, 1))), examples, (EXAMPLES, OTHER), 2, width)
    return rows.reshape(examples, -1, width)


def _merged(
    value: Tensor, layout: Layout, examples: int, order: Sequence[str], least: int, last: int | None = None
) -> Tensor:
    factors = [factor for dim in layout for factor in dim]
    sizes = [examples if factor.kind == EXAMPLES else factor.size for factor in factors]
    at = sorted(range(len(factors)), key=lambda n: (order.index(factors[n].kind), factors[n].order))
    apart = value.reshape([*sizes, *([] if last is None else [last])])
    moved = apart.permute([*at, *([] if last is None else [len(factors)])])
    found = [prod(sizes[n] for n in at if factors[n].kind == kind) for kind in order]
    while len(found) > least and found[-1] == 1:
        found.pop()
    return moved.reshape([*found, *([] if last is None else [last])])


def has_examples(layout: Layout | None) -> bool:
    """Whether each value belongs to one example: all examples are one factor."""
    return layout is not None and sum(factor.kind == EXAMPLES for dim in layout for factor in dim) == 1


def position(dim: Any, dims: int) -> int:
    """A dimension's number, counted from the first."""
    return int(dim) % dims
