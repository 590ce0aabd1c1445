import torch

from plasticity_lab.interventions.selective_reinit import SelectiveReinit
from plasticity_lab.networks.mlp import MLP
from tests.helpers.situations import after, begun, copied


def with_gradients(now, size: float = 1.0):
    return now._replace(gradients={name: torch.full_like(value, size) for name, value in now.parameters.items()})


def test_weights_with_at_most_a_share_of_the_mean_utility_are_drawn_anew():
    """|w g|: weights 8, 4, 2, 2 with gradients 1, 1, 1, ¼ have utilities 8, 4, 2, ½ in each row: a mean of 3.625."""
    pack = [SelectiveReinit(strength, every=1) for strength in (0.1, 0.2, 0.6)]
    now = with_gradients(begun(pack))
    now.parameters["hidden1.weight"].copy_(torch.tensor([8.0, -4.0, 2.0, -2.0]))
    now.gradients["hidden1.weight"].copy_(torch.tensor([-1.0, 1.0, 1.0, 0.25]))
    before = copied(now)
    now = after(pack, now, {})
    own = copied(now)
    for run, columns in enumerate(([], [3], [2, 3])):
        changed = before["hidden1.weight"][run] != own["hidden1.weight"][run]
        assert changed.all(dim=0).nonzero().flatten().tolist() == columns
        assert changed.any(dim=0).nonzero().flatten().tolist() == columns
        assert own["hidden1.weight"][run][:, columns].abs().le(0.5).all()  # 1/√4: as the layer starts
        for kind in ("m ", "v "):
            assert torch.equal(own[f"{kind}hidden1.weight"][run] == 0, changed)
    counted = sum((before[name] != own[name]).flatten(1).sum(dim=1) for name in now.parameters)
    assert now.state["resets"].tolist() == counted.tolist()


def test_a_share_of_the_weights_with_the_least_utility_is_drawn_anew():
    """Of the 16 weights 4, of 4 biases 1; of 15 % of the latter, 0.6, one in three of five times, by chance."""
    pack = [SelectiveReinit(0.25, every=1, utility="magnitude", pruning="proportional")]
    now = begun(pack)
    sizes = torch.arange(16.0).view(1, 4, 4) + 1
    now.parameters["hidden1.weight"].copy_(sizes)
    before = copied(now)
    assert now.state.keys() == {"resets"}
    now = after(pack, now, {})
    changed = before["hidden1.weight"][0] != now.parameters["hidden1.weight"][0]
    assert torch.equal(changed, sizes[0] <= 4)
    assert (before["hidden1.bias"] != now.parameters["hidden1.bias"]).sum() == 1
    few = [SelectiveReinit(0.15, every=1, utility="magnitude", pruning="proportional")]
    now, counts = begun(few), []
    for _ in range(200):
        before = now.parameters["hidden1.bias"].clone()
        now = after(few, now, {})
        counts.append(int((before != now.parameters["hidden1.bias"]).sum()))
    assert set(counts) == {0, 1}
    assert 0.5 < sum(counts) / 200 < 0.7


def test_by_magnitude_the_size_of_a_weight_is_its_utility():
    """Weights of 1, −1, 1 and −0.4 in each row have a mean size of 0.85, and half of it is 0.425."""
    pack = [SelectiveReinit(0.5, every=1, utility="magnitude")] * 4
    now = begun(pack)
    now.parameters["hidden1.weight"].copy_(torch.tensor([1.0, -1.0, 1.0, -0.4]))
    before = copied(now)
    now = after(pack, now, {})
    changed = before["hidden1.weight"] != now.parameters["hidden1.weight"]
    assert changed.tolist() == [[[False, False, False, True]] * 4] * 4


def test_each_time_numbers_of_their_own_are_drawn():
    """For another run, update or layer of the same shape."""
    pack = [SelectiveReinit(1.0, every=1, utility="magnitude", pruning="proportional")] * 2
    now, seen = begun(pack), []
    for _ in range(2):
        now = after(pack, now, {})
        seen += [now.parameters[f"hidden{layer}.weight"][run].clone() for layer in (1, 2) for run in range(2)]
    assert len({float(value) for weights in seen for value in weights.flatten()}) == 8 * 16


def test_padding_is_neither_drawn_nor_counted():
    """A layer of 7 × 7 weights is stored with eight columns."""
    pack = [SelectiveReinit(1.0, every=1, utility="magnitude", pruning="proportional")]
    now = begun(pack, MLP(width=7))
    assert now.parameters["hidden2.weight"].shape[2] == 8
    now = after(pack, now, {})
    assert not now.parameters["hidden2.weight"][..., 7:].any()
    assert int(now.state["resets"]) == 7 * (4 + 1) + 7 * (7 + 1) + 4 * (7 + 1)


def test_what_an_activation_learns_and_a_gradient_of_zero():
    """Dead units have gradients of zero, so their weights have no utility and are all drawn again."""
    pack = [SelectiveReinit(0.0, every=2)]
    now = with_gradients(begun(pack), size=0.5)
    now.gradients["hidden1.weight"][0, :, 1] = 0.0  # the last gradient counts, and no earlier one
    before = copied(now)
    now = after(pack, now, {})
    now.gradients["hidden1.weight"].fill_(0.5)[0, :, 2] = 0.0
    assert all(torch.equal(before[name], value) for name, value in now.parameters.items())
    now = after(pack, now, {})
    changed = before["hidden1.weight"][0] != now.parameters["hidden1.weight"][0]
    assert changed.all(dim=0).tolist() == [False, False, True, False]
    assert int(now.state["resets"]) == 4
