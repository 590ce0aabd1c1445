"""Resets of experts: which are chosen, what is changed and what stays, and the steps that follow."""

import numpy as np
import pytest
import torch

from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.component import Others, build
from plasticity_lab.interventions.reset_experts import most_dormant
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.adamw import AdamW
from plasticity_lab.stacking.run_axis import on_run_axis
from plasticity_lab.stacking.sgd import SGD
from tests.helpers.packs import CPU, choice, run

EXPERTS, UNITS = 3, 8
TARGET = "plasticity_lab.interventions.reset_experts.ResetExperts"


def test_most_dormant_by_hand():
    """Shares of dormant units with at most a tenth of their expert's mean: 1/4, 2/4, 2/4, 0."""
    sizes = np.array([[1, 1, 1, 0.0], [4, 4, 0.0, 0.1], [1, 0.01, 0.02, 1], [5, 6, 7, 8]])
    assert most_dormant(sizes, 0.1, 1).tolist() == [1], "of two alike the first"
    assert most_dormant(sizes, 0.1, 2).tolist() == [1, 2]
    assert most_dormant(sizes, 0.1, 3).tolist() == [0, 1, 2]
    assert most_dormant(sizes, 0.0, 1).tolist() == [0], "0 units at most 0: one of the first, one of the second"
    assert most_dormant(np.zeros((2, 3)), 0.025, 1).tolist() == [0], "where nothing is active all are dormant"


def test_a_unit_is_dormant_compared_with_its_own_expert():
    """A tenth of the own mean is 0.3 and 0.01: one of four, and none. A tenth of all experts' mean would be 0.16."""
    sizes = np.array([[0.1, 0.1, 0.1, 0.1], [4, 4, 3.8, 0.2]])
    assert most_dormant(sizes, 0.1, 1).tolist() == [1]


def network(**settings):
    """A packed network of two runs with three experts, moments of ones, and a target, 10 updates after its start."""
    runs = [
        run(
            seed, "relu", head="softmoe", network={"name": "small_impala", "hidden": UNITS},
            intervention=(TARGET, {"every": 10, **settings}), images=20,
        )
        for seed in (0, 1)
    ]  # fmt: skip
    for each in runs:
        each.science["head"]["experts"] = EXPERTS
    parts = parts_of(runs)
    packed = PackedNetwork(
        parts, Model(parts.network, parts.activations, {"": Shapes((1, 10, 10), {"logits": 4})}), CPU
    )
    for values in packed.moments.values():
        for value in values.values():
            value.fill_(1.0)
    target = packed.target()
    size = torch.ones(2, EXPERTS, UNITS)
    size[0, 2, :4], size[1, 0, :2] = 0.0, 0.0  # expert 2 of the first run, expert 0 of the second
    packed.kept = {**packed.kept, "size": size, "age": torch.full((2, EXPERTS), 10)}
    return packed, target


def changed(before, after):
    """(parameter, run, expert) of the experts' layers, and (parameter, run, column) of the router, that differ."""
    found = set()
    for name, old in before.items():
        for k in range(2):
            if name.startswith("experts."):
                found |= {(name, k, e) for e in range(EXPERTS) if not torch.equal(old[k, e], after[name][k, e])}
            elif not torch.equal(old[k], after[name][k]):
                apart = (old[k] != after[name][k]).any(dim=0).nonzero().flatten().tolist()
                found |= {(name, k, at) for at in apart}
    return found


LAYERS = ("experts.hidden.weight", "experts.hidden.bias", "experts.output.weight", "experts.output.bias")
CHOSEN = {(name, k, e) for name in LAYERS for k, e in ((0, 2), (1, 0))}


def copied(values):
    return {name: value.clone() for name, value in values.items()}


def after_reset(**settings):
    packed, target = network(**settings)
    before, before_target = copied(packed.parameters), copied(target.parameters)
    packed.took(10)
    return packed, changed(before, packed.parameters), changed(before_target, target.parameters), before


