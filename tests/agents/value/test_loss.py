"""The loss of DQN, and what it pulls values towards."""

import numpy as np
import pytest
import torch

from plasticity_lab.agents.value.loss import loss_of, targets
from plasticity_lab.stacking.linear import StackedLinear


class Linear:
    """The part of a model that a loss uses: two numbers → the value of three actions."""

    def __init__(self):
        self.layer = StackedLinear("q", 2, 3)

    def forward(self, parameters, shape, x, drawn, body, noise):
        return {"q": self.layer(parameters, x)}, {}


def test_the_target_is_the_return_and_the_best_value_that_follows():
    q = torch.tensor([[[1.0, 3.0, 2.0], [-1.0, -5.0, -2.0], [7.0, 9.0, 8.0]]])
    returns, discount = torch.tensor([[0.5, 1.0, -1.0]]), torch.tensor([[0.9, 0.81, 0.0]])
    assert targets(q, returns, discount)[0].tolist() == pytest.approx([0.5 + 0.9 * 3, 1.0 - 0.81, -1.0])


def test_the_loss_is_the_squared_error_of_the_action_taken_without_a_half():
    model = Linear()
    parameters = {
        name: torch.tensor(value).unsqueeze(0).expand(2, *value.shape).clone()
        for name, value in model.layer.start(np.random.default_rng(0), "default", 1.0).items()
    }
    batch = {
        "x": torch.randn(2, 4, 2),
        "action": torch.tensor([[0, 2, 1, 0], [1, 1, 0, 0]]),
        "target": torch.randn(2, 4),
        "weight": torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0]),
    }
    settings = {"activation": {}}
    loss = loss_of(model, "body")
    lost = loss(parameters, settings, batch)
    q = model.layer(parameters, batch["x"])
    chosen = torch.stack([torch.stack([q[k, b, batch["action"][k, b]] for b in range(4)]) for k in range(2)])
    torch.testing.assert_close(lost.measured["q"], chosen)
    torch.testing.assert_close(lost.measured["loss"], (chosen - batch["target"]) ** 2)
    torch.testing.assert_close(lost.total.sum(1), ((chosen - batch["target"]) ** 2)[:, :3].mean(1))
    # Nothing flows into the values of actions that were not taken.
    gradient = torch.func.grad(lambda own: loss(own, settings, batch).total.sum())(parameters)
    assert not gradient["q.bias"][1, ..., 2].any()
    assert gradient["q.bias"][0, ..., :3].all()
