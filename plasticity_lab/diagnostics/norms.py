"""How large a run's weights, its gradient and its latest updates are."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, interval
from plasticity_lab.diagnostics.places import added_up
from plasticity_lab.diagnostics.sensitivities import mean_gradients
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


class Norms(Diagnostic):
    """Euclidean norms of all active parameters, and of the gradient of the mean loss on the probe; and `update_norm`.

    `update_norm` is the distance that the parameters shared by all environments have moved since the last measurement
    (first: since the start of the run).
    Source: Appendix C.1 has gradient norms, which it says are scaled; these are not. State: a copy of the parameters,
    which is in every checkpoint.
    """

    passes = 2.0

    def __init__(self, every: int | str = TASK) -> None:
        self.every = interval(every)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """The columns of the network."""
        titles = {"weight": "Norm of the weights", "gradient": "Norm of the gradient", "update": "Norm of the updates"}
        return [self.column(f"{name}_norm", title, title[8:]) for name, title in titles.items()]

    def start(self, view: View) -> dict[str, Tensor]:
        """The parameters that all environments share."""
        return shared_parameters(view)

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,) each."""
        moved = {name: view.parameters[name] - before for name, before in view.state.items()}
        found = {"weight": view.parameters, "gradient": mean_gradients(view), "update": moved}
        for name, before in view.state.items():
            before.copy_(view.parameters[name])
        return {f"{name}_norm": norm_of(values) for name, values in found.items()}


def norm_of(values: Mapping[str, Tensor]) -> Tensor:
    """The Euclidean norm over all entries of each run, (K,) float64."""
    squares = [
        torch.stack([own.reshape(-1).double().square().sum() for own in value.unbind()]) for value in values.values()
    ]
    return added_up(squares).sqrt()


def shared_parameters(view: View) -> dict[str, Tensor]:
    """A copy of all parameters, except the ones that belong to one of several environments."""
    return {name: value.detach().clone() for name, value in view.parameters.items() if view.model.owner(name) is None}
