"""Views of networks whose pre-activations are chosen by hand."""

from collections.abc import Sequence

import torch
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import load
from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.model import Model
from tests.helpers.networks import classifier
from tests.helpers.packs import choice


def built(name: str, **settings) -> Activation:
    """An activation as conf/ has it, with these settings."""
    target, usual = choice("activation", name)
    return load(target)(**usual | settings)


def view_of(model: Model, parameters: dict[str, Tensor], x: Tensor, activations: Sequence[Activation]) -> View:
    """A view whose probe has inputs alone."""
    shape = {
        name: torch.tensor([each.on_run_axis()[name] for each in activations]) for name in activations[0].on_run_axis()
    }
    return View(model, parameters, {"activation": shape}, [0] * len(activations), lambda *_: None, {"x": x})


def view_given(before: list[list[float]], name: str, **settings) -> View:
    """One run whose hidden1 is given these numbers, (B, 4), and hidden2 what hidden1 passes on."""
    activations = [built(name, **settings)]
    model = classifier(MLP(depth=2, width=4), activations, (1, 1, 4), 2)
    parameters = {key: torch.zeros_like(value) for key, value in model.start([0], torch.device("cpu")).items()}
    parameters |= {key: value for key, value in model.start([0], torch.device("cpu")).items() if "activation" in key}
    for layer in ("hidden1", "hidden2"):
        parameters[f"{layer}.weight"][0] = torch.eye(*parameters[f"{layer}.weight"].shape[1:])
    return view_of(model, parameters, torch.tensor([before]), activations)


def seen(diagnostic: Diagnostic, view: View) -> dict[str, float]:
    """What it finds in a view of one run, with a state of its own."""
    shown = View(**{**vars(view), "state": diagnostic.start(view)})
    return {key: value.item() for key, value in diagnostic.look(shown).items()}