def test_only_the_chosen_experts_numbers_change_and_their_moments_and_steps_begin_anew():
    packed, online, target, _ = after_reset()
    weights = {each for each in CHOSEN if not each[0].endswith("bias")}
    assert weights <= online <= CHOSEN
    assert not target
    for moments in packed.moments.values():
        for name, value in moments.items():
            for k, e in ((k, e) for k in range(2) for e in range(EXPERTS)) if name in LAYERS else ():
                assert (value[k, e] == (0.0 if (name, k, e) in CHOSEN else 1.0)).all(), name
            assert name in LAYERS or (value == 1.0).all()
    assert packed.kept["age"].tolist() == [[10, 10, 0], [0, 10, 10]]
    assert packed.kept["resets"].tolist() == [1, 1]


def test_the_router_follows_only_if_asked():
    packed, online, _, _ = after_reset(router=True)
    slots = packed.model.design.layer("router").outputs // EXPERTS
    columns = {(k, at) for name, k, at in online if name == "router.weight"}
    assert columns == {(0, 2 * slots + s) for s in range(slots)} | {(1, s) for s in range(slots)}
    router = packed.moments["first"]["router.weight"]
    assert (router[0, :, 2 * slots : 3 * slots] == 0).all()
    assert (router[0, :, : 2 * slots] == 1).all()


def test_a_target_can_have_a_draw_of_its_own():
    packed, target = network(target="own")
    packed.took(10)
    own, online = target.parameters["experts.hidden.weight"], packed.parameters["experts.hidden.weight"]
    assert not torch.equal(own[0, 2], online[0, 2])
    assert torch.equal(own[0, 1], online[0, 1])


def test_all_can_be_shrunk_and_perturbed():
    packed, online, _, before = after_reset(chosen="all", shrink=0.5, perturb=0.0)
    for name in LAYERS:
        assert torch.equal(packed.parameters[name], before[name] * 0.5)
    assert not {name for name, *_ in online} - set(LAYERS)
    assert packed.kept["resets"].tolist() == [EXPERTS] * 2
    fresh, _, _, _ = after_reset(chosen="all")
    mixed, _, _, before = after_reset(chosen="all", shrink=0.5, perturb=0.5)
    name = "experts.hidden.weight"
    assert torch.allclose(mixed.parameters[name], 0.5 * before[name] + 0.5 * fresh.parameters[name])


@pytest.mark.parametrize("optimizer", [Adam(lr=0.01), AdamW(lr=0.01, weight_decay=0.1), SGD(lr=0.01, momentum=0.9)])
def test_a_slice_that_began_later_takes_the_steps_of_a_run_that_began_then(optimizer):
    """Slices (2 runs × 2) with moments that have taken 0, 7, 30 and 50,000 steps, each beside a run by itself."""
    draw = torch.Generator().manual_seed(0)
    start, gradient = (torch.randn(2, 2, 5, 3, generator=draw) for _ in range(2))
    ages = torch.tensor([[0, 7], [30, 50_000]])
    settings = on_run_axis([optimizer] * 2, dtype=torch.float64)
    moments = {kind: {"w": torch.rand(2, 2, 5, 3, generator=draw)} for kind in optimizer.start({"w": start})}
    by_step = optimizer.corrections(settings, 1, optimizer.settled(settings))
    own, kept = start.clone(), {kind: copied(values) for kind, values in moments.items()}
    optimizer.update_slices({"w": own}, {"w": gradient}, kept, settings, by_step, {"w": ages})
    alone = on_run_axis([optimizer], dtype=torch.float64)
    for k in range(2):
        for e in range(2):
            weight, one = (
                start[k : k + 1, e].clone(),
                {kind: {"w": of["w"][k : k + 1, e].clone()} for kind, of in moments.items()},
            )
            rows = optimizer.corrections(alone, int(ages[k, e]) + 1, 1)
            now = {name: values[0] for name, values in rows.items()}
            optimizer.update({"w": weight}, {"w": gradient[k : k + 1, e]}, one, alone, now)
            assert torch.allclose(own[k, e], weight[0], rtol=2e-6, atol=1e-7)


def test_no_more_experts_are_reset_than_there_are():
    head = Others({"head": {"softmoe": build("head", "softmoe", choice("head", "softmoe")[0], {"experts": EXPERTS})}})
    assert build("intervention", "reset_experts", TARGET, {"count": EXPERTS}).objection(head) is None
    reason = build("intervention", "reset_experts", TARGET, {"count": EXPERTS + 1}).objection(head)
    assert "4 experts or more" in reason
    assert "head.experts is 3" in reason
