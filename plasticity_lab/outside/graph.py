"""The graph of one forward pass of a module: its layers and activations, and the values that each is computed from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction
from torch.utils.weak import WeakIdKeyDictionary

from plasticity_lab.errors import InputError
from plasticity_lab.outside.calls import Calls, Function, Inputs, Named, computed
from plasticity_lab.outside.functions import BENT, CELLS, RECURRENT, ActivationCall, Convolution, convolution
from plasticity_lab.outside.layout import EXAMPLES, Layout, kinds, of_batch, of_state, resized
from plasticity_lab.outside.shapes import after_layer, layout_after

COMPARISONS = {"gt", "lt", "ge", "le", "__gt__", "__lt__", "__ge__", "__le__"}
PRODUCTS = {"mul", "__mul__", "__rmul__", "multiply", "mul_", "__imul__"}


@dataclass(eq=False)
class Node:
    """One tensor of the forward pass.

    kind: input, parameter, constant, layer, activation, or other. name: the function's name, or the parameter's.
    module: the path of the submodule that calls the function. sources: the tensors that it is computed from. data:
    whether it depends on the inputs. number: the call's number among layers and activations. bent: the name of a
    function of single values behind a layer, which may be part of an activation, until an activation or a layer
    follows. compared: whether it says which values of units are larger. behind: whether it is computed from a layer,
    or is one.
    """

    kind: str
    name: str
    shape: tuple[int, ...]
    sources: Sequence["Node"] = ()
    module: str = ""
    data: bool = False
    layout: Layout | None = None
    number: int = -1
    call: ActivationCall | None = None
    bent: str | None = None
    compared: bool = False
    behind: bool = False
    convolution: Convolution | None = None
    into: list["Node"] = field(default_factory=list)
    """The tensors that are computed from it."""

    def parameters(self) -> list[str]:
        """The names of the parameters that it is computed from, without passing through data."""
        return [each.name for each in self.upstream(lambda node: not node.data) if each.kind == "parameter"]

    def upstream(self, through: Any = lambda node: True) -> Iterator["Node"]:
        """The nodes that it is computed from, nearest first, and itself. through: which nodes to pass."""
        return _walk(self, lambda node: [each for each in node.sources if through(each)])

    def downstream(self) -> Iterator["Node"]:
        """The nodes that are computed from it, and itself."""
        return _walk(self, lambda node: node.into)


def _walk(start: Node, following: Any) -> Iterator[Node]:
    seen, queue = {id(start)}, [start]
    while queue:
        node = queue.pop(0)
        yield node
        for each in following(node):
            if id(each) not in seen:
                seen.add(id(each))
                queue.append(each)


@dataclass
class Graph:
    """layers, activations: nodes in the order of their calls. outputs: the tensors that the module returns. calls: the
    names of all functions that are layers or activations, by number. in_place: whether the forward pass changes data in
    place. written: the paths of submodules that compute a function of single values, which may be an activation.
    """

    layers: list[Node]
    activations: list[Node]
    outputs: list[Node]
    calls: list[str]
    in_place: bool = False
    written: dict[str, None] = field(default_factory=dict)


class Recording(Calls):
    """Records the graph.  Raises InputError for values that no function of torch has returned."""

    def __init__(
        self, module: nn.Module, named: Mapping[str, Tensor], inputs: Iterable[Tensor], examples: int,
        written: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(False, written)
        self.module, self.examples = module, examples
        self.nodes = WeakIdKeyDictionary()
        self.graph = Graph([], [], [], [])
        self.path = [""]
        parameters = dict(module.named_parameters())
        for name, value in named.items():
            kind = "parameter" if name in parameters else "constant"
            self.nodes[value] = Node(kind, name, tuple(value.shape))
        for value in inputs:
            self.nodes[value] = Node("input", "", tuple(value.shape), data=True, layout=of_batch(value.shape, examples))

    def _next(self, name: str) -> int:
        self.graph.calls.append(name)
        return super()._next(name)

    def node(self, value: Tensor) -> Node:
        """The node of a tensor."""
        if value.grad_fn is not None and (value not in self.nodes or isinstance(value.grad_fn, BackwardCFunction)):
            raise InputError(
                f"{self.path[-1] or 'The forward pass'} computes values in code that cannot be followed "
                f"({value.grad_fn.name()}: TorchScript, or an autograd.Function); replace it by functions of torch."
            )
        if value in self.nodes:
            return self.nodes[value]
        found = Node("constant", "", tuple(value.shape))
        self.nodes[value] = found
        return found

    def layout(self, value: Any) -> Layout | None:
        """The layout of a tensor of data."""
        return self.node(value).layout if isinstance(value, Tensor) and self.node(value).data else None

    def activated(self, number: int, call: ActivationCall) -> Tensor:
        """Records an activation."""
        z, others = (
            self.node(call.z),
            [self.node(each) for each in (*call.rest, *call.named.values()) if isinstance(each, Tensor)],
        )
        h = self.values(call)
        layout = None if z.layout is None else resized(z.layout, tuple(h.shape))
        made = self._made("activation", call.name, h, [z, *others], layout, number)
        made.call = replace(call, z=torch.empty(0))
        if z.data:
            self.graph.activations.append(made)
            self.graph.in_place |= call.in_place
        if call.in_place:
            self.nodes[call.z] = made
            self._changes_base(call.z, made)
        return h

    def layer(self, number: int, name: str, func: Function, args: Any, kwargs: Named) -> Any:
        """Records a layer, or a product of two tensors of data."""
        sources = [self.node(each) for each in _tensors((args, kwargs))]
        data = [each for each in sources if each.data]
        own = bool(data) and any(each.parameters() for each in sources if not each.data)
        found = super().layer(number, name, func, args, kwargs)
        for at, value in enumerate(_tensors(found)):
            rule = after_layer if own else layout_after
            layout = rule(name, args, kwargs, value, self.layout) if data and (at == 0 or name in CELLS) else None
            if own and at > 0 and name in RECURRENT - CELLS:
                layout = of_state(value.shape, self.examples)
            made = self._made("layer" if own else "other", name, value, sources, layout, number)
            made.convolution = convolution(name, args, kwargs)
            if own and at == 0:
                self.graph.layers.append(made)
        return found

    def other(self, name: str, func: Function, args: Any, kwargs: Named) -> Any:
        """Records any other function of tensors."""
        if name.startswith("get ") and name not in ("get T", "get mT", "get data", "get real"):
            return func(*args, **kwargs)
        given = [*_tensors((args, kwargs))]
        sources = [self.node(each) for each in given]
        into = args[0] if args and isinstance(args[0], Tensor) and _in_place(name, kwargs) else None
        found = super().other(name, func, args, kwargs)
        for value in [*_tensors(found), *([] if into is None or found is into else [into])]:
            if value is into:
                layout = self.layout(into)
                self.graph.in_place |= any(each.data for each in sources)
            elif any(value is each for each in given):
                continue
            else:
                layout = layout_after(name, args, kwargs, value, self.layout) if any(n.data for n in sources) else None
            made = self._made("other", name, value, sources, layout)
            made.compared = name in COMPARISONS and made.behind
            if value is into:
                self._changes_base(value, made)
        return found

    def _changes_base(self, view: Tensor, made: Node) -> None:
        """Records that a view was written to, and with it the tensor that it shows."""
        if view._is_view() and view._base is not None and view._base in self.nodes:
            self._made("other", made.name, view._base, [self.node(view._base), made], self.node(view._base).layout)

    def _made(
        self, kind: str, name: str, value: Tensor, sources: Sequence[Node], layout: Layout | None, number: int = -1
    ) -> Node:
        data = any(each.data for each in sources)
        shape = tuple(value.shape)
        if layout is not None and EXAMPLES not in kinds(layout) and shape[:1] == (self.examples,):
            layout = None
        made = Node(kind, name, shape, list(sources), self.path[-1], data, layout if data else None, number)
        made.behind = data and (kind == "layer" or any(each.behind for each in sources))
        for each in sources:
            each.into.append(made)
        made.bent = _bent(name, made) if data and value.is_floating_point() else None
        if made.bent:
            self.graph.written[self.path[-1]] = None
        self.nodes[value] = made
        return made


def recorded(
    module: nn.Module, values: Mapping[str, Tensor], inputs: Inputs, examples: int, written: Sequence[str] = ()
) -> tuple[Graph, Any]:
    """The graph of a forward pass, and the outputs.  values: parameters and buffers by name. written: see `Calls`."""
    mode = Recording(module, values, _tensors(inputs), examples, written)
    with _paths(module, mode.path):
        outputs = computed(module, values, inputs, mode)
    mode.graph.outputs = [mode.node(each) for each in _tensors(outputs)]
    return mode.graph, outputs


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors in tuples, lists, dicts and objects with fields."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _tensors(getattr(value, name))


tensors_of = _tensors


def _in_place(name: str, kwargs: Named) -> bool:
    if name.startswith("__"):
        return name in ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__", "__setitem__")
    return bool(kwargs.get("inplace")) or (name.endswith("_") and name != "requires_grad_")


def _bent(name: str, made: Node) -> str | None:
    """The name of a function that may be part of an activation, on the way from a layer."""
    size = _numel(made.shape)
    carried = [each.bent for each in made.sources if each.bent and each.data and _numel(each.shape) == size]
    if carried and made.kind == "other":
        return carried[0]
    data = [each for each in made.sources if each.data]
    if made.kind != "other" or not made.behind:
        return None
    bare = name.removesuffix("_") if not name.startswith("__") else name
    if bare in BENT and any(_numel(each.shape) == size for each in data):
        return bare
    if bare == "where" and any(each.compared for each in data):
        return bare
    if name in PRODUCTS and len(data) == 2:
        one, two = data
        if one is two or (one.compared or two.compared):
            return bare.strip("_")
        for h, z in ((one, two), (two, one)):
            if h.kind == "activation" and h.sources and h.sources[0] is z:
                return f"{bare.strip('_')} by {h.name}"
    return None


def _numel(shape: Sequence[int]) -> int:
    found = 1
    for size in shape:
        found *= size
    return found


@contextmanager
def _paths(module: nn.Module, path: list[str]) -> Iterator[None]:
    """Inside this context the last entry of `path` is the submodule that computes."""

    def left(*_: Any) -> None:
        path.pop()

    handles = []
    for name, own in module.named_modules():
        handles.append(own.register_forward_pre_hook(lambda *_, name=name: path.append(name), prepend=True))
        handles.append(own.register_forward_hook(left, always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
