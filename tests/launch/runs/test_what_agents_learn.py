"""An agent and a benchmark that do not fit together are refused with those that do."""

import pytest

from launch.command import resolve
from plasticity_lab.errors import ConfigError
from tests.helpers.acting import planted


@pytest.mark.parametrize(
    ("planted_too", "words", "sentence"),
    [
        (
            [],
            ["agent=balancing", "benchmark=permuted_mnist"],
            "agent=balancing learns bodies in environments, and the tasks of benchmark=permuted_mnist are labelled "
            "images; agent=auto takes the benchmark's own (supervised).",
        ),
        (
            ["agent/balancing"],
            ["agent=supervised", "benchmark=one_body"],
            "agent=balancing or der or dqn or ppo or ppo_cleanrl or rainbow or rainbow_lite or sac learns them.",
        ),
        (
            ["agent/acting"],
            ["agent=supervised", "benchmark=permuted_digits,one_body"],
            "agent=der or dqn or ppo or ppo_cleanrl or rainbow or rainbow_lite or sac learns",
        ),
        (
            [],
            ["agent=experience_replay", "benchmark=permuted_digits"],
            "agent=experience_replay learns groups of classes that come one after another, and the tasks of "
            "benchmark=permuted_digits are labelled images; agent=auto takes the benchmark's own (supervised).",
        ),
        (
            [],
            ["agent=experience_replay", "benchmark=split_digits,split_digits_joint"],
            "the tasks of benchmark=split_digits_joint are groups of classes that come all at once; agent=auto takes "
            "the benchmark's own (no_replay).",
        ),
        ([], ["agent=no_replay", "benchmark=classic_cycle"], "are bodies in environments; agent=auto takes"),
        (["agent/balancing"], ["benchmark=one_body"], "agent=auto: benchmark=one_body has no default_agent; "),
    ],
)
def test_an_agent_that_does_not_learn_such_tasks(tmp_path, planted_too, words, sentence):
    where = planted(tmp_path, "benchmark/one_body", *(planted_too or ["agent/balancing"]))
    with pytest.raises(ConfigError) as caught:
        resolve([where, *words])
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["benchmark=mujoco"], ("halfcheetah", "6 numbers")),
        (["benchmark=classic_cycle", "benchmark.bodies=[cartpole,ant]"], ("ant", "8 numbers")),
        (["benchmark=catch,slippery_ant"], ("ant", "8 numbers")),
    ],
)
def test_an_agent_that_chooses_among_actions_refuses_a_body_that_is_moved_by_numbers(tmp_path, words, keys):
    where = planted(tmp_path, "agent/choosing")
    with pytest.raises(ConfigError) as caught:
        resolve([where, "agent=choosing", "network=mlp", *words])
    named = ("agent=choosing", "benchmark=", *keys, "cartpole", "catch")
    assert all(key in str(caught.value) for key in named)
