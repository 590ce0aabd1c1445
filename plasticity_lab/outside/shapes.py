"""The layout of a function's result, from the layouts of its arguments (see `layout`)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from plasticity_lab.outside.functions import RECURRENT
from plasticity_lab.outside.layout import (
    EXAMPLES,
    OTHER,
    UNITS,
    Dim,
    Layout,
    as_positions,
    broadcast,
    fresh,
    kinds,
    permuted,
    position,
    reshaped,
    resized,
    size_of,
)

Args = Sequence[Any]
Named = Mapping[str, Any]
LayoutOf = Callable[[Any], Layout | None]
RESHAPES = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as", "ravel"}
REDUCTIONS = {
    "mean", "sum", "amax", "amin", "max", "min", "std", "var", "logsumexp", "prod", "norm", "argmax", "argmin", "all",
    "any", "median", "vector_norm", "nanmean", "nansum", "count_nonzero", "aminmax", "std_mean", "var_mean",
}  # fmt: skip


def layout_after(name: str, args: Args, named: Named, out: Tensor, of: LayoutOf) -> Layout | None:
    """The layout of one tensor that a function without parameters returns; None if it is not known.

    args, named: the arguments. of: the layout of a tensor among them.
    """
    shape = tuple(out.shape)
    first = args[0] if args else named.get("input", named.get("self"))
    if name in ("cat", "concat", "concatenate", "stack", "hstack", "vstack"):
        return _joined(name, args, named, shape, of)
    if name == "einsum":
        return _summed(args, shape, of, OTHER)
    if name == "scaled_dot_product_attention":
        query, value = of(args[0]), of(args[2] if len(args) > 2 else named.get("value"))
        return None if query is None or value is None else (*query[:-1], value[-1])
    if name in ("matmul", "__matmul__", "bmm", "baddbmm"):
        left, right = args[-2:] if name == "baddbmm" else args[:2]
        return _product(left, right, shape, of)
    own = of(first)
    if own is None or not isinstance(first, Tensor):
        tensors = [each for each in (*args, *named.values()) if isinstance(each, Tensor)]
        alike = name not in RESHAPES and not _moves(name)
        return broadcast([of(each) for each in tensors if of(each) is not None], shape) if alike and tensors else None
    if name in RESHAPES:
        return reshaped(own, shape)
    if moves := _moves(name):
        return permuted(own, moves(args[1:], named, len(own)))
    if name in REDUCTIONS and shape != tuple(first.shape):
        return _reduced(name, args[1:], named, own, shape)
    if name == "__getitem__":
        return _indexed(args[1], own, shape)
    if name in ("select", "unbind"):
        at = position(_named(args[1:], named, "dim", 0), len(own))
        return own[:at] + own[at + 1 :]
    if name in ("unfold", "fold", "gather", "take_along_dim", "index_select", "roll", "flip"):
        return own if name in ("roll", "flip") else None
    tensors = [each for each in (*args, *named.values()) if isinstance(each, Tensor) and of(each) is not None]
    if len(own) == len(shape) and tuple(first.shape) != shape and len(tensors) == 1:
        return resized(own, shape)
    return broadcast([of(each) for each in tensors], shape)


def after_layer(name: str, args: Args, named: Named, out: Tensor, of: LayoutOf) -> Layout | None:
    """The layout of the (first) result of a layer: its units are new, its other dimensions become positions."""
    first = args[1] if name in ("addmm", "baddbmm", "einsum") and len(args) > 1 else (args or [named.get("input")])[0]
    own = of(first)
    if name == "einsum":
        return _summed(args, tuple(out.shape), of, UNITS)
    if own is None or name == "tensordot":
        return None
    own, shape = as_positions(own), tuple(out.shape)
    if name.startswith("conv"):
        positions = resized((own[0], *(fresh(OTHER, 0) for _ in shape[1:])), shape) if len(own) == len(shape) else None
        return None if positions is None else (positions[0], fresh(UNITS, shape[1]), *positions[2:])
    if name in ("__rmatmul__", "mv") or len(shape) < 2 or name in ("embedding_bag", "baddbmm", "bilinear"):
        return None
    if name.endswith("_cell") or name in RECURRENT:
        return (*own[:-1], fresh(UNITS, shape[-1])) if len(own) == len(shape) else None
    leading = own if name == "embedding" else own[:-1]
    if len(leading) + 1 != len(shape) or tuple(map(_size, leading)) != shape[:-1]:
        return None
    return (*leading, fresh(UNITS, shape[-1]))


def _size(dim: Any) -> int:
    found = 1
    for factor in dim:
        found *= factor.size
    return found


def _named(args: Args, named: Named, name: str, default: Any) -> Any:
    return named.get(name, args[0] if args else default)


def _moves(name: str) -> Callable[[Args, Named, int], list[int]] | None:
    """For functions that only reorder dimensions: (arguments, named ones, dimensions) → the order."""

    def swapped(args: Args, named: Named, dims: int) -> list[int]:
        pairs = [*args, *named.values()]
        first, second = (position(at, dims) for at in pairs[:2])
        order = list(range(dims))
        order[first], order[second] = order[second], order[first]
        return order

    def ordered(args: Args, named: Named, dims: int) -> list[int]:
        order = named.get("dims", args[0] if args and isinstance(args[0], list | tuple) else args)
        return [position(at, dims) for at in order]

    def moved(args: Args, named: Named, dims: int) -> list[int]:
        given = [*args, *named.values()][:2]
        source, target = ([position(at, dims) for at in (each if isinstance(each, list | tuple) else [each])]
                          for each in given)  # fmt: skip
        order = [at for at in range(dims) if at not in source]
        for to, at in sorted(zip(target, source, strict=True)):
            order.insert(to, at)
        return order

    def last_two(args: Args, named: Named, dims: int) -> list[int]:
        return [*range(dims - 2), dims - 1, dims - 2]

    def all_reversed(args: Args, named: Named, dims: int) -> list[int]:
        return [*reversed(range(dims))]

    found = {
        "transpose": swapped, "swapaxes": swapped, "swapdims": swapped, "permute": ordered, "movedim": moved,
        "moveaxis": moved, "t": last_two, "get mT": last_two, "get T": all_reversed,
    }  # fmt: skip
    return found.get(name)


def _joined(name: str, args: Args, named: Named, shape: tuple[int, ...], of: LayoutOf) -> Layout | None:
    tensors = args[0] if args else named.get("tensors", ())
    known = [layout for each in tensors if (layout := of(each)) is not None]
    if not known:
        return None
    if name in ("stack", "hstack", "vstack"):
        at = position(_named(args[1:], named, "dim", 0), len(shape)) if name == "stack" else -1
        return None if at < 0 else (*known[0][:at], fresh(OTHER, shape[at]), *known[0][at:])
    wide = [layout for layout in known if len(layout) == len(shape)]
    return next((found for layout in wide if (found := resized(layout, shape)) is not None), None)


def _product(left: Tensor, right: Tensor, shape: tuple[int, ...], of: LayoutOf) -> Layout | None:
    """A product of two tensors of data: rows of the first, columns of the second."""
    rows, columns = of(left), of(right)
    known = rows or columns
    if known is None or len(shape) != len(known):
        return None
    row = rows[-2] if rows is not None else fresh(OTHER, shape[-2])
    column = columns[-1] if columns is not None else fresh(OTHER, shape[-1])
    return (*known[:-2], row, column)


def _chosen(index: tuple[Any, ...], own: Layout, shape: tuple[int, ...]) -> Layout | None:
    """One position of each example, as in x[arange(B), last] or x[mask]: examples stay the first dimension.

    Whether each example keeps its own values is checked by numbers afterwards.
    """
    chosen = [each for each in index if isinstance(each, Tensor)]
    gone = sum(each.dim() if each.dtype == torch.bool else 1 for each in chosen)
    plain = all(isinstance(each, Tensor) for each in index[: len(chosen)])
    rest = own[gone:]
    if not plain or kinds((own[0],)) != {EXAMPLES} or (size_of(own[0]), len(rest) + 1) != (shape[0], len(shape)):
        return None
    return resized((own[0], *rest), shape)


def _summed(args: Args, shape: tuple[int, ...], of: LayoutOf, kind: str) -> Layout | None:
    """A sum of products by letters.  kind: the kind of dimensions that no tensor of data has."""
    words, operands = args[0], args[1:]
    if not isinstance(words, str) or "->" not in words or "." in words:
        return None
    read, made = words.replace(" ", "").split("->")
    dims: dict[str, Dim] = {}
    for letters, operand in zip(read.split(","), operands, strict=False):
        layout = of(operand) if isinstance(operand, Tensor) else None
        for letter, dim in zip(letters, layout or (), strict=False):
            dims.setdefault(letter, as_positions((dim,))[0] if kind == UNITS else dim)
    return tuple(dims.get(letter) or fresh(kind, size) for letter, size in zip(made, shape, strict=True))


def _reduced(name: str, args: Args, named: Named, own: Layout, shape: tuple[int, ...]) -> Layout | None:
    start = 1 if name in ("norm", "vector_norm") else 0
    dims = named.get("dim", named.get("axis", args[start] if len(args) > start else None))
    if dims is None or isinstance(dims, Tensor):
        return None
    gone = {position(at, len(own)) for at in (dims if isinstance(dims, list | tuple) else [dims])}
    if len(shape) == len(own):
        return tuple(() if at in gone else dim for at, dim in enumerate(own))
    return tuple(dim for at, dim in enumerate(own) if at not in gone)


def _indexed(index: Any, own: Layout, shape: tuple[int, ...]) -> Layout | None:
    index = index if isinstance(index, tuple) else (index,)
    if isinstance(index[0], Tensor):
        return _chosen(index, own, shape)
    if any(not (each is None or each is Ellipsis or isinstance(each, int | slice)) for each in index):
        return None
    used = sum(each is not None and each is not Ellipsis for each in index)
    found, left = [], list(own)
    for each in index if Ellipsis in index else (*index, Ellipsis):
        if each is Ellipsis:
            found += [left.pop(0) for _ in range(len(own) - used)]
        elif each is None:
            found.append(())
        elif isinstance(each, int):
            left.pop(0)
        else:
            found.append(left.pop(0))
    return resized(tuple(found), shape)
