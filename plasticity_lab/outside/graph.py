"""The graph of one forward pass of a module: its layers and activations, and the values that each is computed from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction
from torch.utils.weak import WeakIdKeyDictionary

from plasticity_lab.errors import InputError
from plasticity_lab.outside.bent import bent, compared
from plasticity_lab.outside.calls import Calls, Function, Inputs, Named, computed
from plasticity_lab.outside.functions import CELLS, RECURRENT, ActivationCall, convolution
from plasticity_lab.outside.layout import EXAMPLES, Layout, kinds, of_batch, of_state, resized
from plasticity_lab.outside.node import Graph, Node
from plasticity_lab.outside.shapes import after_layer, layout_after


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
            made.compared = compared(name, made)
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
        made.bent = bent(name, made) if data and value.is_floating_point() else None
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
