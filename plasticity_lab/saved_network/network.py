"""One run's network as it was at the end of its training.

Legend: K runs (here one), B examples, D numbers of an example, * its shape, O numbers of an output.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.errors import InputError
from plasticity_lab.networks.model import Model
from plasticity_lab.run import Run
from plasticity_lab.stacking.run_axis import aligned, on_run_axis

Outputs = dict[str, Tensor]
TensorOrArray = Tensor | ArrayLike
"""A tensor, a NumPy array, or nested lists of numbers."""


@dataclass(frozen=True)
class SavedNetwork:
    """One run's network as it was at the end of its training.

    parameters: name → (1, ...), with a run axis of one. assumed: whether the record is older than the list of classes
    in records, so that the classes of today's conf/ were used. status: done, or diverged: then parameters may be NaN.

    Examples are tensors, NumPy arrays or lists, in a batch (B, ...) or a single one; results for a single example have
    no batch axis. Raises InputError for others.
    """

    run: Run
    model: Model
    parameters: dict[str, Tensor]
    assumed: bool
    status: str

    def __call__(self, x: TensorOrArray, body: str | None = None) -> Outputs:
        """The outputs in evaluation mode, name → (B, O).

        x: inputs of the network, as in training. body: the environment that selects inputs and outputs, if the network
        has several.
        """
        return self.units(x, body)[0]

    def units(self, x: TensorOrArray, body: str | None = None) -> tuple[Outputs, Outputs]:
        """The outputs, and the activations by unit name, (B, units) or (B, C, H, W)."""
        return self._forward(in_rows(x, self.model.inputs[self._body(body)]).to(torch.float32), self._body(body))

    def _forward(self, x: Tensor, body: str) -> tuple[Outputs, Outputs]:
        """x: (B, D) or (D,) float32, inputs of the network, as in training."""
        x_BD = x if x.dim() > 1 else x.unsqueeze(0)
        count = len(x_BD)
        padded = pad(x_BD, (0, 0, 0, aligned(count) - count))  # as in training: the bits of a product depend on it
        both = self.model.forward(self.parameters, on_run_axis(self.model.activations), padded.unsqueeze(0), None, body)
        examples = slice(count) if x.dim() > 1 else 0
        outputs, units = ({name: value[0, examples] for name, value in each.items()} for each in both)
        return outputs, units

    def _body(self, body: str | None) -> str:
        """The name of the body.  Raises InputError for an unknown name, or for no name if there are several bodies."""
        bodies = list(self.model.inputs)
        if body in bodies:
            return body
        if body is None and len(bodies) == 1:
            return bodies[0]
        fault = "No body is named" if body is None else f"There is no body {body!r}"
        raise InputError(f"{fault}; body must be one of {', '.join(bodies)}.")


def in_rows(examples: TensorOrArray, shape: tuple[int, ...]) -> Tensor:
    """Examples (B, D), or a single one (D,), on the CPU: uint8, int64, float32 or bool.

    examples: (B, D), (B, *), for images of one channel also (B, H, W); or one example without B. An input that fits
    both is a batch: (1, H, W) is a batch of one. shape: *. Raises InputError that names the possible shapes.
    """
    values = _tensor(examples)
    possible = [(prod(shape),), shape]
    if len(shape) == 3 and shape[0] == 1:
        possible.append(shape[1:])
    if values.shape[1:] in possible:
        return values.reshape(len(values), prod(shape))
    if values.shape in possible:
        return values.reshape(-1)
    batches = (f"({', '.join(['B', *map(str, each)])})" for each in dict.fromkeys(possible))
    raise InputError(
        f"The examples are of shape {tuple(values.shape)}; the network takes a batch of shape "
        f"{' or '.join(batches)}, or one example, the same without B."
    )


def _tensor(examples: TensorOrArray) -> Tensor:
    if not isinstance(examples, Tensor):
        try:
            array = np.asarray(examples)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"The examples are no array of numbers ({error}).") from error
        if array.dtype.kind not in "biuf":
            raise InputError(f"The examples are of dtype {array.dtype}; they must be real numbers.")
        kind = {"b": bool, "f": np.float32}.get(array.dtype.kind, np.uint8 if array.dtype == np.uint8 else np.int64)
        return torch.from_numpy(array.astype(kind))  # a copy: it may be read-only, or have negative strides
    if examples.is_complex():
        raise InputError(f"The examples are of dtype {examples.dtype}; they must be real numbers.")
    if examples.is_floating_point():
        return examples.cpu().to(torch.float32)
    return examples.cpu() if examples.dtype in (torch.bool, torch.uint8) else examples.cpu().to(torch.int64)
