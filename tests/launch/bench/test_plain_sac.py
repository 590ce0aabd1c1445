"""The plain SAC of the bench, which shares no code with the agent, computes what the agent computes."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from launch.bench import plain_sac
from launch.bench.agreement import ReturnCurve, differences
from launch.command import resolve
from plasticity_lab.agents.sac.policy import normal_like
from plasticity_lab.agents.sac.step import AFTERWARDS, NEXT_ACTION, NOW
from tests.agents.sac.packs import begun

WORDS = (
    *("agent=sac", "benchmark=mujoco", "benchmark.bodies=[halfcheetah]", "benchmark.environment_steps=100"),
    *("network=mlp", "network.width=256", "optimizer=adam", "optimizer.lr=1e-3", "agent.min_history=80", "seed=0"),
    *("agent.batch=16", "agent.epoch_steps=50", "benchmark.test_episodes=1", "device=cpu"),
)


class Told(Normal):
    """A normal distribution whose noise is given."""

    noise: list[torch.Tensor] = []

    def rsample(self, sample_shape=()):
        return self.loc + self.scale * Told.noise.pop(0)


def layers_of(run):
    """The agent's network → its layer's name → the script's layer."""
    critics = [dict(zip(("hidden1", "hidden2", "q"), (net[0], net[2], net[4]), strict=True)) for net in run.critics]
    trunk = {"hidden1": run.actor.trunk[0], "hidden2": run.actor.trunk[2]}
    return {"actor": {**trunk, "mean": run.actor.mean, "log_std": run.actor.log_std}} | {
        f"critic{number}": layers for number, layers in enumerate(critics, 1)
    }


def test_from_the_same_weights_batches_and_noise_both_learn_the_same(monkeypatch):
    """Twenty updates of the critics and as many of the actor, to float32's rounding."""
    learner, chunks = begun(resolve(WORDS).runs)
    theirs = plain_sac.PlainSAC("HalfCheetah-v5", 0, 100)
    with torch.no_grad():
        for network, layers in layers_of(theirs).items():
            parameters = learner.learning.networks[network].parameters
            for name, layer in layers.items():
                layer.weight.copy_(parameters[f"{network}.{name}.weight"][0, :, : layer.out_features].T)
                layer.bias.copy_(parameters[f"{network}.{name}.bias"][0, 0, : layer.out_features])
    theirs.targets.load_state_dict(theirs.critics.state_dict())
    batches, step = [], learner.learning.critics_step

    def watched(*arguments):
        batches.append({name: value.clone() for name, value in arguments[6].items()})
        return step(*arguments)

    learner.learning.critics_step = watched
    for chunk in chunks:
        learner.advance(chunk)
    assert len(batches) == 20
    keys, like = learner.learning.keys, torch.zeros(1, 16, 6)
    monkeypatch.setattr(plain_sac, "Normal", Told)
    for at, batch in enumerate(batches):
        Told.noise = [normal_like(keys[NEXT_ACTION], torch.tensor(at), like)[0]]
        for update in range(at, at + 2) if at % 2 == 0 else ():
            Told.noise += [normal_like(keys[purpose], torch.tensor(update), like)[0] for purpose in (NOW, AFTERWARDS)]
        seen, action, following = (batch[name][0] for name in ("x", "action", "following"))
        ended = 1 - batch["discount"][0, :, None] / plain_sac.GAMMA
        theirs.memory.batch = lambda drawn=(seen, action, batch["returns"][0, :, None], following, ended): list(drawn)
        theirs.step = at
        theirs.learn()
        assert not Told.noise
    for network, layers in layers_of(theirs).items():
        parameters = learner.learning.networks[network].parameters
        for name, layer in layers.items():
            ours = parameters[f"{network}.{name}.weight"][0, :, : layer.out_features]
            torch.testing.assert_close(ours, layer.weight.detach().T, rtol=1e-3, atol=3e-5)
    alpha = learner.learning.temperature.parameters["log_alpha"][0]
    assert alpha.item() == pytest.approx(theirs.log_alpha.item(), abs=1e-5)
    assert alpha.item() != 0


def test_a_difference_is_a_share_with_welchs_interval():
    def runs(*finals):
        return [ReturnCurve(100, final, np.zeros(40), {}) for final in finals]

    (said,) = differences({"Hopper-v5": runs(11.0, 12.0, 13.0)}, {"Hopper-v5": runs(9.0, 10.0, 11.0)})
    # SE √(1/3 + 1/3), 4 degrees of freedom, t(0.95) = 2.131847: 2 ± 1.7407 of 10
    assert said == "Hopper-v5: packed is +20.0 % [+2.6, +37.4] of the plain script."
    assert differences({"Hopper-v5": runs(1.0)}, {"Hopper-v5": runs(2.0)}) == []
