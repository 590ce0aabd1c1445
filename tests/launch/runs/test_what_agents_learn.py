"""An agent and a benchmark that do not fit together are refused with those that do."""

import pytest

from launch.command import resolve
from plasticity_lab.errors import ConfigError
from tests.helpers.acting import planted


@pytest.mark.parametrize(
    ("planted_too", "words", "keys"),
    [
        ("agent/balancing", ["agent=balancing", "benchmark=permuted_mnist"], "agent=balancing, agent=auto, supervised"),
        ("agent/balancing", ["agent=supervised", "benchmark=one_body"], "agent=balancing or der or dqn or ppo, sac"),
        ("agent/acting", ["agent=supervised", "benchmark=one_body"], "agent=der or dqn, one_body"),
        (None, ["agent=experience_replay", "benchmark=permuted_digits"], "agent=experience_replay, supervised"),
        (
            None,
            ["agent=experience_replay", "benchmark=split_digits_joint"],
            "split_digits_joint, agent=auto, no_replay",
        ),
        (None, ["agent=no_replay", "benchmark=classic_cycle"], "agent=no_replay, agent=auto"),
        ("agent/balancing", ["benchmark=one_body"], "agent=auto, benchmark=one_body, default_agent"),
    ],
)
def test_an_agent_that_does_not_learn_such_tasks(tmp_path, planted_too, words, keys):
    where = planted(tmp_path, "benchmark/one_body", *([planted_too] if planted_too else []))
    with pytest.raises(ConfigError) as caught:
        resolve([where, *words])
    assert [key for key in keys.split(", ") if key not in str(caught.value)] == [], caught.value


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["benchmark=mujoco"], ("halfcheetah", "6 numbers")),
        (["benchmark=classic_cycle", "benchmark.bodies=[cartpole,ant]"], ("ant", "8 numbers")),
        (["benchmark=slippery_ant"], ("ant", "8 numbers")),
    ],
)
def test_an_agent_that_chooses_among_actions_refuses_a_body_that_is_moved_by_numbers(tmp_path, words, keys):
    where = planted(tmp_path, "agent/choosing")
    with pytest.raises(ConfigError) as caught:
        resolve([where, "agent=choosing", "network=mlp", *words])
    named = ("agent=choosing cannot learn benchmark=", *keys, "cartpole", "catch")
    assert all(key in str(caught.value) for key in named)
