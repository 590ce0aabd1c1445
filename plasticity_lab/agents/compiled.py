"""Functions compiled whole, one graph for each set of shapes; on a GPU their calls are recorded and replayed."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from plasticity_lab.agents import graphs


class Compiled:
    """A function of tensors, and of dictionaries of them, compiled into one graph for each set of shapes.

    torch.compile checks before each call that nothing it depends on has changed. The check costs some 30 µs: half a
    step of a small pack. Here only the shapes of the tensors among the arguments may change, and only these are
    checked. Everything else that the function reads must stay as at the first call, including the shapes of tensors
    within dictionaries. The function has no effect besides its result and changes of tensors.

    same: words that determine the function. Functions with equal words do the same with tensors of equal shapes, so
        they share graphs, in later packs and in other processes (see `graphs`). Everything that the function reads in
        addition to its arguments must follow from these words. None for a function that shares no graphs.
    reads: positions of the arguments that the function does not change. On a GPU a call is recorded, and other
        arguments that move between calls are copied (see `Captured`).
    around: makes the function that is called, and recorded, from the graph, for example several calls of it; None for
        the graph itself.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        same: Sequence[str] | None = None,
        reads: Collection[int] = (),
        around: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
    ) -> None:
        self._function, self._same, self._reads, self._around = function, same, reads, around
        self._graphs: dict[tuple[torch.Size, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function."""
        shapes = tuple(value.shape for value in arguments if isinstance(value, torch.Tensor))
        graph = self._graphs.get(shapes)
        if graph is None:
            graph = graphs.graph_of(self._function, self._same, arguments)
            graph = graph if self._around is None else self._around(graph)
            if any(isinstance(leaf, torch.Tensor) and leaf.is_cuda for leaf in tree_leaves(arguments)):
                graph = Captured(graph, self._reads, cuda_graph)
            self._graphs[shapes] = graph
        return graph(*arguments)

    def prepare(self, arguments: Sequence[Any]) -> None:
        """Makes the graph of a later call, if it is shared. Only the shapes of the arguments matter."""
        if self._same is not None:
            graphs.graph_of(self._function, self._same, arguments)


Call = tuple[Callable[..., Any], Callable[[], Sequence[Any]]]
"""A function and, as a function without arguments, the arguments of a call. Only their shapes matter."""


def compile_together(*calls: Call) -> None:
    """Makes the graphs of later calls on a CPU, by one C++ compiler, for all functions that are `Compiled`."""
    with graphs.together():
        for function, arguments in calls:
            if isinstance(function, Compiled):
                function.prepare(arguments())


# A compiled function on a GPU, recorded as a CUDA graph: one launch for all kernels of a call.
#
# A packed step is twenty to a hundred small kernels, and launching them one by one takes the host longer than a GPU
# takes to compute a small pack. A replay reads and writes the same memory each time. So each tensor argument must
# be at the same address as in the recording; a tensor that moves is first copied into the recording's memory ("fed").

Recorder = Callable[[Callable[[], Any], torch.device], Callable[[], Any]]
"""(function, device) → a function that launches on the device, in one launch, all work of one call. It returns the same
tensors each time.
"""
FED_BYTES = 4 * 2**20
"""The largest tensor to feed if it moves repeatedly and the function may change it. The statistics of units in packs of
hundreds are smaller; weights are larger.
"""


class Captured:
    """A function of tensors, and of mappings and tuples of them, as a recorded call; all other arguments must stay the
    same.

    The first call is an ordinary one, so that lazy initialisation is done before the recording. The second call is
    recorded. Tensors that have moved since the first call, such as a batch, are fed from then on.

    Tensors that move later are also fed from then on, and the call is recorded again. The exception is large tensors
    that the function may change: they are parameters that were replaced as a whole, and will not move again soon.

    reads: positions of the arguments that the function does not change. Other fed arguments are copied back after each
        call.
    """

    def __init__(self, function: Callable[..., Any], reads: Collection[int], recorder: Recorder) -> None:
        self._function, self._reads, self._recorder = function, reads, recorder
        self._places: list[int] = []  # addresses of the tensors that the recording reads and writes
        self._fed: dict[int, Tensor] = {}  # number of a fed tensor → the recording's copy
        self._given: dict[int, tuple[Tensor, int]] = {}  # number of a fed tensor → last source and its version
        self._changed: frozenset[int] = frozenset()  # the numbers of the tensors that the function may change
        self._replay: Callable[[], Any] | None = None
        self._passed_on: dict[int, int] = {}  # results that are arguments: address → number of the argument

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function. No later call writes into the returned tensors, except into arguments passed through."""
        tensors = [tensor for argument in arguments for tensor in _tensors(argument)]
        places = [tensor.data_ptr() for tensor in tensors]
        if not self._places:
            self._places, self._changed = places, self._may_change(arguments)
            return self._function(*arguments)
        moved = [at for at, place in enumerate(places) if place != self._places[at] and at not in self._fed]
        if moved or self._replay is None:
            fed = (at for at in moved if not self._replay or at not in self._changed or tensors[at].nbytes <= FED_BYTES)
            self._fed |= {at: torch.empty_like(tensors[at]) for at in fed}
            self._places = places
        for at, own in self._fed.items():
            self._feed(at, tensors[at], own)
        if moved or self._replay is None:
            self._record(arguments, tensors)
        assert self._replay is not None
        result = self._replay()
        # A replay bypasses torch's version counters. Without this, another `Captured` fed one of these tensors would
        # miss the change.
        torch.autograd.graph.increment_version([tensors[at] for at in self._changed - self._fed.keys()])
        for at in self._changed & self._fed.keys():
            tensors[at].copy_(self._fed[at])
        return _mapped(lambda own: self._callers(own, tensors), result)

    def _may_change(self, arguments: Sequence[Any]) -> frozenset[int]:
        counts = [sum(1 for _ in _tensors(argument)) for argument in arguments]
        owners = [number for number, count in enumerate(counts) for _ in range(count)]
        return frozenset(at for at, owner in enumerate(owners) if owner not in self._reads)

    def _callers(self, own: Tensor, tensors: Sequence[Tensor]) -> Tensor:
        """A result tensor for the caller: the argument itself if it was passed through, otherwise a copy."""
        at = self._passed_on.get(own.data_ptr()) if own.numel() else None
        return own.clone() if at is None else tensors[at]

    def _feed(self, at: int, tensor: Tensor, own: Tensor) -> None:
        """Copies a tensor into the recording's memory, unless the same tensor was copied there before and has not
        changed since.
        """
        given = self._given.get(at)
        if at in self._changed or given is None or given[0] is not tensor or given[1] != tensor._version:
            own.copy_(tensor)
            self._given[at] = tensor, tensor._version

    def _record(self, arguments: Sequence[Any], tensors: Sequence[Tensor]) -> None:
        self._replay = None  # frees its memory before more is allocated
        taken = iter([self._fed.get(at, tensor) for at, tensor in enumerate(tensors)])
        recorded = [_mapped(lambda _: next(taken), argument) for argument in arguments]
        self._replay = self._recorder(lambda: self._function(*recorded), tensors[0].device)
        self._passed_on = {self._fed.get(at, tensor).data_ptr(): at for at, tensor in enumerate(tensors)}


def cuda_graph(function: Callable[[], Any], device: torch.device) -> Callable[[], Any]:
    """Records the function's kernels as a CUDA graph. Nothing is computed during the recording."""
    graph = torch.cuda.CUDAGraph()
    # Other threads of the process, which renew a lease or write files, may continue during the recording.
    with torch.cuda.device(device), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = function()

    def replay() -> Any:
        graph.replay()
        return result

    return replay


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors of a value, in the same order as in `_mapped`."""
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
