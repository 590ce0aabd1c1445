"""Functions of single values that may be part of an activation that is written out, on the way from a layer."""

from math import prod

from plasticity_lab.outside.functions import BENT
from plasticity_lab.outside.node import Node

COMPARISONS = {"gt", "lt", "ge", "le", "greater", "less", "greater_equal", "less_equal", "signbit"}
AS_NUMBERS = {"float", "double", "half", "to", "type", "type_as", "int", "long", "bool", "logical_not", "logical_and",
              "logical_or", "and", "or", "invert", "bitwise_not", "clone", "detach"}  # fmt: skip
"""Functions that keep a comparison one."""
PRODUCTS = {"mul", "rmul", "imul", "multiply"}
BY_CONDITION = {"where", "masked_fill", "masked_scatter", "setitem", "index_put"}


def bent(name: str, made: Node) -> str | None:
    """The name of the function that makes a value one of a bent function of a layer's values; None without one.

    Values of another number carry nothing on: a mean of squares is no activation.
    """
    size, bare = prod(made.shape), _bare(name)
    carried = [each.bent for each in made.sources if each.bent and each.data and prod(each.shape) == size]
    if made.kind != "other" or not made.behind:
        return None
    if carried:
        return carried[0]
    data = [each for each in made.sources if each.data]
    if (bare in BENT or bare.startswith("special_")) and any(prod(each.shape) == size for each in data):
        return bare
    if bare in BY_CONDITION and any(each.compared for each in data):
        return bare
    return _product(bare, data) if bare in PRODUCTS and len(data) == 2 else None


def _product(bare: str, data: list[Node]) -> str | None:
    one, two = data
    if one is two or one.compared or two.compared:
        return bare
    for h, z in ((one, two), (two, one)):
        if h.kind == "activation" and h.sources and h.sources[0] is z:
            return f"{bare} by {h.name}"
    return None


def compared(name: str, made: Node) -> bool:
    """Whether a value says which values of units are larger."""
    bare = _bare(name)
    return made.behind and (bare in COMPARISONS or (bare in AS_NUMBERS and any(each.compared for each in made.sources)))


def _bare(name: str) -> str:
    """A function's name as a method, in place and as an operator: mul, mul_, __mul__."""
    return name.strip("_")
