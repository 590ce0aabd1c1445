"""SAC in packs: packed = alone = resumed, with and without its memory; an unstable run leaves its mates alone."""

from pathlib import Path

import numpy as np
import pytest
import torch

from plasticity_lab.assembly import cost_of, resources
from tests.agents.ppo.packs import there_are
from tests.agents.sac.packs import SMALL, begun, numbers
from tests.helpers.packs import needs_compiler
from tests.tenants.packs import differing, hold, hold_compiled, packs_of, trained

FRESH = (*SMALL, "intervention=fresh_each_task", "network=actor_critic", "network.norm=layer", "agent.actor_lr=null")


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "words",
    [
        SMALL,
        (*SMALL, "agent.environments=3", "agent.batch=7", "intervention=l2_init", "agent.update_period=2"),
        (*SMALL, "activation=rrelu", "intervention=shrink_and_perturb", "agent.policy_period=3"),
        (*SMALL, "intervention=redo", "intervention.every=5", "activation=crelu", "agent.learn_temperature=false"),
        pytest.param(FRESH, marks=pytest.mark.slow),
        (*SMALL, "agent.empty_each_task=true", "agent.reward_scale=0.1", "agent.target_entropy=-1.5"),
        (*SMALL, "agent.gradient_steps=2", "agent.policy_period=3"),
    ],
    ids=["small", "l2_init", "randomised", "redo", "fresh_each_task", "forgetful", "replay ratio"],
)
def test_packed_alone_and_resumed_are_the_same(words):
    hold(*words, "seed=3,1,0", stops=[1, 2, 1])


@pytest.mark.sample(1)
def test_its_floats_differ_from_run_to_run():
    hold(*SMALL, "agent.gamma=0.9,0.99", "agent.tau=0.01,0.1", "agent.temperature=0.5,1")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("activation=rrelu", "intervention=redo", "intervention.every=5")], ids=str)
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_many_widths(more):
    hold_compiled((2, 3, 5, 6, 8, 12), *SMALL, "benchmark.tasks=1", *more, stops=[1])


def test_nothing_is_learned_in_the_warm_up_and_actions_are_drawn_within_the_bounds():
    learner, chunks = begun(packs_of(*SMALL, "agent.min_history=120", "seed=0,1"))
    before = numbers(learner)
    learner.advance(chunks[0])
    assert learner.memory.steps == 50
    assert all(torch.equal(value, before[name]) for name, value in numbers(learner).items())
    actions = learner.memory.ring.arrays["action"][:50]
    assert np.abs(actions).max() <= 1
    assert np.abs(actions.mean()) < 0.2
    assert np.abs(actions.std() - 1 / np.sqrt(3)) < 0.1


@pytest.mark.sample(1)
def test_an_unstable_run_goes_back_and_leaves_its_mates_alone():
    pack = packs_of(*SMALL, "benchmark.tasks=1", "optimizer.lr=1e-3,1e30", "agent.actor_lr=null")
    packed = trained(pack)
    assert not differing(packed[0], trained(pack[:1])[0])
    assert all(np.isfinite(np.frombuffer(value, np.float32)).all() for n, value in packed[1].items() if n != "metrics")


@pytest.mark.sample(1)
def test_its_updates_are_as_many_as_its_price_says():
    for more in (
        (),
        ("agent.environments=4", "agent.update_period=3"),
        ("agent.policy_period=3", "agent.gradient_steps=4"),
    ):
        runs = packs_of(*SMALL, "benchmark.tasks=1", *more, "seed=0")
        learner, chunks = begun(runs)
        for chunk in chunks:
            learner.advance(chunk)
        cost = cost_of(runs[0], resources(Path())(runs[0]))
        critics, actor = learner.learning.networks["critic1"].updates, learner.learning.networks["actor"].updates
        assert critics == cost.updates
        assert critics <= actor < critics + learner.agent.policy_period
        assert cost.parameters == learner.size
