"""Experts as units: found by address in weights, moments and targets, activated unit by unit, reset as a whole."""

from pathlib import Path

import numpy as np
import pytest
import torch

from plasticity_lab.activations.crelu import CReLU
from plasticity_lab.activations.prelu import PReLU
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.activations.swiglu import SwiGLU
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import model_of as model_of_runs
from plasticity_lab.assembly import resources
from plasticity_lab.interventions.continual_backprop import ContinualBackprop
from plasticity_lab.interventions.redo import ReDo
from plasticity_lab.interventions.resets import reset_units
from plasticity_lab.interventions.snr import SelfNormalizedResets
from plasticity_lab.networks.units import cut_off, forget, outgoing_rows, start_anew
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.made_up_networks import EXPERTS, ExpertMLP
from tests.helpers.networks import classifier, logits
from tests.helpers.packs import CPU, run
from tests.helpers.situations import after, begun, copied, silent
from tests.tenants.packs import packs_of

ACTIVATIONS = {"relu": ReLU(), "crelu": CReLU(), "swiglu": SwiGLU(), "prelu": PReLU(scope="neuron")}


def model_of(kind="relu", slots=1, runs=2):
    return classifier(ExpertMLP(slots=slots), [ACTIVATIONS[kind]] * runs, (1, 3, 3), 4)


def examples(runs=2):
    return torch.from_numpy(host_stream(0, "x").normal(size=(runs, 4, 9)).astype(np.float32))


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_an_activation_works_on_the_units_of_each_expert_by_themselves(kind, slots):
    """As a network of one expert alone would have it."""
    model, alone = (
        classifier(ExpertMLP(slots=slots, experts=count), [ACTIVATIONS[kind]] * 2, (1, 3, 3), 4) for count in (3, 1)
    )
    shape = on_run_axis(model.activations)
    parameters = model.start([0, 1], CPU)
    for name, value in parameters.items():
        if "activation" in name:  # slopes of their own
            value.copy_(torch.linspace(0.1, 0.9, value[0].numel()).expand_as(value))
    hidden = model.forward(parameters, shape, examples(), None)[1]
    for expert in range(3):
        own = {name: value for name, value in parameters.items() if name.startswith("hidden1")}
        own |= {name: value[:, expert, None] for name, value in parameters.items() if value.dim() == 4}
        own |= {  # slopes lie unit by unit, and of each unit expert by expert
            name: value[:, expert::3]
            for name, value in parameters.items()
            if name.startswith("experts") and value.dim() == 2
        }
        own |= {
            name: torch.zeros(2, *value.shape[1:])
            for name, value in alone.start([0, 1], CPU).items()
            if name not in own
        }
        theirs = alone.forward(own, shape, examples(), None)[1]
        for place in ("experts1", "experts2"):
            torch.testing.assert_close(hidden[place][:, :, expert], theirs[place][:, :, 0])


@pytest.mark.parametrize(
    ("kind", "place", "chosen", "rows"),
    [
        ("relu", 0, [2], [2]),  # a unit before experts: a row of each
        ("crelu", 0, [1], [1, 4]),  # half of 6 units are produced
        ("relu", 1, [2], [2]),  # an expert before experts: one of them
        ("crelu", 1, [0, 2], [0, 2]),
        ("relu", 2, [1], [4, 5, 6, 7]),  # an expert before a linear layer: a block of its 4 units
        ("crelu", 2, [0], [0, 1, 2, 3]),  # 2 units of two values each
    ],
)
def test_what_an_expert_passes_on_is_multiplied_with_its_own_rows(kind, place, chosen, rows):
    model = model_of(kind)
    unit = model.units[place]
    assert outgoing_rows(model, unit, unit.outgoing[0], np.array(chosen)).tolist() == rows


@pytest.mark.parametrize("noisy", [False, True])
def test_what_a_channel_passes_on_is_cut_off_in_every_expert(noisy):
    """Noisy experts, too: the deviations of the same rows."""
    words = ("agent=rainbow" if noisy else "agent=rainbow_lite", "benchmark=catch", "network=small_nature")
    runs = packs_of(*words, "network.hidden=8", "network.width=1", "head=softmoe", "head.experts=3", "seed=0,1")
    model = model_of_runs(runs, resources(Path())(runs[0]))
    parameters = model.start([0, 1], CPU)
    unit, layer = next(unit for unit in model.units if "experts.hidden" in unit.outgoing), "experts.hidden"
    before = {name: value.clone() for name, value in parameters.items()}
    cut_off(model, parameters, 1, unit, np.array([2]))
    for part in ("weight", "sigma")[: 1 + noisy]:
        gone = (parameters[f"{layer}.{part}"] != before[f"{layer}.{part}"]).any(dim=3)
        assert gone[1, :, 2].all()
        assert gone.sum() == 3, "a row of each expert, and no other"


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_an_expert_that_is_cut_off_changes_no_output_any_more_and_its_mates_do_not_notice(kind, slots):
    model = model_of(kind, slots)
    shape, parameters = on_run_axis(model.activations), model.start([0, 1], CPU)
    before = logits(model, parameters, shape, examples(), None)[0]
    for unit in model.units:
        cut_off(model, parameters, 1, unit, np.array([1]))
        cut = logits(model, parameters, shape, examples(), None)[0]
        start_anew(model, parameters, 1, unit, np.array([1]), host_stream(3, "fresh", unit.name))
        assert torch.equal(logits(model, parameters, shape, examples(), None)[0], cut)
    assert torch.equal(cut[0], before[0])
    assert not torch.equal(cut[1], before[1])


