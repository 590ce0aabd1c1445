"""What values and distributions are pulled towards, worked out by hand; who says which action is the best."""

import pytest
import torch

from plasticity_lab.agents.value.action_values import ActionValues
from plasticity_lab.agents.value.step import targets_of
from plasticity_lab.agents.value.targets.double import DoubleQLearning
from plasticity_lab.agents.value.targets.q import QLearning
from plasticity_lab.agents.value.targets.returns import projected

SUPPORT = torch.tensor([[0.0, 1.0, 2.0]])


def compiled(*tensors: torch.Tensor) -> torch.Tensor:
    """As a graph for a CPU has it; run without a compiler of C++."""
    torch._dynamo.reset()
    return torch.compile(projected, fullgraph=True, backend="eager")(*tensors)


FORMS = [projected, compiled]


class Outputs:
    """A model whose outputs are its parameters, whatever it is shown; it notes the noise that it is given."""

    def __init__(self):
        self.noise = []

    def forward(self, parameters, shape, x, drawn, body, noise):
        self.noise.append(noise)
        return parameters, {}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("returns", "discount", "expected"),
    [
        (0.5, 0.5, [0.25, 0.625, 0.125]),  # the atoms move to 0.5, 1 and 1.5: a half of the first and last goes on
        (0.0, 1.0, [0.5, 0.25, 0.25]),
        (1.25, 0.0, [0.0, 0.75, 0.25]),  # nothing follows: the return itself, between the second and the third
        (5.0, 1.0, [0.0, 0.0, 1.0]),  # beyond the support: its ends
        (-3.0, 1.0, [1.0, 0.0, 0.0]),
        (1.0, 1.0, [0.0, 0.5, 0.5]),  # 1, 2 and 3, which counts as 2
    ],
)
def test_a_distribution_is_shared_by_the_atoms_beside_it(returns, discount, expected, form):
    probabilities = torch.tensor([[[0.5, 0.25, 0.25]]])
    found = form(probabilities, SUPPORT, torch.tensor([[returns]]), torch.tensor([[discount]]))
    assert found[0, 0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("form", FORMS)
def test_returns_that_are_not_a_number_leave_none_that_is(form):
    probabilities, returns = torch.full((1, 2, 3), 1 / 3), torch.tensor([[torch.nan, 1.0]])
    found = form(probabilities, SUPPORT, returns, torch.zeros(1, 2))
    assert not found[0, 0].isfinite().all()
    assert found[0, 1].tolist() == pytest.approx([0, 1, 0])


@pytest.mark.parametrize("form", FORMS)
def test_within_the_support_the_mean_is_the_returns_and_the_discounted_mean(form):
    probabilities = torch.rand(2, 5, 51).softmax(-1)
    support = torch.stack([torch.linspace(-10, 10, 51), torch.linspace(-1, 3, 51)])
    returns, discount = torch.rand(2, 5) * 0.1, torch.full((2, 5), 0.9)
    found = form(probabilities, support, returns, discount)
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 5))
    mean = (probabilities * support[:, None]).sum(-1)
    torch.testing.assert_close((found * support[:, None]).sum(-1), returns + 0.9 * mean, atol=1e-4, rtol=1e-4)


AGENT = {"support_low": torch.tensor([0.0]), "support_high": torch.tensor([2.0])}
BATCH = {
    "x": torch.zeros(1, 1, 1),
    "following": torch.zeros(1, 1, 1),
    "action": torch.tensor([[0]]),
    "returns": torch.tensor([[1.0]]),
    "discount": torch.tensor([[0.5]]),
}


def targets(action_values: ActionValues, double: bool, own, target, model=None):
    find = targets_of(model or Outputs(), "body", action_values, DoubleQLearning() if double else QLearning())
    settings = {"activation": {}, "agent": AGENT, "target": {}}
    return find({"q": torch.tensor([[own]])}, {"q": torch.tensor([[target]])}, settings, BATCH, None)[0, 0].tolist()


def test_by_double_q_learning_the_network_says_which_action_and_its_target_how_good_it_is():
    own, target = [3.0, 9.0, 1.0], [8.0, 2.0, 4.0]
    assert targets(ActionValues(3), False, own, target) == 1 + 0.5 * 8
    assert targets(ActionValues(3), True, own, target) == 1 + 0.5 * 2


def test_distributions_are_those_of_the_best_action():
    """Two actions on three atoms: of the first nearly all stands on 2, of the second on 0."""
    large = 50.0
    first_is_best, second_is_best = [0.0, 0.0, large, large, 0.0, 0.0], [large, 0.0, 0.0, 0.0, 0.0, large]
    of_two, of_zero = [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]  # 1 + 0.5 · 2, and 1 + 0.5 · 0
    values = ActionValues(2, atoms=3)
    assert targets(values, False, second_is_best, first_is_best) == pytest.approx(of_two)
    assert targets(values, True, second_is_best, first_is_best) == pytest.approx(of_zero)


def test_both_networks_answer_with_the_same_noise():
    model, noise = Outputs(), torch.rand(1, 4)
    find = targets_of(model, "body", ActionValues(3), DoubleQLearning())
    own = {"q": torch.rand(1, 1, 3)}
    find(own, own, {"activation": {}, "agent": AGENT, "target": {}}, BATCH, noise)
    assert [each is noise for each in model.noise] == [True, True]


def test_dueling_adds_the_advantage_over_the_mean_of_all_actions():
    outputs = {"value": torch.tensor([[[10.0]]]), "advantage": torch.tensor([[[1.0, 5.0, 3.0]]])}
    values = ActionValues(3, dueling=True)
    assert values.of_all(outputs, {})[0, 0].tolist() == [8, 12, 10]
    assert values.of_actions(outputs, torch.tensor([[1]]))[0, 0] == 12
    assert values.shapes((2, 3, 4)).outputs == {"value": 1, "advantage": 3}


def test_dueling_adds_them_atom_by_atom():
    values = ActionValues(2, atoms=3, dueling=True)
    assert values.shapes((4,)).outputs == {"value": 3, "advantage": 6}
    outputs = {
        "value": torch.tensor([[[1.0, 2.0, 3.0]]]),
        "advantage": torch.tensor([[[0.0, 4.0, 0.0, 2.0, 0.0, 8.0]]]),
    }
    logits = [[1 - 1.0, 2 + 2.0, 3 - 4.0], [1 + 1.0, 2 - 2.0, 3 + 4.0]]
    for action, expected in enumerate(logits):
        found = values.of_actions(outputs, torch.tensor([[action]]))[0, 0]
        assert found.tolist() == expected
        mean = (torch.tensor(expected).softmax(0) * SUPPORT[0]).sum()
        torch.testing.assert_close(values.of_all(outputs, AGENT)[0, 0, action], mean)
