"""The graph of a forward pass: a node for each tensor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from plasticity_lab.outside.functions import ActivationCall, Convolution
from plasticity_lab.outside.layout import Layout


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
