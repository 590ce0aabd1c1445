"""agent=ppo among the choices: its presets, its protocols, and what does not fit together."""

from pathlib import Path

import pytest

from launch.command import resolve
from plasticity_lab.assembly import cost_of, resources
from plasticity_lab.errors import ConfigError
from tests.agents.ppo.packs import BOTH, there_are
from tests.tenants.packs import packs_of


def agent_of(*words):
    (run,) = resolve(["benchmark=classic_cycle", "seed=0", *words]).runs
    return run.science["agent"]


def test_a_benchmark_of_bodies_is_learned_by_it():
    (run,) = resolve(["benchmark=classic_cycle"]).runs
    assert (run.science["agent"]["name"], run.science["network"]["name"]) == ("ppo", "actor_critic")


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["clip_action", "normalise_observations", "normalise_rewards"])
def test_the_protocols_differ_in_what_a_body_is_given_and_shows(name):
    assert agent_of()[name] is False
    assert agent_of("protocol=clean")[name] is True
    assert agent_of("agent=ppo_cleanrl")[name] is True
    assert agent_of("protocol=clean", f"agent.{name}=false")[name] is False


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        (["benchmark=classic_cycle"], 1e-4),
        (["benchmark=classic_cycle", "optimizer=adamw"], 1e-4),
        (["benchmark=classic_cycle", "optimizer=sgd"], 0.01),
        (["benchmark=classic_cycle", "agent=ppo_cleanrl"], 3e-4),
        (["benchmark=classic_cycle", "optimizer.lr=0.5"], 0.5),
        (["benchmark=permuted_digits"], 1e-3),
    ],
)
def test_a_learning_rate_that_nobody_named_is_the_agents_for_adam(words, rate):
    (run,) = resolve(words).runs
    assert run.science["optimizer"]["lr"] == rate


def test_cleanrls_preset_names_its_network_and_optimizer_too():
    run, *others = resolve(["experiment=ppo_cleanrl"]).runs
    assert len(others) == 4
    science = run.science
    assert (science["activation"]["name"], science["network"]["width"], science["network"]["init"]) == (
        "tanh", 64, "orthogonal",
    )  # fmt: skip
    assert (science["optimizer"]["lr"], science["optimizer"]["epsilon"]) == (3e-4, 1e-5)
    assert (science["agent"]["max_norm"], science["agent"]["anneal_lr"]) == (0.5, True)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["agent=ppo", "benchmark=permuted_mnist"], "agent=ppo learns bodies.*benchmark=permuted_mnist"),
        (["agent=supervised", "benchmark=classic_cycle"], r"bodies in environments.*\(ppo\)"),
        (["benchmark=classic_cycle", "agent.clip=0"], "agent.clip is 0"),
        (["benchmark=classic_cycle", "agent.minibatches=3"], "agent.minibatches is 3.* divide the 2,048 steps"),
        (
            ["benchmark=classic_cycle", "agent.advantages=minibatch", "agent.minibatches=2048"],
            r"normalises advantages over 1 step.*give fewer agent\.minibatches",
        ),
        (["benchmark=classic_cycle", "agent.rollout=1", "agent.minibatches=1"], "batch normalises .* 1 step"),
        (["benchmark=classic_cycle", "agent.rollout_mode=test"], "agent.rollout_mode is 'test'.*train, eval"),
        (["benchmark=classic_cycle", "agent.advantages=all"], "agent.advantages is 'all'.*batch, minibatch, none"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_desk(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve(words)


def test_a_network_with_one_input_is_refused_for_bodies_that_differ(monkeypatch):
    there_are(monkeypatch)
    with pytest.raises(ConfigError, match=r"network=mlp.*sliders, chosen"):
        packs_of(*BOTH, "network=mlp", "network.width=16", "seed=0")


def test_its_cost_counts_updates_passes_and_steps(monkeypatch):
    there_are(monkeypatch)
    (run,) = packs_of(*BOTH, "seed=0")
    cost = cost_of(run, resources(Path())(run))
    assert (cost.length, cost.unit, cost.updates) == (3 * 96, "environment steps", 3 * 3 * 8)
    tests = {"sliders": 2 * 25, "chosen": 15}  # of one episode each, for as long as there can be one
    assert cost.host_steps == {"sliders": 2 * 96 + tests["sliders"], "chosen": 96 + tests["chosen"]}
    assert (cost.forwards, cost.graphs) == (3 * 3 * 33 + sum(tests.values()), 4)
