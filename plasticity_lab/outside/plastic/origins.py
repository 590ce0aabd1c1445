"""The origin of each tensor in a forward pass: the layers and activations with values in it, and their positions."""

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(eq=False)
class Normed:
    """A call of a normalisation.

    kind: layer, batch or rms. scale, shift: its parameters; mean, variance: its running statistics.
    """

    kind: str
    scale: Tensor | None
    shift: Tensor | None
    mean: Tensor | None = None
    variance: Tensor | None = None


@dataclass(eq=False)
class Produced:
    """The output of a layer, before an activation.

    weight, bias: its parameters; None if it lacks one, or computes it at each call. units: their number. groups: number
    of groups in a convolution. norm: a normalisation that follows. shared: whether something besides the next step
    reads the values.
    """

    weight: Tensor | None
    bias: Tensor | None
    units: int
    groups: int = 1
    norm: Normed | None = None
    shared: bool = False
    reason: str = ""

    def refuse(self, reason: str) -> None:
        """Keeps the first reason."""
        self.reason = self.reason or reason


@dataclass(eq=False)
class Activated:
    """A call of an activation: a place of units.

    of: the layer before it; None: no known one. number: position among all calls of activations of the pass. function:
    its name. axis: the units' axis, from the front. passed: number of values passed on. is_sum: whether its input is a
    sum, or its values enter one. outgoing: the weights that read its values, each with
    the first and the last + 1 of its inputs that are values of the place. reason: why its units cannot be reset; ""
    if they can.
    """

    of: Produced | None
    function: str
    number: int
    axis: int
    passed: int
    is_sum: bool = False
    outgoing: list[tuple[Tensor, int, int]] = field(default_factory=list)
    reason: str = ""

    def refuse(self, reason: str) -> None:
        """Keeps the first reason."""
        self.reason = self.reason or reason


Source = Produced | Activated


@dataclass
class Origin:
    """The knowledge about one tensor.

    sources: source → the number of its unit or value at each element, −1 elsewhere; in the tensor's shape, mostly an
    expanded view. mixed: the sources that the tensor holds in a sum with something else. behind: ids of weights; their
    layers have values in the tensor, through any function but another layer. through: source → a function of unknown
    structure between it and the tensor. read: number of functions that read the tensor.
    """

    sources: dict[Source, Tensor] = field(default_factory=dict)
    mixed: set[Source] = field(default_factory=set)
    behind: set[int] = field(default_factory=set)
    through: dict[Source, str] = field(default_factory=dict)
    read: int = 0

    @property
    def activated(self) -> list[Activated]:
        """The activations with values in it."""
        return [source for source in self.sources if isinstance(source, Activated)]

    @property
    def produced(self) -> list[Produced]:
        """The layers with outputs in it."""
        return [source for source in self.sources if isinstance(source, Produced)]

    def like(self, sources: dict[Source, Tensor]) -> "Origin":
        """The origin of a tensor that has the same values at other positions."""
        return Origin(sources, self.mixed & sources.keys(), set(self.behind), dict(self.through))


def numbered(shape: torch.Size, axis: int) -> Tensor:
    """0, 1, … along an axis, expanded to the shape."""
    sizes = [1] * len(shape)
    sizes[axis] = shape[axis]
    return torch.arange(shape[axis], dtype=torch.int32).view(sizes).expand(shape)


def axis_of(labels: Tensor) -> int | None:
    """The axis along which the labels are 0, 1, …, constant along all others; None without such an axis."""
    for axis in reversed(range(labels.dim())):
        own = along(labels, axis)
        if own is not None and torch.equal(own, torch.arange(len(own), dtype=torch.int32)):
            return axis
    return None


def block(labels: Tensor, axis: int, count: int) -> tuple[int, int] | None:
    """The first and the last + 1 place of labels of 0, 1, … count − 1 along an axis, each equally often, in this order.

    None if they are apart, or in another order.
    """
    own = along(labels, axis)
    places = [] if own is None else (own >= 0).nonzero().flatten().tolist()
    if own is None or not places or len(places) % count or places[-1] - places[0] + 1 != len(places):
        return None
    wanted = torch.arange(count, dtype=torch.int32).repeat_interleave(len(places) // count)
    return (places[0], places[-1] + 1) if torch.equal(own[places], wanted) else None


def along(labels: Tensor, axis: int) -> Tensor | None:
    """The labels along an axis, if they are constant along all others; otherwise None."""
    few = labels.movedim(axis, -1)
    few = few[:2] if few.dim() > 1 else few
    first = few[(0,) * (few.dim() - 1)]
    return first if bool((few == first).all()) else None
