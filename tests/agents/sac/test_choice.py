"""agent=sac among the choices: its settings, and what does not fit together."""

import numpy as np
import pytest

from launch.command import resolve
from plasticity_lab.benchmarks.bodies.stream import Stage
from plasticity_lab.errors import ConfigError
from tests.agents.ppo.packs import there_are
from tests.agents.sac.packs import SMALL, begun
from tests.tenants.packs import packs_of

CLEANRL = {
    "environments": 1,
    "gamma": 0.99,
    "tau": 0.005,
    "batch": 256,
    "capacity": 1_000_000,
    "min_history": 5_000,
    "update_period": 1,
    "policy_period": 2,
    "actor_lr": 3e-4,
    "temperature": 1.0,
    "learn_temperature": True,
    "target_entropy": None,
}


def test_its_settings_are_cleanrls():
    """sac_continuous_action.py, its Args and its networks."""
    (run,) = resolve(["agent=sac", "benchmark=mujoco", "schedule=full", "seed=0"]).runs
    assert CLEANRL.items() <= run.science["agent"].items()
    assert run.science["optimizer"]["lr"] == 1e-3
    network = run.science["network"]
    assert (network["name"], network["width"], network["depth"]) == ("actor_critic", 256, 2)
    assert (network["adapter"], network["init"]) == (False, "default")


def test_its_networks_have_as_many_parameters_as_cleanrls():
    learner, _ = begun(packs_of("agent=sac", "benchmark=mujoco", "seed=0"))
    observation, action = 17, 6
    actor = (observation + 1) * 256 + 257 * 256 + 2 * 257 * action
    critic = (observation + action + 1) * 256 + 257 * 256 + 257
    assert learner.size == actor + 2 * critic
    assert learner.learning.entropy.tolist() == [-6.0]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["benchmark=permuted_digits"], "agent=sac learns bodies.*benchmark=permuted_digits"),
        (["benchmark=catch"], "agent=sac cannot learn benchmark=catch: .*catch is one of 3.*hopper"),
        (["benchmark=mujoco_cycle"], "network.adapter=true"),
        (["benchmark=mujoco_cycle", "network=mlp"], "network=mlp.*halfcheetah"),
        (["intervention=ewc"], "intervention=ewc.*agent=sac"),
        (["agent.tau=0"], "agent.tau is 0"),
        (["agent.min_history=100", "agent.capacity=100"], "agent.min_history is 100.* below agent.capacity"),
        (["agent.environments=8", "agent.min_history=7"], "agent.min_history is 7.*agent.environments, 8"),
        (["agent.policy_period=0"], "agent.policy_period is 0"),
        (["agent.actor_lr=0"], "agent.actor_lr is 0"),
        (["agent.temperature=-1"], "agent.temperature is -1"),
        (["agent.reward_scale=0"], "agent.reward_scale is 0"),
        (["agent.epsilon_final=0.1"], "agent=sac has no setting 'epsilon_final'"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_desk(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve(["agent=sac", *([] if any("benchmark=" in word for word in words) else ["benchmark=mujoco"]), *words])


def test_a_test_is_played_by_the_middle_of_the_policy(monkeypatch):
    there_are(monkeypatch)
    learner, chunks = begun(packs_of(*SMALL, "seed=0,1"))
    learner.advance(chunks[0])
    shown = np.zeros((2, 3, 6), np.float32)
    actions = learner.test_policy(Stage(0, {}, "sliders", 150, 50, 50), 3)(shown)
    mean = learner.learning.networks["actor"].answers(shown, "sliders")["mean"]
    np.testing.assert_allclose(actions, np.tanh(mean), rtol=1e-5)
