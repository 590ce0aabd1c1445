import pytest
import torch

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.interventions.redo import ReDo
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from tests.helpers.situations import after, begun, changed_columns, copied, silent


def active(now, **sizes: list[float]):
    """Activations in which the units of a place have these mean |h| over a batch of four, with both signs."""
    hidden = silent(now)
    for name, value in hidden.items():
        own = torch.tensor(sizes.get(name, [1.0] * value.shape[2]))
        value[:, 0], value[:, 1] = (sign * 2 * own.view(1, -1, *([1] * (value.dim() - 3))) for sign in (1, -1))
    return hidden


def test_a_unit_is_dormant_with_at_most_tau_of_its_layers_mean():
    """|h| of 2, 1, 0.8 and 0.2 have scores 2, 1, 0.8 and 0.2; τ per run."""
    pack = [ReDo(strength, every=1, average=1) for strength in (0.0, 0.19, 0.2, 0.9)]
    now = begun(pack)
    before = copied(now)
    now = after(pack, now, active(now, hidden1=[2.0, 1.0, 0.8, 0.2]))
    found = [changed_columns(before["hidden1.weight"][k], now.parameters["hidden1.weight"][k]) for k in range(4)]
    assert found == [[], [], [3], [2, 3]]
    assert now.state["resets"].tolist() == [0, 0, 1, 2]


def test_with_tau_zero_units_that_gave_nothing_are_reset_whatever_their_mates_did():
    pack = [ReDo(0.0, every=2, average=1)] * 2
    now = begun(pack)
    hidden = active(now, hidden1=[1.0, 0.0, 1.0, 0.0])
    hidden["hidden2"][1] = 0.0
    now = after(pack, after(pack, now, hidden), hidden)
    assert now.state["resets"].tolist() == [2, 6]
    now = after(pack, after(pack, now, hidden), hidden)
    assert now.state["resets"].tolist() == [4, 12], "so far"


def test_what_is_reset_of_a_unit():
    """Weights in as its layer starts, its bias 0; weights out 0; no moments of either."""
    pack = [ReDo(0.1, every=1, average=1)]
    now = begun(pack)
    before = copied(now)
    now = after(pack, now, active(now, hidden1=[1.0, 0.0, 1.0, 1.0]))
    own = {name: value[0] for name, value in copied(now).items()}
    assert changed_columns(before["hidden1.weight"][0], own["hidden1.weight"]) == [1]
    assert 0 < own["hidden1.weight"][:, 1].abs().max() <= 0.5  # 1/√4
    assert own["hidden1.bias"][0, 1] == 0
    assert changed_columns(before["hidden2.weight"][0].T, own["hidden2.weight"].T) == [1]
    assert not own["hidden2.weight"][1].any()
    assert torch.equal(before["hidden2.bias"][0], own["hidden2.bias"])
    for kind in ("m ", "v "):
        expected = torch.ones(4, 4)
        expected[:, 1] = 0
        assert torch.equal(own[f"{kind}hidden1.weight"], expected)
        assert torch.equal(own[f"{kind}hidden2.weight"], expected.T)
        assert own[f"{kind}hidden1.bias"].tolist() == [[1, 0, 1, 1]]
        assert own[f"{kind}hidden2.bias"].all()


def test_what_lies_between_two_units_that_are_reset_together_is_a_weight_out():
    """It is zero, not fresh: of the second unit all other weights in are fresh."""
    pack = [ReDo(0.1, every=1, average=1)]
    now = begun(pack)
    before = copied(now)
    now = after(pack, now, active(now, hidden1=[1.0, 0.0, 1.0, 1.0], hidden2=[1.0, 1.0, 0.0, 1.0]))
    weight = now.parameters["hidden2.weight"][0]
    assert weight[1].tolist() == [0, 0, 0, 0]
    assert (weight[[0, 2, 3], 2] != 0).all()
    assert (weight[[0, 2, 3], 2] != before["hidden2.weight"][0][[0, 2, 3], 2]).all()
    assert not now.parameters["output.weight"][0][2].any()


def test_each_reset_draws_numbers_of_its_own():
    """Another run, update or place, and the same unit of a layer of the same shape begins with other weights."""
    pack = [ReDo(0.1, every=1, average=1)] * 2
    now, seen = begun(pack, MLP(width=4, depth=3)), []
    for _ in range(2):
        now = after(pack, now, active(now, hidden1=[1.0, 0.0, 1.0, 1.0], hidden2=[1.0, 0.0, 1.0, 1.0]))
        seen += [
            tuple(now.parameters[f"{place}.weight"][run][[0, 2, 3], 1].tolist())
            for place in ("hidden1", "hidden2")
            for run in range(2)
        ]
    assert len(set(seen)) == 8
    assert len({weight for weights in seen for weight in weights}) == 24


