"""One run's network as it was at the end of its training, whatever it has learned.

Legend: K runs (here one), B examples, D numbers of an example, O numbers of an output.
"""

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import pad

from plasticity_lab.errors import InputError
from plasticity_lab.networks.model import Model
from plasticity_lab.run import Run
from plasticity_lab.saved_network.examples import TensorOrArray, floats_of, in_rows
from plasticity_lab.stacking.run_axis import aligned, on_run_axis

Outputs = dict[str, Tensor]


@dataclass(frozen=True)
class SavedNetwork:
    """One run's network as it was at the end of its training.

    parameters: name → (1, ...), with a run axis of one. assumed: whether the record is older than the classes it should
    name, so that those of today's conf/ were taken. status: done, or diverged: then parameters may be no numbers.

    Examples are tensors, NumPy arrays or lists, in a batch (B, ...) or one alone: what is answered has no batch axis
    then. Raises InputError for others.
    """

    run: Run
    model: Model
    parameters: dict[str, Tensor]
    assumed: bool
    status: str

    def __call__(self, x: TensorOrArray, body: str | None = None) -> Outputs:
        """The outputs in evaluation mode, name → (B, O).

        x: what the network was given in training. body: whose inputs and outputs, where it has some for several.
        """
        return self.units(x, body)[0]

    def units(self, x: TensorOrArray, body: str | None = None) -> tuple[Outputs, Outputs]:
        """The outputs, and what the activations give by unit name, (B, units) or (B, C, H, W)."""
        return self._forward(floats_of(in_rows(x, self.model.inputs[self._body(body)])), self._body(body))

    def _forward(self, x: Tensor, body: str) -> tuple[Outputs, Outputs]:
        """x: (B, D) or (D,) float32, as the network was given it in training."""
        x_BD = x if x.dim() > 1 else x.unsqueeze(0)
        there = len(x_BD)
        padded = pad(x_BD, (0, 0, 0, aligned(there) - there))  # as in training, to whose bits a padded product belongs
        both = self.model.forward(self.parameters, on_run_axis(self.model.activations), padded.unsqueeze(0), None, body)
        outputs, units = ({name: value[0, :there] for name, value in each.items()} for each in both)
        if x.dim() == 1:
            outputs, units = ({name: value[0] for name, value in each.items()} for each in (outputs, units))
        return outputs, units

    def _body(self, body: str | None) -> str:
        """The body that is meant.  Raises InputError where there is none of that name, or several and no name."""
        there = list(self.model.inputs)
        if body in there:
            return body
        if body is None and len(there) == 1:
            return there[0]
        asked = "no body is named" if body is None else f"there is no body {body!r}"
        raise InputError(f"{asked[0].upper()}{asked[1:]}; body must be one of {', '.join(there)}.")
