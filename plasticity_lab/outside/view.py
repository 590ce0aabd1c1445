"""A module as diagnostics see it: the view of a pack of one run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from plasticity_lab.diagnostics.view import Passed, View
from plasticity_lab.errors import InputError
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Unit
from plasticity_lab.outside.batches import first_tensor
from plasticity_lab.outside.gradients import grams
from plasticity_lab.outside.layout import arranged, has_examples
from plasticity_lab.outside.passes import Gradients, Passes, Tapped

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class ModuleView(View):
    """The view. Values that the laboratory takes from its own networks' forward passes come from `passes`."""

    passes: Passes | None = field(default=None, repr=False)

    @property
    def units(self) -> list[Unit]:
        """All places."""
        return list(self.model.units)

    def forward(self, x_KBD: Tensor | None = None) -> Passed:
        """The module's values on the probe."""
        return self._passed()[0]

    def _passed(self) -> tuple[Passed, Tapped]:
        own = self._own
        return self.once("pass", lambda: own.forward(self._every, own.inputs, own.examples))

    def once(self, key: Any, make: Callable[[], Kept]) -> Kept:
        """See `View.once`; the results of MADE are made from the module's passes."""
        own = MADE.get(key) if isinstance(key, str) else None
        return super().once(key, make if own is None else cast(Any, lambda: own(self)))

    @property
    def _own(self) -> Passes:
        assert self.passes is not None
        return self.passes

    @property
    def _every(self) -> dict[str, Tensor]:
        return {**self.frozen, **self.parameters}

    def of_layers(self) -> Gradients:
        """The gradients at layers and units."""
        return self.once("of layers", lambda: self._own.gradients(self._every))

    def grams(self) -> Any:
        """The inner products of single examples' gradients: by layer, and all together."""
        return self.once("both grams", lambda: grams(self._own, self.of_layers(), self._every, [*self.parameters]))

    def features(self) -> list[Tensor]:
        """The inputs of the last layers, (1, B, *); an input that several of them read counts once."""
        tapped: Tapped = self.once(
            "pass", lambda: self._own.forward(self._every, self._own.inputs, self._own.examples)
        )[1]
        found, seen = list[Tensor](), set[int]()
        for call in self._own.network.last:
            source = next(each for each in call.node.sources if each.data)
            value, examples = tapped.layers[call.name].given, self._own.examples
            if id(source) in seen:
                continue
            seen.add(id(source))
            known = has_examples(source.layout)
            if not value.is_floating_point() or not (known or len(value) == examples):
                raise InputError(f"The values that {call.name} reads are not known as numbers of each example.")
            own = arranged(value, source.layout or (), examples) if known else value
            found.append(own.flatten(1).unsqueeze(0))
        if not found:
            raise InputError("The module has no layer, and hence no features in front of its last one.")
        return found

    def mean_gradients(self) -> Mapping[str, Tensor]:
        """The gradient of the mean loss, by trained parameter."""
        own = {name: value.detach().requires_grad_() for name, value in self.parameters.items()}
        with torch.enable_grad():
            total = self.loss(own).sum()
        found = torch.autograd.grad(total, [*own.values()], allow_unused=True, materialize_grads=True)
        return dict(zip(own, found, strict=True))


MADE: Mapping[str, Callable[[ModuleView], Any]] = {
    "sensitivities": lambda view: view.of_layers().sensitivities(),
    "features": ModuleView.features,
    "grams": lambda view: view.grams()[0],
    "gram": lambda view: view.grams()[1],
    "gradients": ModuleView.mean_gradients,
}
"""The key of a result that diagnostics read → the function that makes it."""


def view_of(passes: Passes) -> ModuleView:
    """The view of a module. Its parameters are the trained ones, or all if none is trained."""
    network = passes.network
    every = network.start([0], torch.device("cpu"))
    trained = {name for name, value in network.parameters.items() if value.requires_grad} or {*every}
    parameters = {name: value for name, value in every.items() if name in trained}
    return ModuleView(
        cast(Model, network), parameters, {"activation": {}}, [0], passes.losses,
        {"x": first_tensor(passes.inputs).unsqueeze(0)},
        frozen={name: value for name, value in every.items() if name not in trained},
        activations={place.name: (place.activation, network.settings(place)) for place in network.places},
        passes=passes,
    )  # fmt: skip
