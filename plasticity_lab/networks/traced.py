"""Networks of images with a forward pass that is written once: layers, units and their order are recorded from it.

Legend: K runs, B examples, C channels, H, W rows and columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any, Protocol

from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.networks.encoder import Encoder, Maps
from plasticity_lab.networks.network import NORMS, Activate, Layer, Unit
from plasticity_lab.networks.tokenization import Tokens
from plasticity_lab.stacking.conv import StackedConv2d, places
from plasticity_lab.stacking.pool import max_pooled, mean_pooled

INITS = ("default", "kaiming", "lecun", "xavier", "variance_scaling")


class Steps(Protocol):
    """The operations of a forward pass. Their results can also be added up, and multiplied by a number."""

    def conv(
        self, name: str, x: Any, channels: int, kernel: int, stride: int = 1, padding: str = "same", normed: bool = True
    ) -> Any:
        """A convolution with a bias.  channels: before the activation changes their number.

        padding: same, valid or centred (see `stacking.conv.margins`). normed: whether the network's `norm` follows.
        Raises ConfigError if no pixel is left.
        """
        ...

    def activate(self, x: Any) -> Any:
        """The activation of the run."""
        ...

    def max_pool(self, x: Any, size: int = 2, stride: int = 2, padding: str = "valid") -> Any:
        """The largest of each size × size pixels.  Raises ConfigError if no pixel is left."""
        ...

    def mean_pool(self, x: Any) -> Any:
        """The mean of each channel over all pixels, as a map of one pixel."""
        ...


class Traced(Encoder):
    """A network of images. A final class sets `called` and writes `features`; a head follows them.

    hidden: units of the hidden layers of the head, hidden1, hidden2 … init, norm, tokens: see `Convolutional`.
    Interventions that reset units leave a unit alone if its input or output is used elsewhere too, as in a skip
    connection.
    """

    def __init__(
        self, hidden: Sequence[int], init: str = "default", norm: str = "none", tokens: Tokens | None = None
    ) -> None:
        self.tokens = tokens or Tokens()
        self.hidden = {
            f"hidden{number}": check("network.hidden", width, at_least=1)
            for number, width in enumerate(hidden, start=1)
        }
        self.init = check("network.init", init, one_of=INITS)
        self.norm = check("network.norm", norm, one_of=NORMS)

    def features(self, steps: Steps, x: Any) -> Any:
        """An image → its feature map, which ends with an activation; pooling may follow.

        Called for the design and in each forward pass. The order of its calls must depend on the settings only.
        """
        raise NotImplementedError

    @property
    def widths(self) -> Sequence[int]:
        """The channels of the convolutions, in the order of the calls."""
        return self._outline().channels

    @widths.setter
    def widths(self, channels: Sequence[int]) -> None:
        raise AttributeError("The widths of a traced network follow from its features.")

    @property
    def normed_throughout(self) -> bool:
        """Whether there is no sum, and `norm` follows each convolution."""
        return not self._outline().plain

    def _outline(self) -> "_Outline":
        outline = _Outline()
        self.features(outline, _Anything(outline))
        return outline

    def maps(self, image: tuple[int, int, int], channels: Sequence[int], expansion: Fraction | float) -> Maps:
        """The layers and units that `features` asks for.  Raises ConfigError for images that are too small."""
        recorder = _Recorder(self, channels, expansion)
        return recorder.maps(self.features(recorder, _Map(0, image)))

    def encoded(
        self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], x_KBCHW: Tensor, activate: Activate
    ) -> Tensor:
        """Images → the feature map, (K, B, C, H, W)."""
        return self.features(_Pass(layers, parameters, activate), x_KBCHW)


class _Pass:
    """The steps of a forward pass: each takes the next layer or the next unit of the design."""

    def __init__(self, layers: Sequence[Layer], parameters: Mapping[str, Tensor], activate: Activate) -> None:
        self._layers, self._sites, self._parameters, self._activate = iter(layers), count(), parameters, activate

    def conv(self, name: str, x: Tensor, *settings: Any, **named: Any) -> Tensor:
        return next(self._layers)(self._parameters, x)

    def activate(self, x: Tensor) -> Tensor:
        return self._activate(next(self._sites), x)

    def max_pool(self, x: Tensor, size: int = 2, stride: int = 2, padding: str = "valid") -> Tensor:
        return max_pooled(x, size, stride, padding, kernels=isinstance(self._parameters, ThroughKernels))

    def mean_pool(self, x: Tensor) -> Tensor:
        return mean_pooled(x)[..., None, None]


class _Anything:
    """The result of any step, without a shape."""

    def __init__(self, outline: "_Outline") -> None:
        self._outline = outline

    def __add__(self, other: Any) -> "_Anything":
        self._outline.plain = True
        return self

    def __mul__(self, factor: float) -> "_Anything":
        return self

    __radd__, __rmul__ = __add__, __mul__


class _Outline:
    """Steps without an image.

    channels: one number for each convolution, in the order of the calls. plain: whether a step adds maps, or no
    normalisation follows a convolution.
    """

    def __init__(self) -> None:
        self.channels: list[int] = []
        self.plain = False

    def conv(
        self,
        name: str,
        x: _Anything,
        channels: int,
        kernel: int,
        stride: int = 1,
        padding: str = "same",
        normed: bool = True,
    ) -> _Anything:
        self.channels.append(check("network.channels", channels, at_least=1))
        self.plain = self.plain or not normed
        return x

    def activate(self, x: _Anything) -> _Anything:
        return x

    def max_pool(self, x: _Anything, *settings: Any, **named: Any) -> _Anything:
        return x

    mean_pool = activate


@dataclass(frozen=True)
class _Map:
    """The result of a step.

    number: counted through. shape: (C, H, W). sources: layers with outputs that are added up in it, since the
    last activation. units: indices of the units with values in it. of: the map that it pools.
    """

    number: int
    shape: tuple[int, int, int]
    sources: tuple[str, ...] = ()
    units: tuple[int, ...] = ()
    of: "_Map | None" = None
    recorder: "_Recorder | None" = None

    def __add__(self, other: "_Map") -> "_Map":
        recorder = self.recorder or other.recorder
        assert recorder is not None, "only the image was added to itself"
        return recorder.added(self, other)

    def __mul__(self, factor: float) -> "_Map":
        return self

    __rmul__ = __mul__


class _Recorder:
    """Steps that make the design of a network for one image shape.  channels: the channels of each convolution."""

    def __init__(self, network: Traced, channels: Sequence[int], expansion: Fraction | float) -> None:
        self._network, self._channels, self._expansion = network, iter(channels), expansion
        self._layers: list[Layer] = []
        self._units: list[tuple[Unit, _Map]] = []
        self._outgoing: list[list[str]] = []
        self._sums, self._uses, self._numbers = set[int](), dict[int, int](), count(1)

    def conv(
        self,
        name: str,
        x: _Map,
        channels: int,
        kernel: int,
        stride: int = 1,
        padding: str = "same",
        normed: bool = True,
    ) -> _Map:
        self._left(name, x, kernel, stride, padding)
        layer = StackedConv2d(name, x.shape, next(self._channels), kernel, padding, stride)
        self._layers.append(self._network.normed(layer) if normed else layer)
        for unit in self._used(x).units:
            self._outgoing[unit].append(name)
        return self._map(layer.produced, (name,))

    def activate(self, x: _Map) -> _Map:
        if not x.sources:
            raise ConfigError(f"network={self._network.called} activates a map that no layer has changed since.")
        names = {unit.name for unit, _ in self._units}
        alone = len(x.sources) == 1 and not x.units and x.sources[0] not in names
        name = x.sources[0] if alone else next(
            name for n in count(1) if (name := f"{x.sources[-1]}.sum{'' if n == 1 else n}") not in names
        )  # fmt: skip
        self._sums |= {*x.units} | (set() if alone else {len(self._units)})
        self._units.append((Unit(name, x.shape, x.sources[-1], (), kind="channel"), self._used(x)))
        self._outgoing.append([])
        channels, rows, columns = x.shape
        shape = int(channels * self._expansion), rows, columns
        return self._map(shape, (), (len(self._units) - 1,))

    def max_pool(self, x: _Map, size: int = 2, stride: int = 2, padding: str = "valid") -> _Map:
        rows, columns = self._left("max_pool", x, size, stride, padding)
        return self._map((x.shape[0], rows, columns), x.sources, x.units, self._used(x))

    def mean_pool(self, x: _Map) -> _Map:
        return self._map((x.shape[0], 1, 1), x.sources, x.units, self._used(x))

    def added(self, x: _Map, y: _Map) -> _Map:
        """x + y.  Raises ConfigError for other shapes."""
        if x.shape != y.shape:
            raise ConfigError(
                f"network={self._network.called} adds maps of the shapes {x.shape} and {y.shape}. An activation that "
                "passes on more or fewer values changes the number of channels; choose another activation, as relu, or "
                "add maps before it, or behind a convolution."
            )
        for each in (x, y):
            self._used(each)
        self._sums |= {*x.units, *y.units}
        return self._map(x.shape, (*x.sources, *y.sources), (*x.units, *y.units))

    def maps(self, last: _Map) -> Maps:
        """The design.  Raises ConfigError if the features do not end with an activation."""
        if last.sources or last.units != (len(self._units) - 1,):
            raise ConfigError(f"network={self._network.called}: its features must end with `steps.activate`.")
        units = [
            replace(unit, outgoing=tuple(outgoing), is_sum=at in self._sums or self._shared(x))
            for at, ((unit, x), outgoing) in enumerate(zip(self._units, self._outgoing, strict=True))
        ]
        if self._uses.get(last.number) or units[-1].outgoing:
            raise ConfigError(f"network={self._network.called}: its last activation is used before the head too.")
        return Maps(self._layers, units, last.shape)

    def _map(self, shape: tuple[int, int, int], *others: Any) -> _Map:
        return _Map(next(self._numbers), shape, *others, **{"recorder": self})

    def _used(self, x: _Map) -> _Map:
        self._uses[x.number] = self._uses.get(x.number, 0) + 1
        return x

    def _shared(self, x: _Map) -> bool:
        """Whether the input of a unit, or the map that it pools, is used elsewhere too."""
        return self._uses[x.number] > 1 or (x.of is not None and self._shared(x.of))

    def _left(self, name: str, x: _Map, size: int, stride: int, padding: str) -> tuple[int, int]:
        """The rows and columns that are left.  Raises ConfigError if no pixel is left."""
        check("network.kernel", size, at_least=1)
        rows, columns = (places(side, size, stride, padding) for side in x.shape[1:])
        if min(rows, columns) < 1:
            raise ConfigError(
                f"network={self._network.called}: {name} needs {size} × {size} pixels, and there are "
                f"{x.shape[1]} × {x.shape[2]}; choose padding=same, or a smaller network."
            )
        return rows, columns
