"""The parameters of a torch module in the laboratory's layout: each a stack of one run, copied or traced.

Legend: I inputs and O outputs of a layer, P numbers of a patch.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True)
class Piece:
    """One entry of the laboratory's parameters: a parameter of the module, or some rows of it.

    kind: matrix: (O, I) or (O, C, ...) ↔ (1, I, O), a convolution's patches channel by channel. vector: (O,), or all
    numbers of another shape, ↔ (1, 1, O). plain: (*) ↔ (1, *). rows: the outputs that belong to it; None: all. padded:
    O as the laboratory stores it. groups: number of groups in a convolution; weights between groups are zeros in the
    stack.
    """

    value: Tensor
    kind: str
    rows: slice | None = None
    padded: int = 0
    groups: int = 1

    def stacked(self, like: Tensor) -> Tensor:
        """A tensor like the parameter → (1, ...), a copy; a gradient flows through it."""
        own = like if self.rows is None else like[self.rows]
        own = own.float() if own.dtype in (torch.float16, torch.bfloat16) else own
        if self.kind == "plain":
            return own.unsqueeze(0).clone(memory_format=torch.contiguous_format)
        if self.kind == "vector":
            own = own.reshape(1, -1)
        else:
            own = _ungrouped(own, self.groups).flatten(1).t()
        more = self.padded - own.shape[-1]
        own = pad(own, (0, more)) if more > 0 else own
        return own.unsqueeze(0).clone(memory_format=torch.contiguous_format)

    def unstacked(self, stack: Tensor) -> Tensor:
        """(1, ...) → like the parameter, or like its rows."""
        shape = self.value.shape if self.rows is None else self.value[self.rows].shape
        if self.kind == "plain":
            return stack[0]
        if self.kind == "vector":
            return stack[0, 0, : shape.numel()].reshape(shape)
        whole = stack[0, :, : shape[0]].t()
        if self.groups == 1:
            return whole.reshape(shape)
        return _grouped(whole.reshape(shape[0], self.groups * shape[1], *shape[2:]), self.groups)

    def write(self, stack: Tensor, into: Tensor) -> None:
        """Copies a stack back into a tensor like the parameter."""
        (into if self.rows is None else into[self.rows]).copy_(self.unstacked(stack))


def _ungrouped(weight: Tensor, groups: int) -> Tensor:
    """(O, C / groups, ...) → (O, C, ...), zeros between groups."""
    if groups == 1:
        return weight
    outputs, channels = weight.shape[0] // groups, weight.shape[1]
    return torch.cat(
        [
            torch.cat(
                [own if at == group else own.new_zeros(outputs, channels, *own.shape[2:]) for at in range(groups)],
                dim=1,
            )
            for group, own in enumerate(weight.split(outputs))
        ]
    )


def _grouped(weight: Tensor, groups: int) -> Tensor:
    """(O, C, ...) → (O, C / groups, ...): the weights within groups."""
    outputs, channels = weight.shape[0] // groups, weight.shape[1] // groups
    parts = weight.split(outputs)
    return torch.cat([part[:, at * channels : (at + 1) * channels] for at, part in enumerate(parts)])


Pieces = Mapping[str, Piece]
"""The laboratory's name of a parameter → its piece."""


class Copies(Mapping[str, Tensor]):
    """Stacks of tensors, each copied when it is first read; `write` copies back those that were changed in place.

    of: a parameter → the tensor to stack, like it; None: zeros, which are not written. zeros: names of biases that the
    module lacks: they read as zeros, but are not members. parts: name of a layer's part → the layer and the rows of its
    weight; these are views, members, and not among the names.
    """

    def __init__(
        self,
        pieces: Pieces,
        of: Callable[[Tensor], Tensor | None],
        zeros: Mapping[str, int] | None = None,
        parts: Mapping[str, tuple[str, int, int]] | None = None,
    ) -> None:
        self._pieces, self._of, self._zeros, self._parts = pieces, of, zeros or {}, parts or {}
        self._made: dict[str, tuple[Tensor, int]] = {}

    def __getitem__(self, name: str) -> Tensor:
        part = name.removesuffix(".weight")
        if part in self._parts:
            layer, first, behind = self._parts[part]
            return self[f"{layer}.weight"][:, first:behind]
        if name not in self._made:
            stack = self._absent(name) if name not in self._pieces else self._stacked(self._pieces[name])
            self._made[name] = stack, stack._version
        return self._made[name][0]

    def __contains__(self, name: object) -> bool:
        return name in self._pieces or (str(name).endswith(".weight") and str(name)[: -len(".weight")] in self._parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def changed(self) -> bool:
        """Whether a stack was changed since it was read."""
        return any(stack._version != version for name, (stack, version) in self._made.items() if name in self)

    def write(self, all_read: bool = False) -> None:
        """Copies the stacks back that were changed since they were read.

        all_read: whether those without a known change, too: torch's fused kernels leave no sign.
        """
        for name, (stack, version) in self._made.items():
            into = self._of(self._pieces[name].value) if name in self._pieces else None
            if into is not None and (all_read or stack._version != version):
                with torch.no_grad():
                    self._pieces[name].write(stack, into)
                self._made[name] = stack, stack._version

    def _stacked(self, piece: Piece) -> Tensor:
        of = self._of(piece.value)
        return piece.stacked(torch.zeros_like(piece.value) if of is None else of.detach())

    def _absent(self, name: str) -> Tensor:
        like = next(iter(self._pieces.values())).value
        return torch.zeros(1, 1, self._zeros[name], device=like.device)


class Live(Mapping[str, Tensor]):
    """Stacks that hand gradients on to the module's parameters."""

    def __init__(self, pieces: Pieces, zeros: Mapping[str, int]) -> None:
        self._pieces, self._zeros, self._made = pieces, zeros, dict[str, Tensor]()

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._made:
            if name in self._zeros and name not in self._pieces:
                like = next(iter(self._pieces.values())).value
                return torch.zeros(1, 1, self._zeros[name], device=like.device)
            piece = self._pieces[name]
            self._made[name] = piece.stacked(piece.value)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._pieces

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)


def unstacked(pieces: Pieces, stacks: Mapping[str, Tensor], names: Mapping[int, str]) -> dict[str, Tensor]:
    """Stacks → the module's tensors, by torch's names, for `torch.func.functional_call`; gradients flow through.

    names: id of a parameter or buffer → its name. Parameters that no stack holds are absent.
    """
    parts: dict[str, list[tuple[Piece, Tensor]]] = {}
    for name, piece in pieces.items():
        if name in stacks:
            parts.setdefault(names[id(piece.value)], []).append((piece, stacks[name]))
    found = {}
    for name, own in parts.items():
        if own[0][0].rows is None:
            value = own[0][0].unstacked(own[0][1])
        else:  # the parts of one parameter, in the order of their rows
            value = torch.cat([piece.unstacked(stack) for piece, stack in own])
        found[name] = value.to(own[0][0].value.dtype)
    return found
