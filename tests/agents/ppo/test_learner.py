"""PPO in packs: packed = alone = resumed, idle heads stand still, an unstable run leaves its mates alone."""

import numpy as np
import pytest
import torch

from plasticity_lab import component
from plasticity_lab.agents.ppo.learner import MEASURED
from plasticity_lab.agents.ppo.policy import log_probability
from plasticity_lab.assembly import agent_of
from plasticity_lab.records.journal import Journal
from tests.agents.ppo.packs import BOTH, CLEANRL, ONE, SMALL, begun, numbers, there_are
from tests.helpers.made_up_bodies import poisoned
from tests.helpers.packs import choice, choices, needs_compiler, needs_kernels
from tests.helpers.vectors import BITS, vectors
from tests.tenants.packs import RESETS, differing, hold, hold_compiled, packs_of, trained

DETERMINISTIC = [name for name in choices("activation") if not component.load(choice("activation", name)[0]).randomised]
MUJOCO = (*SMALL, "benchmark.bodies=[hopper,ant]", "protocol=clean", "benchmark.test_episodes=0")
PIXELS = (
    *SMALL,
    "benchmark=catch",
    "network=actor_critic",
    "benchmark.balls=2",
    "benchmark.test_episodes=2",
    "benchmark.tasks=1",
)


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "words",
    [
        SMALL,
        (*BOTH, "intervention=l2_init"),
        (*BOTH, *RESETS, "agent.environments=3", "activation=crelu"),
        (*CLEANRL, "agent.environments=2", "agent.target_kl=0.02", "agent.minibatches=2"),
        (*ONE, "activation=rrelu", "agent.rollout=33", "agent.minibatches=3"),
        MUJOCO,
        PIXELS,
        (*PIXELS, "benchmark.rendered=true", "benchmark.stack=2", "agent.minibatches=2", "agent.epochs=1"),
        (*PIXELS, "agent.normalise_observations=true"),
        (
            *ONE,
            "network.width=13",
            "network.adapter=false",
            "network.input_scale=0.5",
            "network.learn_input_scale=true",
        ),
    ],
    ids=[
        "cartpole",
        "l2_init",
        "resets",
        "cleanrl",
        "randomised",
        "mujoco",
        "catch",
        "catch_84",
        "scaled pixels",
        "scaled",
    ],
)
def test_packed_alone_and_resumed_are_the_same(words):
    hold(*words, "seed=3,1,0", stops=[1, 2])


@pytest.mark.sample(1)
def test_its_floats_differ_from_run_to_run():
    hold(*ONE, "agent.gamma=0.9,0.99", "agent.gae_lambda=0.5,0.95", "agent.entropy_weight=0,0.1")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [SMALL, ONE, (*CLEANRL, "agent.environments=2"), PIXELS], ids=["cartpole", "gaussian", "cleanrl", "catch"]
)
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_many_widths(words):
    hold_compiled((2, 3, 5, 6, 8, 12), *words)


ODD = [
    (*CLEANRL, "activation=bo_prelu", "activation.scope=neuron", "network.width=13", "optimizer=rmsprop"),
    (*BOTH, "activation=gelu", "network.width=5", "agent.minibatches=16", "intervention=l2"),
    (*ONE, "activation=elu", "network.width=9", "network.norm=layer", "agent.rollout=33", "agent.minibatches=11"),
    (*ONE, "network.width=13", "network.adapter=false", "network.input_scale=0.5", "network.learn_input_scale=true"),
    (*SMALL, "activation=deep_fourier", "network.width=6", "optimizer=sgd", "intervention=shrink_and_perturb"),
]
"""Minibatches of 2 to 8 rows, and widths that fill no vector."""


@pytest.mark.only(3)
@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("words", ODD, ids=["bo_prelu", "gelu", "elu", "scaled", "deep_fourier"])
def test_compiled_so_are_odd_mixes_in_vectors_of_any_width(words, bits):
    with vectors(bits):
        hold_compiled((2, 3, 5, 6, 7, 8), *words, stops=[1, 1])


@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        (*BOTH, "activation=tanh"),
        (*CLEANRL, "network.width=13"),
        (*ONE, "activation=rrelu", "agent.environments=3", "benchmark.environment_steps=288"),
    ],
    ids=["bodies", "cleanrl", "randomised"],
)
def test_by_our_kernels_packed_alone_and_resumed_are_the_same_and_near_to_eager(words):
    """With the optimizer's step in the kernel, of shared parts and a body's own; and without, behind clipping."""
    words = (*words, "seed=3,1,0,2,4")
    hold(*words, compiled=True, kernels=True, stops=[1, 2])
    ours, eager = begun(packs_of(*words), compiled=True, kernels=True), begun(packs_of(*words))
    for learner, chunks in (ours, eager):
        learner.advance(chunks[0])
    theirs = numbers(eager[0])
    for name, value in numbers(ours[0]).items():
        torch.testing.assert_close(value, theirs[name], rtol=1e-3, atol=1e-4)


