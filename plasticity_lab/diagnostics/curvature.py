"""Curvature: the largest eigenvalue of the Hessian of the loss, by a block of the parameters or by all of them.

Legend: K runs or maps, N numbers of a run's block or of a vector, M vectors so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, interval
from plasticity_lab.diagnostics.places import ALL, AUTO, auto_layer, check_named, layers_of
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.measures import Column

PRODUCTS, PASSES_A_PRODUCT = 25, 5.0
"""The usual number of products, and the cost of one by all parameters in forward passes; about, as measured."""
NAMES = ("lambda_max", "lambda_max_residual", "hessian_size", "lambda_max_iterations")
Product = Callable[[Tensor], Tensor]
"""(K, N) → (K, N): each map applied to its own vector."""
SMALL = 0.01
"""If |λ| is less than this share of ‖H‖, errors are compared with ‖H‖: near 0 no λ has a small relative error."""
FEWEST = 4
"""Number of vectors before the estimate of a residual is trusted."""
ROOM = 16
"""Number of vectors that one block of memory holds."""


class Curvature(Diagnostic):
    """λ_max, the largest algebraic eigenvalue of the Hessian H of the mean loss on the probe, in evaluation mode.

    Lanczos' method computes it. Further columns: the residual ‖Hv − λv‖ (an eigenvalue is at most this far from λ); the
    largest eigenvalue in size that was met; and the number of products H·v.

    block: auto (the weights of the second linear layer, fc1 → fc2), all, a layer (its weights), or a parameter by its
    name. It stops when the residual is `tolerance` of λ (of 0.01 ‖H‖ if λ is smaller), or after `iterations` products.
    Its vectors take as much memory as that many blocks.

    Source: Appendix B records λ_max of the block fc1 → fc2, B.7.1 defines it for all parameters. Both use power
    iteration, which finds the eigenvalue that is largest in size. For activations with kinks, H is the Hessian at the
    points with a second derivative.
    """

    def __init__(
        self, every: int | str = TASK, block: str = AUTO, tolerance: float = 0.001, iterations: int = 200
    ) -> None:
        self.every = interval(every)
        self.block = block
        self.tolerance = check("diagnostics.tolerance", tolerance, above=0, below=1)
        self.iterations = check("diagnostics.iterations", iterations, at_least=1)
        # Products by a single block go back through fewer layers.
        self.passes = PRODUCTS * (PASSES_A_PRODUCT if block == ALL else PASSES_A_PRODUCT / 2)

    def applies_to(self, model: Model) -> bool:
        """Raises ConfigError if the network has no such block."""
        if self.block not in model.start([0], torch.device("cpu")):
            check_named("diagnostics.block", self.block, [AUTO, ALL, *layers_of(model)])
        return True

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """The columns of the block."""
        titles = ("Largest eigenvalue of the Hessian", "Residual of the largest eigenvalue",
                  "Largest eigenvalue in size", "Products for the largest eigenvalue")  # fmt: skip
        shown = ("λ", "λ, residual", "λ, in size", "products")
        return [self.column(name, title, unit) for name, title, unit in zip(NAMES, titles, shown, strict=True)]

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,) each."""
        block = self._block(view)
        found = largest_eigenvalues(
            products_with_hessian(view, block), starts(view, block), self.iterations, self.tolerance
        )
        values = [[own.value, own.residual, own.size, own.iterations] for own in found]
        return dict(zip(NAMES, torch.tensor(values, dtype=torch.float64).unbind(dim=1), strict=True))

    def _block(self, view: View) -> list[str]:
        if self.block == ALL:
            return list(view.parameters)
        if self.block in view.parameters:
            return [self.block]
        return [f"{auto_layer(view.model) if self.block == AUTO else self.block}.weight"]


