"""Munchausen DQN: its target by hand, with atoms by the law written out, and a learner of plain code."""

from math import log

import pytest
import torch

from plasticity_lab.agents.value.action_values import ActionValues
from plasticity_lab.agents.value.step import targets_of
from plasticity_lab.agents.value.targets.munchausen import Munchausen
from plasticity_lab.agents.value.targets.returns import mixed
from tests.agents.value.test_plain import Plain, learns_as

ALPHA, TAU, L0 = [0.9, 0.5], [0.5, 2.0], [-1.0, -3.0]
"""Of two runs."""
SETTINGS = {name: torch.tensor(value) for name, value in {"alpha": ALPHA, "tau": TAU, "l0": L0}.items()}


class TwoLayers:
    """A model without padding: two inputs, two rectified units, three actions."""

    def forward(self, parameters, shape, x, drawn, body, noise):
        return {"q": (x @ parameters["first"]).relu() @ parameters["second"]}, {}


def test_the_target_of_two_layers_and_three_actions_by_hand():
    """The first layer passes its inputs on. State (1, 0) has the values (0, τ ln 2, τ ln 5), so that the probabilities
    are 1/8, 2/8, 5/8 and the soft value is τ ln 8. State (0, 1) has (τ ln 3, 0, −40 τ), so 3/4, 1/4 and 4·10⁻¹⁸.
    """
    found = targets_of(TwoLayers(), "body", ActionValues(3), Munchausen())(
        {},
        {
            "first": torch.eye(2).expand(2, 2, 2),
            "second": torch.tensor(
                [[[0.0, tau * log(2), tau * log(5)], [tau * log(3), 0.0, -40 * tau]] for tau in TAU]
            ),
        },
        {"activation": {}, "agent": {}, "target": SETTINGS},
        {
            "x": torch.tensor([[[0.0, 1.0]] * 3 + [[1.0, 0.0]]] * 2),
            "following": torch.tensor([[[1.0, 0.0]] * 3 + [[0.0, 1.0]]] * 2),
            "action": torch.tensor([[0, 1, 2, 1]] * 2),
            "returns": torch.tensor([[0.0, 1.0, -1.0, 0.5]] * 2),
            "discount": torch.tensor([[0.9, 0.9, 0.0, 0.5]] * 2),
        },
        None,
    )
    for run, (alpha, tau, lowest) in enumerate(zip(ALPHA, TAU, L0, strict=True)):
        expected = [
            0.0 + alpha * tau * log(3 / 4) + 0.9 * tau * log(8),
            1.0 + alpha * tau * log(1 / 4) + 0.9 * tau * log(8),
            -1.0 + alpha * lowest,  # −40 τ is below both limits, and no state follows
            0.5 + alpha * tau * log(2 / 8) + 0.5 * tau * log(4),
        ]
        assert tau * log(1 / 4) > lowest
        assert found[run].tolist() == pytest.approx(expected, abs=1e-6)


class Numbers:
    """A model that shows for each state its own numbers."""

    def forward(self, parameters, shape, x, drawn, body, noise):
        return {"q": parameters["now"] if x[0, 0, 0] == 0 else parameters["next"]}, {}


def test_with_atoms_it_is_the_mixture_of_the_projected_distributions():
    """The law in float64, an atom at a time: 2 runs, 5 examples, 3 actions, 7 atoms."""
    draw = torch.Generator().manual_seed(0)
    target = {name: torch.randn(2, 5, 21, generator=draw) for name in ("now", "next")}
    returns, discount = torch.randn(2, 5, generator=draw), torch.tensor([[0.9, 0.9, 0.0, 0.5, 0.99]] * 2)
    agent = {"support_low": torch.tensor([-2.0, -1.0]), "support_high": torch.tensor([2.0, 3.0])}
    action = torch.tensor([[0, 1, 2, 1, 0], [2, 2, 1, 0, 1]])
    batch = {"x": torch.zeros(2, 5, 1), "following": torch.ones(2, 5, 1), "action": action}
    batch |= {"returns": returns, "discount": discount}
    settings = {"activation": {}, "agent": agent, "target": SETTINGS}
    find = targets_of(Numbers(), "body", ActionValues(3, atoms=7), Munchausen())
    found = find({}, target, settings, batch, None)
    for run in range(2):
        support = torch.linspace(*(agent[name][run] for name in ("support_low", "support_high")), 7).double()
        for example in range(5):
            p, p_now = (target[name][run, example].double().view(3, 7).softmax(1) for name in ("next", "now"))
            logs, logs_now = (((each @ support) / TAU[run]).log_softmax(0) for each in (p, p_now))
            bonus = ALPHA[run] * (TAU[run] * logs_now[action[run, example]]).clamp(L0[run], 0)
            expected, width = torch.zeros(7).double(), (support[-1] - support[0]) / 6
            for a in range(3):
                for z in range(7):
                    value = support[z] - TAU[run] * logs[a]
                    value = returns[run, example] + bonus + discount[run, example] * value
                    place = ((value.clamp(support[0], support[-1]) - support[0]) / width).item()
                    share = logs[a].exp() * p[a, z]
                    below = min(int(place), 5)
                    expected[below] += share * (below + 1 - place)
                    expected[below + 1] += share * (place - below)
            assert found[run, example].tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def test_the_mixture_is_the_same_inside_a_graph():
    """Up to the last digits: a graph for a CPU divides the atoms of all actions in one pass."""
    torch._dynamo.reset()
    draw = torch.Generator().manual_seed(1)
    weights, added = (torch.rand(2, 4, 3, generator=draw) for _ in range(2))
    probabilities = torch.rand(2, 4, 3, 11, generator=draw).softmax(-1)
    support = torch.linspace(-1, 1, 11).expand(2, 11)
    returns, discount = torch.randn(2, 4, generator=draw), torch.full((2, 4), 0.9)
    given = weights, probabilities, added, support, returns, discount
    compiled = torch.compile(mixed, fullgraph=True, backend="eager")(*given)
    torch.testing.assert_close(compiled, mixed(*given), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(compiled.sum(-1), weights.sum(-1), atol=1e-6, rtol=1e-6)


class PlainMunchausen(Plain):
    """The published defaults."""

    def logs(self, observation):
        return (self.q(self.target, observation) / 0.03).log_softmax(0)

    def following(self, observation):
        """Σ π(a') (q(a') − τ ln π(a'))."""
        logs = self.logs(observation)
        return (logs.exp() * (self.q(self.target, observation) - 0.03 * logs)).sum()

    def bonus(self, observation, action):
        """α · clip(τ ln π(a), −1, 0): of the first step alone, whatever the number of steps."""
        return 0.9 * (0.03 * self.logs(observation)[action]).clamp(-1, 0)


@pytest.mark.parametrize("n", [1, 3])
def test_it_learns_what_munchausen_dqn_written_plainly_learns(n):
    learns_as(PlainMunchausen, n, "target=munchausen")