@pytest.mark.walk(4)
@pytest.mark.parametrize(
    ("activation", "body"), [*((name, "sliders") for name in DETERMINISTIC), ("relu", "chosen"), ("crelu", "chosen")]
)
def test_the_ratio_of_the_first_minibatch_is_1_where_nothing_is_drawn(activation, body):
    """What acted, on the host and padded, is what learns: to rounding, whatever the activation."""
    runs = packs_of(*SMALL, f"benchmark.bodies=[{body}]", f"activation={activation}", "seed=0,1")
    learner, (chunk, *_) = begun(runs)
    network, seen = learner.network, learner.actor.rollout(chunk.first)
    common, each = learner.minibatches.tables(seen, learner.on_host, [0, 1], chunk.first)
    pick = each["pick"][0, :, : learner.minibatches.size]
    x, action, old = (common[name][pick] for name in ("x", "action", "old"))
    outputs, _ = network.model.forward(network.parameters, network.settings["activation"], x, None, body)
    assert (torch.exp(log_probability(outputs, action) - old) - 1).abs().max() < 1e-5


@pytest.mark.parametrize("body", ["sliders", "chosen", "cartpole"])
def test_before_the_first_update_the_policy_is_the_one_that_acted(body):
    """The ratio of probabilities is 1, so nothing is clipped, and the policy has not changed."""
    (run,) = packs_of(*SMALL, f"benchmark.bodies=[{body}]", "agent.environments=5")
    learner, (chunk, *_) = begun([run])
    learner.advance(chunk)
    measured = dict(zip(MEASURED, learner.measured.tensor[0, :, 0].numpy(), strict=True))
    assert np.abs(measured["approx_kl"]).max() < 1e-9
    assert not measured["clip_fraction"].any()
    assert not np.allclose(learner.measured.tensor[-1, MEASURED.index("approx_kl")], 0, atol=1e-9)


def test_what_belongs_to_other_bodies_stands_still():
    learner, (chunk, *_) = begun(packs_of(*BOTH, "seed=0,1", "intervention=l2_init", "intervention.strength=0.1"))
    before = numbers(learner)
    learner.advance(chunk)
    moved = {name for name, value in numbers(learner).items() if not torch.equal(value, before[name])}
    idle = {name for name in before if name.rpartition(" ")[2].startswith("chosen.")}
    assert len(idle) == 3 * 6
    assert moved == before.keys() - idle


def test_a_bodys_own_moments_count_from_its_own_first_update():
    learner, (chunk, *_) = begun(packs_of(*BOTH, "seed=0"))
    learner.advance(chunk)
    learner.network.body = "chosen"
    corrections = learner.network.corrections(2)
    assert corrections["count"].tolist() == [9.0, 10.0]
    assert corrections["body.count"].tolist() == [1.0, 2.0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("words", [(), ("agent.normalise_observations=true", "agent.normalise_rewards=true")])
def test_an_unstable_run_leaves_its_mates_alone(words, monkeypatch):
    runs = packs_of(*ONE, "agent.environments=1", "seed=0,1,2", *words)
    undisturbed = trained(runs)
    there_are(monkeypatch, poisoned(1))
    disturbed = trained(runs)
    assert not differing(undisturbed[0], disturbed[0])
    assert not differing(undisturbed[2], disturbed[2])


@pytest.mark.sample(1)
def test_an_unstable_run_keeps_stepping_with_its_last_good_policy(monkeypatch):
    there_are(monkeypatch, poisoned(0))
    runs = packs_of(*ONE, "seed=0,1", "benchmark.environment_steps=160")
    learner, chunks = begun(runs)
    measures = agent_of(runs[0]).measures
    journal = Journal(2, measures)
    for chunk in chunks:
        good = numbers(learner)
        journal.add_chunk(chunk, learner.advance(chunk))
        for name, value in numbers(learner).items():
            assert torch.equal(value[0], good[name][0]) == (chunk.first >= 32), name
            assert not torch.equal(value[1], good[name][1])
    table = journal.table(0)
    assert not journal.diverged.any()
    assert measures.flags(table, {}) == {"unstable": True}
    assert measures.flags(journal.table(1), {}) == {"unstable": False}
    late = table.filter(table["step"].to_numpy() > 100)
    assert "episode" in late["kind"].to_pylist()
    assert late.filter(np.array(late["kind"].to_pylist()) == "epoch")["value_loss"].null_count == 2


def test_a_loss_that_is_not_finite_is_noticed_too():
    learner, (chunk, *_) = begun(packs_of(*ONE, "seed=0,1"))
    learner.network.parameters["sliders.value.weight"][0] = 1e30
    rows = learner.advance(chunk)
    assert rows.updates["unstable"][-1].tolist() == [1.0, 0.0]
    assert float(learner.network.parameters["sliders.value.weight"][0].max()) == np.float32(1e30)
