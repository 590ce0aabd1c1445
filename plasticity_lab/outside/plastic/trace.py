"""A forward pass that is watched: its layers, its activations, and the layers that read the values of each.

Each function of torch in the pass hands on the origins of its arguments (`origins`), by its name (`functions`).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from plasticity_lab.outside.plastic import functions
from plasticity_lab.outside.plastic.moves import Call, alike, moved_labels, tensors_in
from plasticity_lab.outside.plastic.origins import Activated, Normed, Origin, Produced, Source, axis_of, block, numbered


class Trace(TorchFunctionMode):
    """Watches one forward pass and changes nothing in it.

    constants: ids of the module's parameters and buffers. inputs: the arguments of the pass, if they are known. After
    it:
    layers: the outputs of layers, in the order of the calls. places: the activations. hidden: a copy of the output of
    each call of an activation; overwritten: the calls with outputs that were changed afterwards. norms: the calls of
    normalisations. calls: activations' names and layers' weights, as in `Watch`. reads: id of a parameter → number of
    functions that read it.
    read_on: ids of weights of layers that other layers read. unfollowed: a function that torch does not announce, with
    values in the pass, such as an autograd.Function; "" without one.
    """

    def __init__(self, constants: set[int], inputs: Any = ()) -> None:
        super().__init__()
        self._constants, self._inputs = constants, {id(each): each for each in tensors_in(inputs)}
        self.unfollowed = ""
        self._origins: dict[int, tuple[Tensor, Origin, int]] = {}
        self._watched: list[tuple[Tensor, int]] = []
        self.layers, self.places, self.norms = list[Produced](), list[Activated](), list[Normed]()
        self.hidden, self.calls, self.overwritten = list[Tensor](), list[str | int](), set[int]()
        self.reads, self.read_on = Counter[int](), set[int]()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls the function, and notes the origin of its result."""
        given = dict(kwargs or {})
        tensors = {id(each): each for each in tree_leaves((args, given)) if isinstance(each, Tensor)}
        before = {key: self._origin(each) for key, each in tensors.items()}
        made = func(*args, **given)
        name = functions.name_of(func)
        results = tensors_in(made)
        if not results or name in functions.UNREAD:
            return made
        for key, each in tensors.items():
            self._count(each, before[key])
            known = key in self._origins or key in self._constants or key in self._inputs
            if each.grad_fn is not None and not known:
                self.unfollowed = each.grad_fn.name()
        origins = self._followed(Call(name, func, args, given, made, before))
        if origins is None:
            origins = [self._unknown(name, before, tensors) for _ in results]
        for each, origin in zip(results, origins, strict=True):
            self._origins[id(each)] = each, origin, each._version
        return made

    def finish(self, outputs: Any = None) -> None:
        """Ends the trace.  outputs: the results of the pass, if they are known."""
        for each in tensors_in(outputs):
            for source, function in self._origin(each).through.items():
                if isinstance(source, Activated):
                    source.refuse(f"its values reach the outputs through {function}")
        for place in self.places:
            if place.of is not None and place.of.shared:
                place.is_sum = True
        for number, (tensor, version) in enumerate(self._watched):
            if tensor._version != version:
                self.overwritten.add(number)
        self._origins.clear()
        self._watched.clear()

    def _origin(self, tensor: Tensor) -> Origin:
        if id(tensor) not in self._origins:
            return Origin()
        _, origin, version = self._origins[id(tensor)]
        if tensor._version != version and origin.sources:
            self.unfollowed = "a change in place"
        return origin

    def _count(self, tensor: Tensor, origin: Origin) -> None:
        """Counts a function that reads a tensor."""
        if isinstance(tensor, nn.Parameter):
            self.reads[id(tensor)] += 1
        origin.read += 1
        if origin.read > 1:
            for produced in origin.produced:
                produced.shared = True

    def _followed(self, call: Call) -> list[Origin] | None:
        """The origins of a function's results; None for a function of unknown structure."""
        name = call.name
        weights = functions.reading(name, call.args)
        if weights or not (name in functions.SEVERAL or name.endswith("_as")):
            self._enters_otherwise(call)
        if name in functions.LAYERS:
            return [self._layer(call)]
        first = call.before.get(id(call.first), Origin())
        if functions.is_activation(name, call.args, call.given):
            return [self._activation(name, first, call.made)]
        if weights:
            for weight in weights:
                self._read_by(first, weight, -1)
            return [Origin() for _ in tensors_in(call.made)]
        if name in functions.NORMS:
            return [self._norm(call, first)]
        if name in functions.SUMS or name in functions.PRODUCTS:
            return self._joined(call)
        if name in functions.KEPT:
            return [first.like(first.sources)] if alike(first, call.made) else None
        return self._moved(call)

    def _enters_otherwise(self, call: Call) -> None:
        """Refuses units with values in another argument than the first one, such as the state of an LSTM."""
        first = {id(each) for each in tensors_in(call.first)}
        for key, origin in call.before.items():
            for source in (*origin.sources, *origin.through) if key not in first else ():
                source.refuse(f"its values enter a function ({call.name}) otherwise than as its input")
            for produced in origin.produced if key not in first else ():
                produced.shared = True

    def _layer(self, call: Call) -> Origin:
        named = call.named(*functions.order(call.name, call.function))
        weight, axis = named["weight"], functions.LAYERS[call.name]
        own = weight if isinstance(weight, nn.Parameter) else None
        self._read_by(call.before[id(named["input"])], own, axis)
        produced = Produced(own, named.get("bias"), weight.shape[0], named.get("groups", 1))
        self.calls.append(0 if own is None else id(own))
        self.layers.append(produced)
        return Origin({produced: numbered(call.made.shape, axis)}, behind={id(weight)})

    def _read_by(self, origin: Origin, weight: Tensor | None, axis: int) -> None:
        """Notes that a layer reads values along an axis of a tensor.  weight: its parameter, if it has one."""
        for place in origin.activated:
            if place in origin.mixed:
                continue
            read = block(origin.sources[place], axis, place.passed)
            if read is None:
                place.refuse("its values are in another order, or apart, before a layer reads them")
            elif weight is None:
                place.refuse("a layer that reads its values computes its weight at each call (weight_norm, pruning)")
            else:
                place.outgoing.append((weight, *read))
        self._read_by_layer(origin)

    def _read_by_layer(self, origin: Origin) -> None:
        self.read_on |= origin.behind
        for source, function in origin.through.items():
            source.refuse(f"its values reach a layer through {function}")

    def _activation(self, name: str, origin: Origin, made: Tensor) -> Origin:
        number = len(self.hidden)
        self.hidden.append(made.clone())
        self._watched.append((made, made._version))
        self.calls.append(name)
        if not origin.sources:
            return origin.like({})
        if origin.activated and not origin.mixed and alike(origin, made):  # a function of an activation's values
            for place in origin.activated:
                place.number = number
            return origin.like(origin.sources)
        of = origin.produced[-1] if origin.produced else None
        axis = None if of is None else axis_of(origin.sources[of])
        place = Activated(of, name, number, made.dim() - 1 if axis is None else axis, 0, bool(origin.mixed))
        place.passed = made.shape[place.axis]
        if axis is None:
            place.refuse("no linear layer or convolution is known before it")
        elif of is not None and of.weight is None:
            place.refuse("the layer before it computes its weight at each call (weight_norm, pruning)")
        self.places.append(place)
        return Origin({place: numbered(made.shape, place.axis)}, behind=set(origin.behind))

    def _norm(self, call: Call, origin: Origin) -> Origin:
        kind = functions.NORMS[call.name]
        named = call.named(*functions.order(call.name, call.function))
        norm = Normed(kind, named.get("weight"), named.get("bias"), named.get("running_mean"), named.get("running_var"))
        self.norms.append(norm)
        if len(origin.produced) == 1 and len(origin.sources) == 1 and not origin.mixed:
            (of,) = origin.produced
            if of.norm is None and (norm.scale is None or norm.scale.numel() == of.units):
                of.norm = norm
        for place in origin.activated if kind != "batch" else ():
            place.refuse("a normalisation over its units reads its values")
        return origin.like(origin.sources)

    def _joined(self, call: Call) -> list[Origin] | None:
        """The origin of a sum or a product; numbers, parameters and buffers leave a tensor's sources as they are."""
        parts = [each for each in chain(call.args, call.given.values()) if isinstance(each, Tensor)]
        known = [call.before[id(each)] for each in parts if id(each) not in self._constants and each.dim()]
        if call.name in functions.PRODUCTS:
            known = [each for each in known if each.behind or each.sources]
        products = call.name in functions.PRODUCTS and len(known) > 1
        if not known or products or any(not alike(each, call.made) for each in known):
            return None
        sources: dict[Source, Tensor] = {}
        for each in known:
            sources |= each.sources
        mixed = set[Source]().union(*(each.mixed for each in known))
        if len(known) > 1:
            mixed |= sources.keys()
            for source in sources:
                if isinstance(source, Activated):
                    source.is_sum = True
        through = {place: function for each in known for place, function in each.through.items()}
        return [Origin(sources, mixed, set[int]().union(*(each.behind for each in known)), through)]

    def _moved(self, call: Call) -> list[Origin] | None:
        """The origins of the results of a function that moves or pools values; None if it does neither."""
        moving = [call.before[id(each)] for each in tensors_in(call.first)]
        sources = list(dict.fromkeys(source for each in moving for source in each.sources))
        if not sources and call.name not in functions.MOVED:
            return None
        results = tensors_in(call.made)
        found: list[dict[Source, Tensor]] = [{} for _ in results]
        for source in sources:

            def labels(each: Any, source: Source = source) -> Any:
                if not isinstance(each, Tensor):
                    return each
                own = call.before[id(each)].sources.get(source)
                return torch.full((1,) * each.dim(), -1, dtype=torch.int32).expand(each.shape) if own is None else own

            moved = moved_labels(call, tree_map(labels, call.first))
            if moved is None or [each.shape for each in moved] != [each.shape for each in results]:
                return None
            for at, each in enumerate(moved):
                if bool((each >= 0).any()):
                    found[at][source] = each
        mixed = set[Source]().union(*(each.mixed for each in moving))
        behind = set[int]().union(*(each.behind for each in moving))
        through = {place: function for each in moving for place, function in each.through.items()}
        return [Origin(each, mixed & each.keys(), set(behind), dict(through)) for each in found]

    def _unknown(self, name: str, before: Mapping[int, Origin], tensors: Mapping[int, Tensor]) -> Origin:
        """The origin of the result of a function of unknown structure."""
        origin = Origin()
        for each in before.values():
            origin.behind |= each.behind
            origin.through |= each.through | dict.fromkeys(each.sources, f"a function ({name})")
            for produced in each.produced:
                produced.shared = True
        if any(isinstance(each, nn.Parameter) and each.dim() > 1 for each in tensors.values()):  # such as an LSTM
            self._read_by_layer(origin)
            return Origin()
        return origin