def test_of_a_normalised_layer_scale_and_shift_of_a_unit_begin_anew_too():
    pack = [ReDo(0.1, every=1, average=1)]
    now = begun(pack, MLP(width=4, norm="layer"))
    for part in ("scale", "shift"):
        now.parameters[f"hidden1.{part}"].fill_(0.5)
    now = after(pack, now, active(now, hidden1=[1.0, 0.0, 1.0, 1.0]))
    assert now.parameters["hidden1.scale"].tolist() == [[[0.5, 1.0, 0.5, 0.5]]]
    assert now.parameters["hidden1.shift"].tolist() == [[[0.5, 0.0, 0.5, 0.5]]]
    for kind in ("m", "v"):
        for part in ("scale", "shift"):
            assert now.moments[kind][f"hidden1.{part}"].tolist() == [[[1, 0, 1, 1]]]


def test_a_channel_before_a_linear_layer_is_cut_off_at_all_its_pixels():
    """8 × 8 images, pooled twice: 2 × 2 pixels of four channels are left. ¼ beside three times 1 scores 0.308."""
    pack = [ReDo(0.31, every=1, average=1)]
    now = begun(pack, CNN(channels=4, kernel=3, width=8, padding="same"), side=8)
    before = copied(now)
    hidden = active(now)
    hidden["conv2"][0, :, 2, 1:] = 0.0  # one of four rows of pixels is left of channel 2: a mean of a quarter
    now = after(pack, now, hidden)
    own = {name: value[0] for name, value in copied(now).items()}
    assert changed_columns(before["conv2.weight"][0], own["conv2.weight"]) == [2]
    assert changed_columns(before["hidden1.weight"][0].T, own["hidden1.weight"].T) == [8, 9, 10, 11]
    assert not own["hidden1.weight"][8:12].any()
    for kind in ("m ", "v "):
        rows = own[f"{kind}hidden1.weight"].any(dim=1)
        assert rows.logical_not().nonzero().flatten().tolist() == [8, 9, 10, 11]
        assert own[f"{kind}conv2.bias"][0].tolist() == [1, 1, 0, 1]


def test_of_gates_both_units_have_the_value_that_they_make():
    pack = [ReDo(0.1, every=1, average=1)]
    now = begun(pack, MLP(width=4), SwiGLU())
    now = after(pack, now, active(now, hidden1=[1.0, 1.0, 0.0, 1.0]))
    assert now.state["hidden1.size"][0].tolist() == [1, 1, 0, 1, 1, 1, 0, 1]
    assert int(now.state["resets"]) == 2


def test_of_two_values_that_a_unit_passes_on_its_activity_is_the_mean():
    """CReLU: two units are four values, φ₁ of both, then φ₂ of both. Of 4, 0.5 and 0, 0.5 the means are 2 and 0.5, the
    layer's 1.25, and so the scores 1.6 and 0.4.
    """
    pack = [ReDo(strength, every=1, average=1) for strength in (0.39, 0.41)]
    now = begun(pack, MLP(width=4), CReLU())
    before = copied(now)
    now = after(pack, now, active(now, hidden1=[4.0, 0.5, 0.0, 0.5]))
    assert now.state["hidden1.size"].tolist() == [[2.0, 0.5]] * 2
    assert now.state["resets"].tolist() == [0, 1]
    assert changed_columns(before["hidden1.weight"][1], now.parameters["hidden1.weight"][1]) == [1]
    assert changed_columns(before["hidden2.weight"][1].T, now.parameters["hidden2.weight"][1].T) == [1, 3]


def test_activity_is_averaged_over_updates_and_examples():
    """A running mean that takes a quarter of each update: 4 · (1 − ¾³) after three updates of 4; then none."""
    pack = [ReDo(0.1, every=100, average=4)]
    now = begun(pack)
    for _ in range(3):
        now = after(pack, now, active(now, hidden1=[4.0, 0.0, 1.0, 2.0]), torch.tensor([0.25] * 4))
    assert now.state["hidden1.size"][0].tolist() == pytest.approx([4 * (1 - 0.75**3), 0, 1 - 0.75**3, 2 - 2 * 0.75**3])
    now = after(pack, now, active(now, hidden1=[4.0, 8.0, 1.0, 2.0]), torch.tensor([0.0, 0.0, 0.5, 0.5]))
    assert now.state["hidden1.size"][0].tolist()[:2] == pytest.approx([4 * (0.75 - 0.75**4), 0])
