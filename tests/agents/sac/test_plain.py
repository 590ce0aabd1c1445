"""The learner against SAC written plainly: torch's own Adam and distributions, one run at a time, the same draws."""

import pytest
import torch
from torch.distributions import Normal
from torch.nn.functional import linear, relu

from plasticity_lab.agents.sac.policy import normal_like
from plasticity_lab.agents.sac.step import AFTERWARDS, NEXT_ACTION, NOW
from tests.agents.ppo.packs import there_are
from tests.agents.sac.packs import SMALL, begun
from tests.tenants.packs import packs_of

GAMMA, TAU, BATCH, RATE, ACTOR_RATE = 0.9, 0.05, 8, 1e-3, 3e-4


class Plain:
    """One run: its networks, its targets, and log α."""

    def __init__(self, learner, run: int) -> None:
        def copied(values):
            return {name: value[run].clone() for name, value in values.items()}

        self.learner, self.run = learner, run
        self.actor = copied(learner.learning.networks["actor"].parameters)
        self.critics = [copied(learner.learning.networks[name].parameters) for name in ("critic1", "critic2")]
        self.targets = [copied(learner.learning.targets[name].parameters) for name in ("critic1", "critic2")]
        self.log_alpha = torch.zeros(1, requires_grad=True)
        for network in (self.actor, *self.critics):
            for value in network.values():
                value.requires_grad_()
        both = [value for critic in self.critics for value in critic.values()]
        self.of_critics = torch.optim.Adam(both, lr=RATE)
        self.of_actor = torch.optim.Adam(self.actor.values(), lr=ACTOR_RATE)
        self.of_alpha = torch.optim.Adam([self.log_alpha], lr=RATE)
        self.updates = self.actor_updates = 0

    def layers(self, parameters, prefix, x, *outputs):
        def layer(name, x):
            return linear(x, parameters[f"{prefix}.{name}.weight"].T, parameters[f"{prefix}.{name}.bias"][0])

        h = relu(layer("hidden2", relu(layer("hidden1", x))))
        return [layer(name, h)[:, :size] for name, size in outputs]

    def q(self, number, parameters, x, action):
        return self.layers(parameters, f"critic{number + 1}", torch.cat([x, action], 1), ("q", 1))[0][:, 0]

    def acts(self, x, purpose, count):
        mean, raw = self.layers(self.actor, "actor", x, ("mean", 2), ("log_std", 2))
        deviation = torch.exp(-5 + 3.5 * (torch.tanh(raw) + 1))
        like = torch.zeros(2, BATCH, 2)
        drawn = normal_like(self.learner.learning.keys[purpose], torch.tensor(count), like)[self.run]
        before = mean + deviation * drawn
        squashed = torch.tanh(before)
        density = Normal(mean, deviation).log_prob(before) - torch.log(1 - squashed**2 + 1e-6)
        return squashed, density.sum(1)

    def update(self, batch):
        x, action, following = (batch[name][self.run] for name in ("x", "action", "following"))
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            then, density = self.acts(following, NEXT_ACTION, self.updates)
            least = torch.min(*(self.q(n, self.targets[n], following, then) for n in (0, 1)))
            target = batch["returns"][self.run] + batch["discount"][self.run] * (least - alpha * density)
        loss = sum(((self.q(n, self.critics[n], x, action) - target) ** 2).mean() for n in (0, 1))
        self.of_critics.zero_grad()
        loss.backward()
        self.of_critics.step()
        with torch.no_grad():
            for critic, mine in zip(self.critics, self.targets, strict=True):
                for name, value in mine.items():
                    value.copy_(TAU * critic[name] + (1 - TAU) * value)
        if self.updates % 2 == 0:
            for _ in range(2):
                self.update_actor(x)
        self.updates += 1

    def update_actor(self, x):
        alpha = self.log_alpha.exp().detach()
        action, density = self.acts(x, NOW, self.actor_updates)
        loss = (alpha * density - torch.min(*(self.q(n, self.critics[n], x, action) for n in (0, 1)))).mean()
        self.of_actor.zero_grad()
        loss.backward()
        self.of_actor.step()
        with torch.no_grad():
            _, density = self.acts(x, AFTERWARDS, self.actor_updates)
        loss = (-self.log_alpha.exp() * (density - 2)).mean()
        self.of_alpha.zero_grad()
        loss.backward()
        self.of_alpha.step()
        self.actor_updates += 1


def test_it_learns_what_sac_written_plainly_learns(monkeypatch):
    there_are(monkeypatch)
    words = (*SMALL, "benchmark.environment_steps=100", f"agent.gamma={GAMMA}", f"agent.tau={TAU}")
    learner, chunks = begun(packs_of(*words, "seed=0,1"))
    plain, batches = [Plain(learner, run) for run in range(2)], []
    step = learner.learning.critics_step

    def watched(*arguments):
        batches.append(arguments[6])
        return step(*arguments)

    learner.learning.critics_step = watched
    for chunk in chunks:
        learner.advance(chunk)
    assert len(batches) == 40
    assert any((batch["discount"] == 0).any() for batch in batches), "an end of an episode is among them"
    for run, mine in enumerate(plain):
        for batch in batches:
            mine.update(batch)
        alpha = learner.learning.temperature.parameters["log_alpha"][run]
        assert alpha.item() == pytest.approx(mine.log_alpha.item(), abs=1e-5)
        assert alpha.item() != 0
        named = [("actor", mine.actor), *(("critic1", mine.critics[0]), ("critic2", mine.critics[1]))]
        for network, own in named:
            for name, value in own.items():
                there = learner.learning.networks[network].parameters[name][run]
                torch.testing.assert_close(there, value.detach(), atol=3e-5, rtol=1e-3)
        for network, own in zip(("critic1", "critic2"), mine.targets, strict=True):
            for name, value in own.items():
                torch.testing.assert_close(
                    learner.learning.targets[network].parameters[name][run], value, atol=3e-5, rtol=1e-3
                )