def products_with_hessian(view: View, block: Sequence[str]) -> Product:
    """The product of each run's Hessian, by the parameters of a block in one vector, with a vector of the run."""
    with torch.enable_grad():
        own = {name: view.parameters[name].detach().requires_grad_() for name in block}
        total = view.loss({**view.parameters, **own}).sum()
        gradients = torch.autograd.grad(
            total, list(own.values()), create_graph=True, allow_unused=True, materialize_grads=True
        )
    sizes = [prod(value.shape[1:]) for value in own.values()]

    def product(vector_KN: Tensor) -> Tensor:
        parts = [part.reshape(value.shape) for part, value in zip(vector_KN.split(sizes, 1), own.values(), strict=True)]
        moving = [(g, v) for g, v in zip(gradients, parts, strict=True) if g.requires_grad]
        if not moving:
            return torch.zeros_like(vector_KN)
        along, vectors = zip(*moving, strict=True)
        found = torch.autograd.grad(
            along, list(own.values()), vectors, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        return torch.cat([each.flatten(1) for each in found], dim=1)

    return product


def starts(view: View, block: Sequence[str]) -> Tensor:
    """The first vector of each run's search, (K, N): normal numbers of its init_seed; 0 for padding."""
    rows = []
    for seed in view.seeds:
        draw, parts = host_stream(seed, "largest eigenvalue"), []
        for name in block:
            shape = tuple(view.parameters[name].shape[1:])
            numbers = draw.standard_normal(shape)
            numbers[..., _unpadded(view.model, name, shape[-1]) :] = 0.0
            parts.append(numbers.ravel())
        rows.append(np.concatenate(parts))
    like = view.parameters[block[0]]
    return torch.from_numpy(np.stack(rows)).to(like.device, like.dtype)


def _unpadded(model: Model, parameter: str, stored: int) -> int:
    """The number of entries of the last axis that are parameters; the others are padding (see `StackedLinear`)."""
    layer = next((each for each in model.design.layers if each.name == parameter.rpartition(".")[0]), None)
    padded = getattr(getattr(layer, "linear", layer), "padded", None)
    return stored if layer is None or stored != padded else layer.outputs


class Largest(NamedTuple):
    """An estimate of the largest eigenvalue.

    value: vᵀHv of the unit vector v found. residual: ‖Hv − value·v‖: an eigenvalue of H is at most this far away. size:
    the largest eigenvalue in size that was met, an estimate of ‖H‖. iterations: number of products taken.
    """

    value: float
    residual: float
    size: float
    iterations: int


def largest_eigenvalues(product: Product, start_KN: Tensor, most: int, tolerance: float) -> list[Largest]:
    """The largest algebraic eigenvalue of each symmetric map, by Lanczos' method.

    Stops when the residual is at most `tolerance` · max(|λ|, SMALL ‖H‖), or after `most` products.
    product: (K, N) → (K, N), each map applied to its own vector. start: random vectors; entries that are no parameters
    are 0 in them, so they remain 0. Every vector is orthogonalised against all earlier ones, twice, so that no
    eigenvalue is found again. The maps do not depend on each other. If a map's products are not finite, its results are
    NaN.
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
    return [
        search.estimate(v, own) for search, v, own in zip(searches, vectors.unbind(), products.unbind(), strict=True)
    ]


@dataclass
class _Search:
    """The tridiagonal matrix of one map (its diagonal and its off-diagonal), and the vectors of that basis."""

    last: Tensor
    blocks: list[Tensor] = field(default_factory=list)
    diagonal: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    ended: bool = False

    def take(self, product: Tensor, tolerance: float) -> None:
        """Takes H · last; nothing once the search has ended."""
        if self.ended:
            return
        at = len(self.diagonal) % ROOM
        if at == 0:
            self.blocks.append(self.last.new_zeros(ROOM, len(self.last)))
        self.blocks[-1][at] = self.last
        self.diagonal.append(float(self.last @ product))
        rest = product
        for _ in range(2):
            for block in self._blocks():
                rest = rest - (block @ rest) @ block
        length = float(rest.norm())
        values, vectors = self._spectrum()
        size = float(values.abs().max()) if values.isfinite().all() else float("nan")
        bound = length * abs(float(vectors[-1, -1]))
        wanted = tolerance * max(abs(float(values[-1])), SMALL * size)
        converged = len(self.diagonal) >= FEWEST and bound <= wanted
        # Without a remainder the vectors span the invariant subspace of the start; a remainder that is not finite is
        # useless.
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

    def estimate(self, vector: Tensor, product: Tensor) -> Largest:
        """The estimate."""
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

    def _blocks(self) -> Sequence[Tensor]:
        """The filled part of each block of vectors, (up to `ROOM`, N)."""
        filled = len(self.diagonal)
        return [block[: filled - ROOM * n] for n, block in enumerate(self.blocks)]