def test_one_expert_begins_anew_by_address_with_its_moments_and_in_the_target_too():
    """Fresh weights are those that the layer starts with; nothing of another expert or another run is touched."""
    parts = parts_of([run(seed, images=64, network={"target": EXPERTS}) for seed in (5, 6)])
    model = classifier(parts.network, parts.activations, (1, 3, 3), 4)
    online = PackedNetwork(parts, model, CPU)
    target, start = online.target(), {name: value.clone() for name, value in online.parameters.items()}
    for values in (online.parameters, target.parameters, *online.moments.values()):
        for value in values.values():
            value.add_(1.0)
    moments = {kind: {name: value.clone() for name, value in own.items()} for kind, own in online.moments.items()}
    unit, chosen = model.units[1], np.array([2])
    now = online._now()
    assert [each.keys() for each in now.targets] == [online.parameters.keys()]
    for values in (now.parameters, *now.targets):
        start_anew(model, values, 1, unit, chosen, host_stream(6, "weights", "experts1"))
    forget(model, now.moments, 1, unit, chosen)
    for values in (online.parameters, target.parameters):
        for name, value in values.items():
            for where in np.ndindex(*value.shape[: value.dim() - 2]):
                fresh = name.startswith("experts1.") and where == (1, 2)
                assert torch.equal(value[where], start[name][where] + (0.0 if fresh else 1.0)), (name, where)
    for kind, own in online.moments.items():
        for name, value in own.items():
            for where in np.ndindex(*value.shape[: value.dim() - 2]):
                gone = (name.startswith("experts1.") or name == "experts2.weight") and where == (1, 2)
                assert torch.equal(value[where], moments[kind][name][where] * (0.0 if gone else 1.0)), (name, where)


@pytest.mark.parametrize("slots", [1, 2])
def test_redo_resets_the_expert_that_gives_least(slots):
    pack = [ReDo(0.1, every=1, average=1)] * 2
    now = begun(pack, ExpertMLP(slots=slots))
    before = copied(now)
    hidden = {name: torch.ones_like(value) for name, value in silent(now).items()}
    hidden["experts2"][1, :, 1] = 0.0
    now = after(pack, now, hidden)
    assert now.state["resets"].tolist() == [0, 1]
    changed = (before["experts2.weight"] != now.parameters["experts2.weight"]).flatten(2).any(dim=2)
    assert changed.tolist() == [[False] * 3, [False, True, False]]
    rows = (now.parameters["output.weight"][1] == 0).all(dim=1).nonzero().flatten()
    assert rows.tolist() == list(range(4 * slots, 8 * slots))
    assert not now.parameters["experts2.bias"][1, 1].any()


def test_continual_backprop_counts_all_that_an_expert_is_multiplied_with():
    """With equal activations the expert with the smallest weights behind it goes."""
    pack = [ContinualBackprop(1.0, maturity=0, every=1)]
    now = begun(pack, ExpertMLP())
    now.parameters["experts2.weight"][0, 1].mul_(0.01)
    before = copied(now)
    hidden = {name: torch.ones_like(value) for name, value in silent(now).items()}
    for unit in now.units:  # of the three experts that are mature, one is owed
        now.state[f"{unit.name}.owed"].fill_(-2.0 if unit.name == "experts1" else -99.0)
    now = after(pack, now, hidden)
    changed = (before["experts1.weight"] != now.parameters["experts1.weight"]).flatten(2).any(dim=2)
    assert changed.tolist() == [[False, True, False]]
    assert now.state["experts1.age"][0].tolist() == [1, 0, 1]


def test_snr_watches_experts():
    pack = [SelfNormalizedResets(0.2, every=1, min_age=1, min_count=1)]
    now = begun(pack, ExpertMLP())
    hidden = {name: torch.ones_like(value) for name, value in silent(now).items()}
    now = after(pack, after(pack, now, hidden), hidden)
    hidden["experts1"][0, :, 2] = 0.0
    before = copied(now)
    now = after(pack, after(pack, now, hidden), hidden)
    changed = (before["experts1.weight"] != now.parameters["experts1.weight"]).flatten(2).any(dim=2)
    assert changed.tolist() == [[False, False, True]]


def test_resets_count_experts():
    now = begun([ReDo()] * 2, ExpertMLP())
    assert reset_units(now, "test", 1, [(unit, np.array([0, 2])) for unit in now.units]) == 6
