"""The largest algebraic eigenvalue of a symmetric map that is known by its products alone, by Lanczos' method.

Every vector is orthogonalised against all before it, twice, so that no eigenvalue is found again. Several maps are
followed side by side, since one call gives the products of all; none depends on another.

Legend: K maps, N numbers of a vector, M vectors so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

Product = Callable[[Tensor], Tensor]
"""(K, N) → (K, N): of each map with its own vector."""
SMALL = 0.01
"""Where |λ| is less than this share of ‖H‖, errors count beside ‖H‖: near 0 no λ is known to a share of itself."""
FEWEST = 4
"""Vectors before the estimate of a residual is believed."""
ROOM = 16
"""Vectors for which room is made at a time."""


class Largest(NamedTuple):
    """An eigenvalue as it was found.

    value: vᵀHv of the unit vector v that was found. residual: ‖Hv − value·v‖: an eigenvalue of H lies at most so far
    away. size: the largest eigenvalue in size that was met, which stands for ‖H‖. iterations: products taken.
    """

    value: float
    residual: float
    size: float
    iterations: int


def largest_eigenvalues(product: Product, start_KN: Tensor, most: int, tolerance: float) -> list[Largest]:
    """Of each map.  Stops where the residual is at most `tolerance` · max(|λ|, SMALL ‖H‖), or after `most` products.

    start: random vectors; what they have no part in is never found, so numbers that are no parameters are 0 in them.
    A map whose products are not finite has NaN.
    """
    searches = [_Search(own.double() / own.double().norm().clamp(min=1e-300)) for own in start_KN.unbind()]
    for _ in range(min(most, start_KN.shape[1])):
        if all(search.ended for search in searches):
            break
        products = product(torch.stack([search.last for search in searches]).to(start_KN.dtype))
        for search, own in zip(searches, products.unbind(), strict=True):
            search.take(own.double(), tolerance)
    vectors = torch.stack([search.vector() for search in searches])
    products = product(vectors.to(start_KN.dtype)).double()
    return [search.found(v, own) for search, v, own in zip(searches, vectors.unbind(), products.unbind(), strict=True)]


@dataclass
class _Search:
    """One map's tridiagonal matrix (diagonal, beside) and the vectors in which it is that."""

    last: Tensor
    blocks: list[Tensor] = field(default_factory=list)
    diagonal: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    ended: bool = False

    def take(self, product: Tensor, tolerance: float) -> None:
        """Takes H · last; nothing once the search has ended."""
        if self.ended:
            return
        self._keep(self.last)
        self.diagonal.append(float(self.last @ product))
        rest = product
        for _ in range(2):
            for block in self._blocks():
                rest = rest - (block @ rest) @ block
        length = float(rest.norm())
        values, vectors = self._spectrum()
        size = float(values.abs().max()) if values.isfinite().all() else float("nan")
        estimate = length * abs(float(vectors[-1, -1]))
        wanted = tolerance * max(abs(float(values[-1])), SMALL * size)
        converged = len(self.diagonal) >= FEWEST and estimate <= wanted
        # Without a rest the vectors span all that the start has a part in; what is not finite leads nowhere.
        self.ended = converged or not length > 1e-12 * size
        self.beside.append(length)
        self.last = rest / length if not self.ended else self.last

    def vector(self) -> Tensor:
        """The best unit vector so far, (N,)."""
        _, vectors = self._spectrum()
        weights, total = vectors[:, -1], torch.zeros_like(self.last)
        for block, own in zip(self._blocks(), weights.split(ROOM), strict=True):
            total = total + own.to(block.device) @ block
        return total / total.norm().clamp(min=1e-300)

    def found(self, vector: Tensor, product: Tensor) -> Largest:
        """What is said of it."""
        value = float(vector @ product)
        values, _ = self._spectrum()
        residual = float((product - value * vector).norm())
        size = max(float(values.abs().max()), abs(value))
        return Largest(value, residual, size, len(self.diagonal) + 1)

    def _spectrum(self) -> tuple[Tensor, Tensor]:
        matrix = torch.diag(torch.tensor(self.diagonal, dtype=torch.float64))
        beside = torch.tensor(self.beside[: len(self.diagonal) - 1], dtype=torch.float64)
        matrix = matrix + torch.diag(beside, 1) + torch.diag(beside, -1)
        if not bool(matrix.isfinite().all()):
            nan = torch.full_like(matrix, float("nan"))
            return nan[0], nan
        return torch.linalg.eigh(matrix)

    def _keep(self, vector: Tensor) -> None:
        at = len(self.diagonal) % ROOM
        if at == 0:
            self.blocks.append(vector.new_zeros(ROOM, len(vector)))
        self.blocks[-1][at] = vector

    def _blocks(self) -> Sequence[Tensor]:
        """Those filled, (≤ ROOM, N) each."""
        there = len(self.diagonal)
        return [block[: there - ROOM * n] for n, block in enumerate(self.blocks)]
