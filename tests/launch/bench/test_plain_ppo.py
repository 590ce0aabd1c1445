"""The plain PPO of the bench, which shares no code with the agent, computes what the agent computes."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from launch.bench import plain_ppo, plain_sac
from launch.bench.agreement import ReturnCurve, interval
from launch.command import resolve
from plasticity_lab.agents.ppo.policy import entropy, log_probability
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU
from tests.helpers.same_beginnings import begun_alike

pytestmark = pytest.mark.sample(1)

ROWS = 256
WORDS = (
    *("experiment=ppo_cleanrl", "benchmark=mujoco", "benchmark.bodies=[hopper]", "seed=0", "device=cpu"),
    *(f"agent.rollout={ROWS}", "agent.minibatches=4"),
)


@pytest.fixture
def acted(monkeypatch):
    """A run that has acted for a short rollout, in which Hopper falls several times."""
    monkeypatch.setattr(plain_ppo, "ROLLOUT", ROWS)
    run = plain_ppo.PlainPPO("Hopper-v5", 0, 10_000)
    run.act()
    assert len(run.episodes) > 3
    return run


def layers_of(run):
    """The agent's name → the script's layer."""
    nets = (("trunk", run.actor, "policy"), ("value_trunk", run.critic, "value"))
    return {
        name: net[at]
        for trunk, net, head in nets
        for at, name in ((0, f"{trunk}1"), (2, f"{trunk}2"), (4, f"hopper.{head}"))
    }


class Told(Normal):
    """A normal distribution whose noise is given, a row for each sample."""

    def __init__(self, mean, deviation, rows):
        super().__init__(mean, deviation)
        self.rows = rows

    def sample(self):
        return self.mean + self.stddev * torch.from_numpy(next(self.rows))


def test_with_the_same_noise_both_train_the_same_run(monkeypatch):
    """Eight rollouts, from first episodes and weights on: all of both, before float32's rounding grows to chaos."""
    monkeypatch.setattr(plain_ppo, "ROLLOUT", ROWS)
    (run,) = resolve([*WORDS, "benchmark.environment_steps=4096"]).runs
    stream, learner = assembled([run], resources(Path())(run), CPU, False)
    learner.begin(task := stream.task(0), fresh=True)
    made = plain_ppo.environment
    monkeypatch.setattr(plain_ppo, "environment", lambda name: begun_alike(made(name), "hopper", seed=0))
    theirs = plain_ppo.PlainPPO("Hopper-v5", 0, learner.total_steps)
    parameters = learner.network.parameters
    with torch.no_grad():
        for name, layer in layers_of(theirs).items():
            layer.weight.copy_(parameters[f"{name}.weight"][0, :, : layer.out_features].T)
            layer.bias.copy_(parameters[f"{name}.bias"][0, 0, : layer.out_features])
    policy = theirs.policy
    for chunk in itertools.islice(task.chunks(Position(0, 0)), 8):
        noise = iter(host_stream(0, "acting", chunk.first).standard_normal((ROWS, 3), np.float32))
        theirs.policy = lambda seen, noise=noise: Told(policy(seen).mean, policy(seen).stddev, noise)
        theirs.shuffles = host_stream(0, "minibatches", chunk.first)
        before = len(theirs.episodes)
        episodes = learner.advance(chunk).episodes
        theirs.burst()
        assert len(episodes.step) > 3
        assert [at for at, *_ in theirs.episodes[before:]] == episodes.step.tolist()
        returns = [earned for _, earned, _ in theirs.episodes[before:]]
        np.testing.assert_allclose(episodes.values["return"], returns, rtol=1e-3)
    for name, layer in layers_of(theirs).items():
        ours = parameters[f"{name}.weight"][0, :, : layer.out_features]
        torch.testing.assert_close(ours, layer.weight.detach().T, rtol=1e-3, atol=1e-5)


def test_a_final_return_is_of_the_last_part_and_an_interval_students():
    run = ReturnCurve.of(np.array([10.0, 84, 86, 100]), np.array([1.0, 2, 3, 5]), 100, {})
    assert run.final == 4
    at = {3: 1, 33: 2, 34: 3, 39: 5}  # of 40 parts of 2.5 steps
    np.testing.assert_array_equal(run.course, [at.get(part, np.nan) for part in range(40)])
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2
    assert half == pytest.approx(4.302652729911275 / 3**0.5)  # t(0.975, 2) of any table
    assert np.isnan(interval([1.0])[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "at_once"), [("plain_ppo", plain_ppo.ROLLOUT), ("plain_sac", plain_sac.STEPS_OF_A_BURST)]
)
def test_it_leaves_the_runs_episodes(script, at_once, tmp_path):
    command = [sys.executable, "-m", f"launch.bench.{script}", "--body", "Hopper-v5", "--steps", "1", "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    run = json.loads((tmp_path / "Hopper-v5_0.json").read_text())
    assert run["steps"] == at_once
    assert sum(length for *_, length in run["episodes"]) <= run["steps"]


def test_its_policy_is_the_agents(acted):
    policy = acted.policy(acted.store["observations"])
    outputs = {"policy": policy.mean, "log_std": acted.log_std.expand_as(policy.mean)}
    ours = log_probability(outputs, acted.store["actions"])
    torch.testing.assert_close(ours, acted.store["log_probs"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(entropy(outputs), policy.entropy().sum(dim=1))
