"""The loss of DQN, and what it pulls values towards."""

import numpy as np
import pytest
import torch

from plasticity_lab.agents.value.action_values import ActionValues
from plasticity_lab.agents.value.step import loss_of
from plasticity_lab.agents.value.targets.returns import values
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
    assert values(q.amax(-1), returns, discount)[0].tolist() == pytest.approx([0.5 + 0.9 * 3, 1.0 - 0.81, -1.0])


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
    loss = loss_of(model, "body", ActionValues(3))
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


class Outputs:
    """A model whose output is its parameter."""

    def forward(self, parameters, shape, x, drawn, body, noise):
        return parameters, {}


def test_the_loss_of_distributions_is_the_cross_entropy_and_pulls_by_their_difference():
    """Two actions on three atoms, of which only those of the action taken move: by p − m, times what each counts."""
    agent = {"support_low": torch.tensor([-1.0, 0.0]), "support_high": torch.tensor([1.0, 4.0])}
    settings = {"activation": {}, "agent": agent}
    logits = {"q": torch.randn(2, 1, 6)}
    batch = {
        "x": torch.zeros(2, 1, 1),
        "action": torch.tensor([[0], [1]]),
        "target": torch.tensor([[[0.2, 0.5, 0.3]], [[0.0, 0.0, 1.0]]]),
        "weight": torch.tensor([1.0]),
        "importance": torch.tensor([[0.5], [1.0]]),
    }
    loss = loss_of(Outputs(), "body", ActionValues(2, atoms=3))
    lost = loss(logits, settings, batch)
    own = torch.stack([logits["q"][0, 0, :3], logits["q"][1, 0, 3:]])
    p, m = own.softmax(-1), batch["target"][:, 0]
    torch.testing.assert_close(lost.measured["loss"][:, 0], -(m * p.log()).sum(-1))
    torch.testing.assert_close(lost.total[:, 0], -(m * p.log()).sum(-1) * batch["importance"][:, 0])
    support = torch.tensor([[-1.0, 0.0, 1.0], [0.0, 2.0, 4.0]])
    torch.testing.assert_close(lost.measured["q"][:, 0], (p * support).sum(-1))
    gradient = torch.func.grad(lambda own: loss(own, settings, batch).total.sum())(logits)["q"][:, 0]
    expected = (p - m) * batch["importance"]
    torch.testing.assert_close(
        gradient, torch.stack([torch.cat([expected[0], 0 * m[0]]), torch.cat([0 * m[1], expected[1]])])
    )
