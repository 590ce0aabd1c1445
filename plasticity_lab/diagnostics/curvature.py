"""Curvature: the largest eigenvalue of the Hessian of the loss, by a block of the parameters or by all of them.

Legend: K runs, N numbers of a run's block.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.diagnostics.blocks import ALL, AUTO, auto_layer, check_named, layers_of
from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, interval
from plasticity_lab.diagnostics.lanczos import Product, largest_eigenvalues
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.measures import Column

PRODUCTS, PASSES_A_PRODUCT = 25, 5.0
"""How many are usual, and what one takes by all parameters, in forward passes; about, as measured."""
NAMES = ("lambda_max", "lambda_max_residual", "hessian_size", "lambda_max_iterations")


class Curvature(Diagnostic):
    """λ_max, the largest algebraic eigenvalue of the Hessian H of the mean loss on the probe, in evaluation mode, by
    Lanczos; beside it the residual ‖Hv − λv‖ (an eigenvalue lies at most so far from λ), the largest eigenvalue in size
    that was met, and the number of products H·v.

    block: auto (the weights of the second linear layer, fc1 → fc2), all, a layer (its weights), or a parameter by its
    name. It goes on until the residual is `tolerance` of λ (of 0.01 ‖H‖ where λ is smaller), or for `iterations`
    products. Its vectors take as much room as that many blocks.

    Source: Appendix B records λ_max of the block fc1 → fc2, B.7.1 defines it for all parameters; both by power
    iteration, which finds the largest in size. Of activations with kinks it is the Hessian where it exists.
    """

    def __init__(
        self, every: int | str = TASK, block: str = AUTO, tolerance: float = 0.001, iterations: int = 200
    ) -> None:
        self.every = interval(every)
        self.block = block
        self.tolerance = check("diagnostics.tolerance", tolerance, above=0, below=1)
        self.iterations = check("diagnostics.iterations", iterations, at_least=1)
        # By a block alone products go back through fewer layers.
        self.passes = PRODUCTS * (PASSES_A_PRODUCT if block == ALL else PASSES_A_PRODUCT / 2)

    def applies_to(self, model: Model) -> bool:
        """Raises ConfigError where the network has no such block."""
        if self.block not in model.start([0], torch.device("cpu")):
            check_named("diagnostics.block", self.block, [AUTO, ALL, *layers_of(model)])
        return True

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """Of the block."""
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
    """The products of each run's Hessian, by the parameters of a block laid side by side, with a vector of its own."""
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
    """Where each run's search begins, (K, N): normal numbers of its init_seed; 0 where a stored number is padding."""
    rows = []
    for seed in view.seeds:
        draw, parts = host_stream(seed, "largest eigenvalue"), []
        for name in block:
            shape = tuple(view.parameters[name].shape[1:])
            numbers = draw.standard_normal(shape)
            numbers[..., _there(view.model, name, shape[-1]) :] = 0.0
            parts.append(numbers.ravel())
        rows.append(np.concatenate(parts))
    like = view.parameters[block[0]]
    return torch.from_numpy(np.stack(rows)).to(like.device, like.dtype)


def _there(model: Model, parameter: str, stored: int) -> int:
    """How many of the last axis's numbers are parameters: the rest is padding (see `StackedLinear`)."""
    layer = next((each for each in model.design.layers if each.name == parameter.rpartition(".")[0]), None)
    padded = getattr(getattr(layer, "linear", layer), "padded", None)
    return stored if layer is None or stored != padded else layer.outputs
