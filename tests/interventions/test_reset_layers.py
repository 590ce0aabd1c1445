"""Resets of whole layers: their new values, moments and targets by hand, which layers are meant, and when."""

from pathlib import Path

import pytest
import torch

from plasticity_lab.assembly import assembled, resources
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.reset_layers import ResetLayers
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.agents.ppo.packs import there_are
from tests.agents.sac.packs import SMALL as OF_SAC
from tests.agents.value.packs import SMALL as OF_VALUES
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained
from tests.tenants import packs as tenants

CLASS, SETTINGS = choice("intervention", "reset_layers")
IMAGES = images(8, 64, 20)
STREAM = {"images": 64, "tasks": 3, "epochs": 2}


def reset(pack, width=3, updates=7, birth=False):
    """Runs of two layers of three units and an output that have all learned 1, with moments 2 and targets 3 →
    the model, parameters, moments, targets, state.
    """
    activation = build("activation", "prelu", *choice("activation", "prelu"))
    seeds = list(range(len(pack)))
    model = classifier(MLP(width=width, norm="layer"), [activation] * len(pack), (1, 8, 8), 10)
    parameters, moments, target = (
        {name: torch.full_like(value, number) for name, value in model.start(seeds, CPU).items()}
        for number in (1.0, 2.0, 3.0)
    )
    now = Now(model, parameters, on_run_axis(pack), {}, {"first": moments}, updates=updates, seeds=seeds, task=1)
    state = pack[0].before_task(now._replace(state=pack[0].start(now), targets=[target]))
    return model, parameters, moments, target, state


def test_each_run_goes_its_share_of_the_way_by_hand():
    """θ, the target's 3 and the moments' 2, at strengths 0, ¼ and 1: ¾ · 1 + ¼ θᶠ, ¾ · 3 + ¼ θᶠ, ¾ · 2."""
    shares = (0.0, 0.25, 1.0)
    _, after, moments, target, state = reset([ResetLayers(share) for share in shares])
    layer = classifier(MLP(width=3), [build("activation", "relu", *choice("activation", "relu"))], (1, 8, 8), 10)
    for k, share in enumerate(shares):
        draw = host_stream(k, "reset layers", 7, "output")
        for name, fresh in layer.design.layer("output").start(draw, "default", 1.0).items():
            fresh = torch.from_numpy(fresh)
            torch.testing.assert_close(after[name][k], (1 - share) + share * fresh)
            torch.testing.assert_close(target[name][k], 3 * (1 - share) + share * fresh)
            assert (moments[name][k] == 2 * (1 - share)).all()
    for values, number in ((after, 1.0), (moments, 2.0), (target, 3.0)):
        assert all((value == number).all() for name, value in values.items() if not name.startswith("output."))
    assert state["resets"].tolist() == [0, 1, 1]


def test_all_layers_at_birth_are_the_first_network_and_fresh_ones_another():
    """Normalisations and the activation's slopes begin again too."""
    model, born, moments, target, _ = reset([ResetLayers(layers="all", values="birth")] * 2)
    first = model.start([0, 1], CPU)
    assert all(torch.equal(born[name], value) and torch.equal(target[name], value) for name, value in first.items())
    assert not any(value.any() for value in moments.values())
    _, fresh, _, _, _ = reset([ResetLayers(layers="all")] * 2)
    _, again, _, _, _ = reset([ResetLayers(layers="all")] * 2)
    _, later, _, _, _ = reset([ResetLayers(layers="all")] * 2, updates=8)
    assert all(torch.equal(fresh[name], again[name]) for name in fresh)
    for name in ("hidden1.weight", "hidden2.bias", "output.weight"):
        assert not torch.equal(fresh[name], first[name])
        assert not torch.equal(fresh[name], later[name])
    for name in ("activation.slope", "hidden1.scale", "hidden2.shift"):
        assert torch.equal(fresh[name], first[name])


def test_a_target_may_wait_for_its_copy_and_the_number_of_resets_may_end():
    _, after, _, target, _ = reset([ResetLayers(target="copy")])
    assert (after["output.weight"] != 1.0).any()
    assert all((value == 3.0).all() for value in target.values())
    periodic = ResetLayers(every=5, most=2)
    activation = build("activation", "relu", *choice("activation", "relu"))
    model = classifier(MLP(width=3), [activation], (1, 8, 8), 10)
    now = Now(model, model.start([0], CPU), on_run_axis([periodic]), {}, seeds=[0])
    now = now._replace(state=periodic.start(now))
    counts = []
    for updates in (5, 10, 15):
        now = now._replace(state=periodic.every_n_updates(now._replace(updates=updates)))
        counts.append(int(now.state["resets"]))
    assert counts == [1, 2, 2]
    assert periodic.before_task(now) is now.state


