import numpy as np
import pytest
import torch

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.interventions.continual_backprop import ContinualBackprop
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.host import host_stream
from tests.helpers.situations import after, begun, changed_columns, copied, silent


def some(now, update: int) -> dict[str, torch.Tensor]:
    """Activations of one update, of both signs and of sizes that differ from unit to unit."""
    draw = host_stream(0, "activations", update)
    return {
        name: torch.from_numpy((draw.normal(size=value.shape) * np.linspace(0.5, 1.5, value.shape[2])).astype("f4"))
        for name, value in silent(now).items()
    }


def test_utility_is_the_running_mean_of_activity_times_the_weights_out():
    """u ← η u + (1 − η) · mean |h| · Σ |w| of the weights out, in float64 beside it; η per run."""
    pack = [ContinualBackprop(0.0, decay) for decay in (0.5, 0.9)]
    now = begun(pack)
    expected = np.zeros((2, 4))
    decay = np.array([[0.5], [0.9]])
    weights = torch.tensor([0.25, 0.75, 0.0, 0.0])  # the mean over a batch of which half only fills up the rows
    for update in range(5):
        hidden = some(now, update)
        now = after(pack, now, hidden, weights)
        size = (hidden["hidden1"].double().abs() * weights.view(1, 4, 1)).sum(dim=1).numpy()
        out = now.parameters["hidden2.weight"].double().abs().sum(dim=2).numpy()
        expected = decay * expected + (1 - decay) * size * out
        now.parameters["hidden2.weight"].mul_(1.1)
    np.testing.assert_allclose(now.state["hidden1.utility"].numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("network", "activation", "side", "unit", "values", "rows"),
    [
        (CNN(channels=4, kernel=3, width=4, padding="same"), None, 8, "conv2", [2], slice(8, 12)),  # 2 × 2 pixels
        (MLP(width=8), CReLU(), 2, "hidden1", [2, 6], [2, 6]),  # a unit passes on both halves
    ],
    ids=["channel", "two values"],
)
def test_the_contribution_of_what_passes_on_several_values(network, activation, side, unit, values, rows):
    """A channel has the mean over its pixels and the weights of all of them; two halves of a unit are added up."""
    pack = [ContinualBackprop(0.0, 0.0)]
    now = begun(pack, network, activation, side)
    hidden = silent(now)
    for number, value in enumerate(values):
        hidden[unit][0, 0, value] = number + 3.0  # on one of four examples
    now = after(pack, now, hidden)
    following = next(place for place in now.units if place.name == unit).outgoing[0]
    out = now.parameters[f"{following}.weight"][0].double().abs()
    if unit == "conv2":
        expected = 0.75 * out[rows].sum()
    else:
        expected = 0.75 * out[rows[0]].sum() + 1.0 * out[rows[1]].sum()
    found = now.state[f"{unit}.utility"][0]
    assert float(found[2]) == pytest.approx(float(expected), rel=1e-5)
    assert int((found != 0).sum()) == 1


def test_over_many_updates_it_resets_what_a_loop_over_units_resets():
    """Algorithm 1 written out for one run and place after the other, in float64: the same units in the same updates."""
    settings = [{"strength": 0.02, "decay": 0.9, "maturity": 7}, {"strength": 0.05, "decay": 0.9, "maturity": 7}]
    pack = [ContinualBackprop(**each) for each in settings]
    now = begun(pack, MLP(width=12))
    places = {"hidden1": "hidden2.weight", "hidden2": "output.weight"}
    kept = {(run, place): {"u": np.zeros(12), "age": np.zeros(12), "owed": 0.0} for run in range(2) for place in places}
    resets = [0, 0]
    for update in range(300):
        hidden = some(now, update)
        for value in now.parameters.values():  # what an optimizer does
            value.add_(0.01)
        before = copied(now)
        now = after(pack, now, hidden)
        for (run, place), own in kept.items():
            strength, decay = settings[run]["strength"], settings[run]["decay"]
            out = before[places[place]][run].double().abs().sum(dim=1).numpy()
            own["age"] += 1
            size = hidden[place][run].double().abs().mean(dim=0).numpy()
            own["u"] = decay * own["u"] + (1 - decay) * size * out
            mature = np.flatnonzero(own["age"] > 7)
            own["owed"] += strength * len(mature)
            chosen = []
            while own["owed"] >= 1 - 1e-6 and len(mature) > len(chosen):
                fair = {unit: own["u"][unit] / (1 - decay ** own["age"][unit]) for unit in mature if unit not in chosen}
                chosen.append(min(fair, key=fair.get))
                own["owed"] -= 1
            own["u"][chosen], own["age"][chosen] = 0, 0
            resets[run] += len(chosen)
            after_it = now.parameters[places[place]][run]
            assert changed_columns(before[f"{place}.bias"][run], now.parameters[f"{place}.bias"][run]) == sorted(chosen)
            assert (after_it == 0).all(dim=1).nonzero().flatten().tolist() == sorted(chosen)
    assert now.state["resets"].tolist() == resets
    # 12 units in each of two places, a little less for those that are not mature yet.
    for run, each in enumerate(settings):
        assert resets[run] == pytest.approx(each["strength"] * 12 * 2 * 300, rel=0.35)


