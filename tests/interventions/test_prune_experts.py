"""Pruned experts: when, which, and that the head is then the one of the experts that stay."""

import re
from pathlib import Path

import pytest
import torch

from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.interventions.prune_experts import PruneExperts
from plasticity_lab.networks.heads.softmoe import SoftMoE
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.others import Others
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU, run
from tests.helpers.sweeps import runs_of

TARGET = "plasticity_lab.interventions.prune_experts.PruneExperts"
SLOTS, NEVER = 3, ("plasticity_lab.interventions.none.NoIntervention", {})


@pytest.mark.parametrize(
    ("settings", "by_updates"),
    [
        ({"first": 10}, {9: 0, 10: 2, 99: 2}),
        ({"first": 10, "apart": 5}, {9: 0, 10: 1, 14: 1, 15: 2, 99: 2}),
        ({"first": 10, "apart": 4, "count": 3}, {10: 1, 14: 2, 17: 2, 18: 3, 22: 3}),
    ],
)
def test_when_by_hand(settings, by_updates):
    made = PruneExperts(**settings)
    assert {updates: made.due(updates) for updates in by_updates} == by_updates
    asked = [updates for updates in range(1, 100) if updates % made.every == 0]
    changes = [updates for updates in range(1, 100) if made.due(updates) != made.due(updates - 1)]
    assert set(changes) <= set(asked), "it is asked whenever one is due"


def packed(experts, head="softmoe", intervention=None, seeds=(0,)):
    runs = [
        run(
            seed, "relu", head=head, network={"name": "small_impala", "hidden": 8}, images=20,
            intervention=intervention or (TARGET, {"count": experts - 1, "first": 4, "apart": 4}),
        )
        for seed in seeds
    ]  # fmt: skip
    for each in runs:
        each.science["head"] |= {"experts": experts, "slots": SLOTS}
    parts = parts_of(runs)
    model = Model(parts.network, parts.activations, {"": Shapes((1, 10, 10), {"logits": 4})})
    return PackedNetwork(parts, model, CPU)


def answered(network, x):
    return network.model.forward(network.parameters, network.settings["activation"], x, None)[0]["logits"]


@pytest.mark.parametrize("experts", [2, 3])
@pytest.mark.parametrize("head", ["softmoe", "expert_choice", "token_choice"])
def test_without_pruned_experts_it_is_the_head_of_those_that_stay(head, experts):
    """Also of a single one: as the only expert of `expert_choice`, it takes the tokens that suit it best."""
    whole, x = packed(experts, head), torch.rand(1, 4, 100, generator=torch.Generator().manual_seed(0))
    whole.parameters["router.weight"].mul_(5)  # routes differ
    before = answered(whole, x)
    whole.took(4)
    (closed,) = (whole.parameters["router.open"][0] == 0).nonzero().flatten().tolist()
    stay = [expert for expert in range(experts) if expert != closed]
    fewer = packed(experts - 1, head, NEVER)
    each = SLOTS if head == "softmoe" else 1
    columns = [expert * each + at for expert in stay for at in range(each)]
    for name, value in fewer.parameters.items():
        own = whole.parameters[name]
        if name == "router.weight":
            value[..., : len(columns)] = own[..., columns]
        else:
            value.copy_(own[:, stay] if name.startswith("experts.") else own)
    assert torch.allclose(answered(whole, x), answered(fewer, x), atol=1e-6)
    assert not torch.allclose(before, answered(whole, x), atol=1e-4)


@pytest.mark.parametrize("other", ["l2_init", "fresh_each_task", "shrink_and_perturb", "ewc"])
def test_closed_experts_stay_closed_beside_other_interventions(other):
    words = ("agent=ppo", "benchmark=catch", "benchmark.tasks=3", "benchmark.environment_steps=32", "agent.rollout=16",
             "agent.minibatches=2", "agent.epochs=1", "network=small_nature", "network.hidden=8", "head=softmoe",
             "head.experts=3", "intervention.prune_experts.first=1", "seed=0")  # fmt: skip
    (made,) = runs_of(*words, f"intervention=[prune_experts,{other}]")
    stream, learner = assembled([made], resources(Path())(made), CPU, False)
    task = None
    for task in stream.tasks(Position(0, 0)):
        learner.begin(task, fresh=True)
        for chunk in task.chunks(Position(task.position, 0)):
            learner.advance(chunk)
            learner.network.intervention.members["prune_experts"].every = None  # it does not close them again
            learner.network.intervention.every = None
        learner.end(task)
    assert task is not None
    assert learner.network.parameters["router.open"].sum() == 1
    assert learner.network.of_intervention()["pruned"].tolist() == [2]


def test_each_run_closes_its_own_and_a_target_follows_by_its_next_copy():
    network = packed(4, seeds=(0, 1, 2, 3))
    target = network.target()
    network.took(4)
    first = network.parameters["router.open"].clone()
    assert (first == 0).sum(dim=1).tolist() == [1] * 4
    assert len({tuple(row) for row in first.tolist()}) > 1
    assert (target.parameters["router.open"] == 1).all()
    target.copy()
    assert torch.equal(target.parameters["router.open"], first)
    network.took(4)
    second = network.parameters["router.open"]
    assert (second == 0).sum(dim=1).tolist() == [2] * 4
    assert (second[first == 0] == 0).all(), "who is closed stays closed"
    assert network.of_intervention()["pruned"].tolist() == [2] * 4


def test_one_expert_must_stay():
    objections = [
        PruneExperts(count=2).objection(Others({"head": {"softmoe": SoftMoE(experts)}})) for experts in (2, 3)
    ]
    assert re.search(r"there must be 3 experts or more .*head\.experts is 2", objections[0] or "")
    assert objections[1] is None