def test_strength_zero_is_the_plain_run_and_resets_share_a_pack_at_every_strength():
    runs = [
        run(
            seed,
            "prelu",
            network={"width": 13},
            intervention=(CLASS, SETTINGS | {"strength": share, "every": 3}),
            **STREAM,
        )
        for seed, share in ((1, 0.0), (2, 0.5), (3, 1.0))
    ]
    packed = trained(runs, IMAGES)
    plain = trained([run(1, "prelu", network={"width": 13}, **STREAM)], IMAGES)
    assert not differing(packed.of(0), plain.of(0) | {"resets": packed.of(0)["resets"]})
    resumed = trained(runs, IMAGES, stops=[2, 1])
    for k in (1, 2):
        assert not differing(packed.of(k), trained(runs[k : k + 1], IMAGES).of(0))
        assert not differing(packed.of(k), resumed.of(k))
    assert packed.of(2)["resets"].tolist() == [2, 5, 8]


def changed(words: tuple[str, ...], own: tuple[str, ...], part: str = "") -> set[str]:
    """The names that a reset between tasks changes in a network of an agent's: of the names that begin with `part`."""
    (made,) = tenants.packs_of(*words, "intervention=reset_layers", *own, "seed=0")
    _, learner = assembled([made], resources(Path())(made), CPU, False)
    networks = learner.networks
    names = set()
    for network in networks:
        before = {name: value.add_(0.5).clone() for name, value in network.parameters.items()}
        network.body = network.body or network.model.only_body
        network.begin_task(1)
        names |= {name for name, value in network.parameters.items() if not torch.equal(value, before[name])}
        for target in network.targets:
            for name in before:
                moved = not torch.equal(target.parameters[name], network.parameters[name])
                assert moved is not (name in names)
    return {name.rpartition(".")[0] for name in names}


PPO = (
    "agent=ppo",
    "benchmark=classic_cycle",
    "network.width=8",
    "network.depth=1",
    "network.separate_value_trunk=true",
)
RAINBOW = ("agent=rainbow", "benchmark=catch", "network=small_nature", "network.hidden=8")


@pytest.mark.parametrize(
    ("words", "own", "expected"),
    [
        (OF_SAC, ["part=actor"], {"actor.mean", "actor.log_std"}),
        (OF_SAC, ["part=critic"], {"critic1.q", "critic2.q"}),
        (OF_VALUES, [], {"q"}),
        (RAINBOW, [], {"value", "advantage"}),
        (RAINBOW, ["layers=head"], {"value", "advantage", "hidden1"}),
        (PPO, ["part=critic", "layers=all"], {"cartpole.value", "value_trunk1"}),
        (PPO, ["part=actor"], {"cartpole.policy"}),
    ],
)
def test_which_layers_are_meant(words, own, expected, monkeypatch):
    there_are(monkeypatch)
    assert changed(words, tuple(f"intervention.{each}" for each in own)) == expected


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["agent=dqn", "benchmark=catch", "intervention.part=actor"], "has no separate actor"),
        (["intervention.layers=head", "network=mlp"], "this network has no encoder"),
    ],
)
def test_layers_that_a_run_lacks_are_refused_in_a_sentence(words, why):
    with pytest.raises(ConfigError, match=f"intervention=reset_layers does not go with .*{why}"):
        tenants.packs_of("intervention=reset_layers", *words)


@pytest.mark.parametrize("name", ["reset_layers", "hare_tortoise"])
def test_a_closed_expert_stays_closed(name):
    own = {"reset_layers": ["layers=all", "values=birth"], "hare_tortoise": ["every=14", "first=14"]}[name]
    words = [f"intervention.{name}.{each}" for each in own]
    pruned = (
        "head=softmoe",
        "head.experts=3",
        f"intervention=[prune_experts,{name}]",
        "intervention.prune_experts.first=7",
    )
    (made,) = tenants.packs_of(*RAINBOW, *pruned, *words, "seed=0")
    _, learner = assembled([made], resources(Path())(made), CPU, False)
    network = learner.network
    (router,) = network.model.switches
    for _ in range(2):  # pruned after the first seven updates, and the hare returns after the next seven
        network.took(7)
        assert network.parameters[router].sum() == 1
    network.begin_task(1)
    assert network.parameters[router].sum() == 1
    assert network.tested[router].sum() == 1
