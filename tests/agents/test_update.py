"""The order of an update: loss and penalty, gradient, clipping, optimizer, intervention; by numbers."""

from typing import ClassVar

import pytest
import torch

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.agents.update import LossOutput, TrainState, UpdateInputs, fuses, update_of
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.stacking.run_axis import on_run_axis
from plasticity_lab.stacking.sgd import SGD
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU

NAME = "hidden1.weight"
ROWS = torch.tensor([0.5, 0.5, 0.0, 0.0])


class Looks(Intervention):
    """A penalty of `strength` · Σ w, and a state that holds copies of all it is shown after an update."""

    watches_units: ClassVar[bool] = True

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def penalty(self, now):
        return now.settings["strength"] * now.parameters[NAME].sum(dim=(1, 2))

    def after_step(self, now):
        seen = {"parameter": now.parameters[NAME], "gradient": now.gradients[NAME], "hidden": now.hidden["hidden1"]}
        seen |= {"velocity": now.moments["velocity"][NAME], "count": now.count, "weights": now.weights}
        return {name: value.detach().clone() for name, value in seen.items()}


def test_an_intervention_sees_what_the_optimizer_has_made_of_the_clipped_gradient_of_loss_and_penalty():
    """A loss of 2 Σ w and penalties of 3 Σ w and 5 Σ w: gradients 5 and 7, clipped to halves, 2.5 and 3.5. Steps of SGD
    with a rate of 0.1 take 0.25 and 0.35 off. The activations are those of the forward pass, before that.
    """
    model = classifier(MLP(width=4), [ReLU()] * 2, (1, 2, 2), 4)
    pack, optimizers = [Looks(3.0), Looks(5.0)], [SGD(lr=0.1, momentum=0.5)] * 2
    parameters = model.start([0, 1], CPU)
    before = parameters[NAME].clone()

    def loss(own, settings, batch):
        total = 2 * own[NAME].sum(dim=(1, 2)) * batch["one"]
        return LossOutput(total, {"loss": total}, {"hidden1": own[NAME] * 1}, ROWS)

    def clip(gradients, settings):
        return {name: gradient * settings["share"].view(-1, 1, 1) for name, gradient in gradients.items()}

    settings = {
        "activation": {},
        "optimizer": on_run_axis(optimizers, dtype=torch.float64),
        "intervention": on_run_axis(pack),
        "agent": {"share": torch.tensor([0.5, 0.5])},
    }
    moments = optimizers[0].start(parameters)
    update = update_of(model, loss, optimizers[0], pack[0], clip)
    inputs = UpdateInputs(settings, torch.zeros(2, 2), torch.tensor(7), {})
    seen, measured = update(TrainState(parameters, moments, {}), inputs, {"one": torch.ones(2)})
    gradient = torch.tensor([2.5, 3.5]).view(2, 1, 1).expand(2, 4, 4)
    torch.testing.assert_close(seen["gradient"], gradient)
    torch.testing.assert_close(seen["velocity"], gradient)
    torch.testing.assert_close(seen["parameter"], before - 0.1 * gradient)
    torch.testing.assert_close(parameters[NAME], before - 0.1 * gradient)
    assert torch.equal(seen["hidden"], before)
    assert int(seen["count"]) == 7
    assert torch.equal(seen["weights"], ROWS)
    torch.testing.assert_close(measured["loss"], 2 * before.sum(dim=(1, 2)))  # without the penalty


class Steps(Intervention):
    """It keeps the optimizer's settings and the step that it is shown."""

    needs_gradients = False
    needs_step = True

    def after_step(self, now):
        return {"rate": now.optimizer["lr"].clone(), "step": now.step[NAME].clone()}


@pytest.mark.parametrize("own", [{"needs_step": True}, {"needs_step": False}], ids=["declared", "not declared"])
def test_an_intervention_sees_the_step_just_taken_if_it_declares_that(own, monkeypatch):
    """A step of SGD by a gradient of 1, and the rates of both runs; the kernels' step would stay."""
    monkeypatch.setattr(Steps, "needs_step", own["needs_step"])
    model = classifier(MLP(width=4), [ReLU()] * 2, (1, 2, 2), 4)
    optimizers, intervention = [SGD(lr=0.1), SGD(lr=0.5)], Steps()
    parameters = model.start([0, 1], CPU)
    before = parameters[NAME].clone()

    def loss(own, settings, batch):
        total = own[NAME].sum(dim=(1, 2))
        return LossOutput(total, {}, {})

    settings = {"activation": {}, "optimizer": on_run_axis(optimizers, dtype=torch.float64), "intervention": {}}
    update = update_of(model, loss, optimizers[0], intervention)
    inputs = UpdateInputs(settings, torch.zeros(2, 2), torch.tensor(7), {})
    train = TrainState(parameters, optimizers[0].start(parameters), {})
    if not own["needs_step"]:
        with pytest.raises(KeyError):
            update(train, inputs, {})
        return
    seen, _ = update(train, inputs, {})
    assert seen["rate"].tolist() == [0.1, 0.5]
    assert torch.equal(seen["step"], parameters[NAME] - before)
    torch.testing.assert_close(seen["step"][1], torch.full((4, 4), -0.5))
    assert fuses(optimizers[0], intervention, clipped=False)
