"""Functions compiled whole, one graph for each set of shapes; on a GPU their calls are recorded and replayed."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from plasticity_lab.agents import graphs


class Compiled:
    """A function of tensors, and of dictionaries of them, as one compiled graph.

    torch.compile checks before each call that nothing it has seen has changed, which costs some 30 µs: half a step of a
    small pack. Here only the shapes of the tensors among the arguments may change, and are looked at; whatever else the
    function reads must stay as it was at the first call, tensors within dictionaries in shape.

    same: words that determine the function: all functions made with equal words do the same with tensors of equal
    shapes, so that their graphs serve each other, in later packs and in other processes (see `graphs`). Whatever the
    function reads beside its arguments must follow from them. None for a function whose graphs are its own.
    reads: the places among the arguments of those that the function does not change. On a GPU a call is recorded, and
    what it may change and moves between calls takes copies (see `Captured`).
    """

    def __init__(
        self, function: Callable[..., Any], same: Sequence[str] | None = None, reads: Collection[int] = ()
    ) -> None:
        self._function, self._same, self._reads = function, same, reads
        self._graphs: dict[tuple[torch.Size, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""
        shapes = tuple(value.shape for value in arguments if isinstance(value, torch.Tensor))
        graph = self._graphs.get(shapes)
        if graph is None:
            graph = graphs.graph_of(self._function, self._same, arguments)
            if any(isinstance(leaf, torch.Tensor) and leaf.is_cuda for leaf in tree_leaves(arguments)):
                graph = Captured(graph, self._reads, cuda_graph)
            self._graphs[shapes] = graph
        return graph(*arguments)


# A compiled function on a GPU, recorded as a CUDA graph: one launch for all kernels of a call.
#
# A packed step is twenty to a hundred small kernels, and launching them one by one takes the host longer than a GPU
# takes to compute a small pack. A replay reads and writes the same memory each time. So each tensor among the arguments
# either has not moved since the recording, or is first copied into memory of the record: it is fed.

Recorder = Callable[[Callable[[], Any], torch.device], Callable[[], Any]]
"""(function, device) → what does on the device all that one call of the function would, launched as one; it returns
the same tensors each time."""
FED_BYTES = 4 * 2**20
"""Of a tensor that the function may change, and that moves again and again: what a unit's statistics take in packs of
hundreds, and less than weights do."""


class Captured:
    """A function of tensors, and of mappings and tuples of them, as a recorded call; all else must stay as it is.

    The first call is an ordinary one: what is made ready late is ready after it. The second is recorded, and whatever
    has moved since the first, as a batch does, is fed from then on. What moves later is fed from then on, too, and the
    call is recorded anew; but of what the function may change, large tensors are not fed then: they are parameters that
    have begun anew, and will not move soon.

    reads: the places among the arguments of those that the function does not change. Of the others, what is fed is
    copied back after each call.
    """

    def __init__(self, function: Callable[..., Any], reads: Collection[int], recorder: Recorder) -> None:
        self._function, self._reads, self._recorder = function, reads, recorder
        self._places: list[int] = []  # where the tensors lay that the record reads and writes
        self._fed: dict[int, Tensor] = {}  # of those that are fed, by their number: the record's own
        self._given: dict[int, tuple[Tensor, int]] = {}  # what these were copied from last, and its version
        self._changed: frozenset[int] = frozenset()  # the numbers of the tensors that the function may change
        self._replay: Callable[[], Any] | None = None
        self._passed_on: dict[int, int] = {}  # what of the result is an argument's: its place in memory → number

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns, in tensors that no later call writes into."""
        tensors = [tensor for argument in arguments for tensor in _tensors(argument)]
        places = [tensor.data_ptr() for tensor in tensors]
        if not self._places:
            self._places, self._changed = places, self._may_change(arguments)
            return self._function(*arguments)
        moved = [at for at, place in enumerate(places) if place != self._places[at] and at not in self._fed]
        if moved or self._replay is None:
            self._fed |= {at: torch.empty_like(tensors[at]) for at in moved if self._is_to_be_fed(at, tensors[at])}
            self._places = places
        for at, own in self._fed.items():
            self._feed(at, tensors[at], own)
        if moved or self._replay is None:
            self._record(arguments, tensors)
        assert self._replay is not None
        result = self._replay()
        # A replay writes past torch, which counts versions: without this, who is fed one of these would not notice.
        torch.autograd.graph.increment_version([tensors[at] for at in self._changed - self._fed.keys()])
        for at in self._changed & self._fed.keys():
            tensors[at].copy_(self._fed[at])
        return _mapped(lambda own: self._callers(own, tensors), result)

    def _may_change(self, arguments: Sequence[Any]) -> frozenset[int]:
        counts = [sum(1 for _ in _tensors(argument)) for argument in arguments]
        owners = [number for number, count in enumerate(counts) for _ in range(count)]
        return frozenset(at for at, owner in enumerate(owners) if owner not in self._reads)

    def _is_to_be_fed(self, at: int, tensor: Tensor) -> bool:
        return self._replay is None or at not in self._changed or tensor.nbytes <= FED_BYTES

    def _callers(self, own: Tensor, tensors: Sequence[Tensor]) -> Tensor:
        """A tensor of the result as the caller's: the argument that it is, or a copy."""
        at = self._passed_on.get(own.data_ptr()) if own.numel() else None
        return own.clone() if at is None else tensors[at]

    def _feed(self, at: int, tensor: Tensor, own: Tensor) -> None:
        """Copies a tensor to its place, unless that was copied from it already and it has not changed since."""
        given = self._given.get(at)
        if at in self._changed or given is None or given[0] is not tensor or given[1] != tensor._version:
            own.copy_(tensor)
            self._given[at] = tensor, tensor._version

    def _record(self, arguments: Sequence[Any], tensors: Sequence[Tensor]) -> None:
        self._replay = None  # which gives memory back before more is taken
        taken = iter([self._fed.get(at, tensor) for at, tensor in enumerate(tensors)])
        recorded = [_mapped(lambda _: next(taken), argument) for argument in arguments]
        self._replay = self._recorder(lambda: self._function(*recorded), tensors[0].device)
        self._passed_on = {self._fed.get(at, tensor).data_ptr(): at for at, tensor in enumerate(tensors)}


def cuda_graph(function: Callable[[], Any], device: torch.device) -> Callable[[], Any]:
    """What the function launches, as a CUDA graph; nothing is computed while it is recorded."""
    graph = torch.cuda.CUDAGraph()
    # Other threads of the process, which watch over a lease or write files, may go on meanwhile.
    with torch.cuda.device(device), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = function()

    def replay() -> Any:
        graph.replay()
        return result

    return replay


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors of a value, in the order in which `_mapped` meets them."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _tensors(each)


def _mapped(change: Callable[[Tensor], Tensor], value: Any) -> Any:
    """A value of the same structure, with other tensors."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _mapped(change, each) for name, each in value.items()}
    if isinstance(value, tuple):
        parts = [_mapped(change, each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
