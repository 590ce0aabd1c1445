"""The plain PPO of the bench, which shares no code with the agent, computes what the agent computes."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from launch.bench import plain_ppo
from launch.bench.agreement import Learned, interval
from plasticity_lab.agents.ppo.advantages import advantages
from plasticity_lab.agents.ppo.policy import entropy, log_probability
from plasticity_lab.errors import ConfigError


@pytest.fixture
def acted(monkeypatch):
    """A run that has acted for a short rollout, in which Hopper falls several times."""
    monkeypatch.setattr(plain_ppo, "ROLLOUT", 256)
    run = plain_ppo.PlainPPO("Hopper-v5", 0, 10_000)
    run.act()
    assert len(run.episodes) > 3
    return run


def test_its_advantages_are_the_agents(acted):
    store = {name: value.numpy().astype(np.float64) for name, value in acted.store.items()}
    last = acted.critic(acted.observation)[0].item()
    following = np.append(store["values"][1:], last)
    ended = np.append(store["dones"][1:], acted.done) > 0
    found = advantages(
        *(part.reshape(1, -1, 1) for part in (store["rewards"], store["values"], following, ended, ended)),
        np.array([plain_ppo.GAMMA]),
        np.array([plain_ppo.GAE_LAMBDA]),
    )
    np.testing.assert_allclose(found.ravel(), acted.advantages().numpy(), rtol=1e-4, atol=1e-4)


def test_its_policy_is_the_agents(acted):
    policy = acted.policy(acted.store["observations"])
    outputs = {"policy": policy.mean, "log_std": acted.log_std.expand_as(policy.mean)}
    ours = log_probability(outputs, acted.store["actions"])
    torch.testing.assert_close(ours, acted.store["log_probs"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(entropy(outputs), policy.entropy().sum(dim=1))


def test_the_command_leaves_the_runs_episodes(tmp_path):
    command = [sys.executable, "-m", "launch.bench.plain_ppo", "--body", "Hopper-v5", "--steps", "1", "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    run = json.loads((tmp_path / "Hopper-v5_0.json").read_text())
    assert run["steps"] == plain_ppo.ROLLOUT
    assert sum(length for *_, length in run["episodes"]) <= run["steps"]


def test_a_final_return_is_of_the_last_part_and_an_interval_students():
    run = Learned(np.array([10.0, 84, 86, 100]), np.array([1.0, 2, 3, 5]), 100)
    assert run.final == 4
    np.testing.assert_array_equal(run.course(4), [1, np.nan, np.nan, 10 / 3])
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2
    assert half == pytest.approx(4.302652729911275 / 3**0.5)  # t(0.975, 2) of any table
    with pytest.raises(ConfigError, match="two runs"):
        interval([1.0])