def due_now(pack, ages, utilities, **owed):
    """A pack's situation with these ages and utilities of the first layer's units, and what its places are owed."""
    now = begun(pack)
    own = {"hidden1.age": torch.tensor(ages), "hidden1.utility": torch.tensor(utilities)}
    own |= {f"{place}.owed": torch.full((len(pack),), value) for place, value in owed.items()}
    return now._replace(state=now.state | own | {"due": torch.ones(len(pack), dtype=torch.int64)})


@pytest.mark.parametrize(("young", "least"), [(1.05, 0), (0.95, 1)])
def test_the_utility_of_a_young_unit_is_not_held_against_it(young, least):
    """A running mean of ones is 1 − 0.9³ = 0.271 after three updates with η = 0.9, and 1 − 0.5³ = 0.875 with η = 0.5;
    after 40 it is 0.985, or 1. Unit 1, after three, stands for 1.05 and is of more use than unit 0 with 1, or for 0.95
    and is of less; unit 3 is too young. Of 1.75 that are owed 0.75 are left.
    """
    pack = [ContinualBackprop(0.0, decay, maturity=2) for decay in (0.9, 0.5)]
    utilities = [[0.985, young * 0.271, 1.97, 0.0], [1.0, young * 0.875, 2.0, 0.0]]
    now = due_now(pack, [[40.0, 3.0, 40.0, 2.0]] * 2, utilities, hidden1=1.75)
    before = copied(now)
    state = pack[0].every_n_updates(now)
    for k in range(2):
        changed = changed_columns(before["hidden1.weight"][k], now.parameters["hidden1.weight"][k])
        assert changed == [least]
        for name, values in (("age", [40, 3, 40, 2]), ("utility", utilities[k])):
            left = [0 if unit == least else value for unit, value in enumerate(values)]
            assert state[f"hidden1.{name}"][k].tolist() == pytest.approx(left)
    assert state["hidden1.owed"].tolist() == [0.75] * 2
    assert (state["resets"].tolist(), state["due"].tolist()) == ([1, 1], [0, 0])


def test_of_more_units_than_are_mature_those_that_are_not_stay_owed():
    """Three are owed, and two are mature: age 3 is more than a maturity of 2, age 2 is not."""
    pack = [ContinualBackprop(0.0, 0.9, maturity=2)]
    now = due_now(pack, [[3.0, 2.0, 1.0, 9.0]], [[1.0, 0.1, 0.1, 1.0]], hidden1=3.5)
    state = pack[0].every_n_updates(now)
    assert state["hidden1.age"].tolist() == [[0, 2, 1, 0]]
    assert state["hidden1.owed"].tolist() == [1.5]
    assert state["resets"].tolist() == [2]


def test_what_is_owed_is_a_share_of_the_mature_units_of_each_place():
    """Strengths ⅛ and ½, maturity 1: nothing after the first update; then four units a place owe ½, or 2, in each."""
    pack = [ContinualBackprop(strength, 0.5, maturity=1, every=100) for strength in (0.125, 0.5)]
    now = begun(pack)
    for expected, due in (([0.0, 0.0], [0, 0]), ([0.5, 2.0], [0, 2]), ([1.0, 4.0], [2, 2])):
        now = after(pack, now, some(now, 0))
        assert now.state["hidden1.owed"].tolist() == now.state["hidden2.owed"].tolist() == expected
        assert now.state["due"].tolist() == due  # places that owe a whole unit


def test_of_a_unit_that_is_reset_nothing_passes_on_and_a_young_one_is_left_alone():
    pack = [ContinualBackprop(0.25, 0.5, maturity=2)]
    now = begun(pack)
    for update in range(2):
        now = after(pack, now, some(now, update))
    assert not now.state["resets"].any()
    hidden = some(now, 2)
    least = int(torch.argmin(_would_be(pack, now, hidden)))
    before = copied(now)
    now = after(pack, now, hidden)  # 0.25 · 4 mature units: one of each place
    own = {name: value[0] for name, value in copied(now).items()}
    assert int(now.state["resets"]) == 2
    assert changed_columns(before["hidden1.weight"][0], own["hidden1.weight"]) == [least]
    assert own["hidden1.bias"][0, least] == 0
    assert not own["hidden2.weight"][least].any()
    for kind in ("m ", "v "):
        assert not own[f"{kind}hidden1.weight"][:, least].any()
        assert not own[f"{kind}hidden2.weight"][least].any()
        assert own[f"{kind}hidden1.bias"][0].tolist() == [float(unit != least) for unit in range(4)]
    ages = now.state["hidden1.age"][0].tolist()
    assert ages == [0.0 if unit == least else 3.0 for unit in range(4)]


def _would_be(pack, now, hidden):
    """The utility of the first place's units after one more update."""
    looked = now._replace(hidden=hidden)
    return pack[0].after_step(looked)["hidden1.utility"][0]
