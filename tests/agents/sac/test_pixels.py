"""SAC on images: packed = alone = resumed, the paper's settings, and SAC written plainly with one network for all."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributions import Normal
from torch.nn.functional import conv2d, layer_norm, linear, pad, relu

from launch.command import resolve
from plasticity_lab.agents.sac.policy import normal_like
from plasticity_lab.agents.sac.shared import NEXT_ACTION, NOW
from plasticity_lab.assembly import assembled, looked_at, resources
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.rows import Position
from tests.agents.sac.packs import begun
from tests.agents.sac.pixels import WORDS
from tests.helpers.packs import CPU, needs_compiler
from tests.tenants.packs import hold, hold_compiled, packs_of

pytestmark = pytest.mark.sample(4)

PER_CONV = ("head=tokenised",)
PER_FEAT = ("head=tokenised", "network.tokens=per_feat")


@pytest.mark.parametrize(
    "more",
    [
        PER_CONV,
        pytest.param(("agent.environments=2", "agent.batch=7", "activation=crelu"), marks=pytest.mark.slow),
        pytest.param(
            (*PER_FEAT, "activation=rrelu", "intervention=redo", "intervention.every=2"), marks=pytest.mark.slow
        ),
        pytest.param(
            ("benchmark.tasks=2", "intervention=fresh_each_task", "benchmark.test_episodes=1"), marks=pytest.mark.slow
        ),
    ],
    ids=["per_conv", "two environments", "per_feat", "tasks"],
)
def test_packed_alone_and_resumed_are_the_same(more):
    hold(*WORDS, *more, "seed=3,1", stops=[2])


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [(), (*PER_CONV, "activation=rrelu", "intervention=redo", "intervention.every=2")], ids=str
)
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_many_widths(more):
    hold_compiled((2, 3, 5, 8), *WORDS, *more, stops=[2])


def test_its_settings_are_dopamines():
    (run,) = resolve(["agent=sac", "benchmark=cale", "schedule=full", "seed=0"]).runs
    agent = {
        "gamma": 0.99, "tau": 0.005, "batch": 32, "capacity": 1_000_000, "min_history": 20_000, "update_period": 4,
        "policy_period": 1, "actor_lr": None, "learn_temperature": True, "target_entropy": -1.5, "reward_scale": 0.1,
    }  # fmt: skip
    assert agent.items() <= run.science["agent"].items()
    assert (run.science["optimizer"]["lr"], run.science["optimizer"]["epsilon"]) == (6.25e-5, 1.5e-4)
    assert run.science["benchmark"]["environment_steps"] == 200 * 250_000
    assert (run.science["benchmark"]["sticky"], run.science["benchmark"]["threshold"]) == (0.25, 0.5)
    network = {"name": "pixel_actor_critic", "channels": 32, "projection": 50, "hidden": 512}
    assert network.items() <= run.science["network"].items()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["agent=dqn"], r"agent=dqn cannot learn benchmark=cale: .*pong is 3 numbers"),
        (
            ["agent=sac", "benchmark=atari"],
            r"agent=sac cannot learn benchmark=atari: .*pong is one of 6.*benchmark=cale",
        ),
        (["benchmark.game=skiing"], r"skiing knows 9"),
        (["benchmark.threshold=1"], r"benchmark.threshold is 1"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_desk(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve([*words, *([] if any("benchmark=" in word for word in words) else ["benchmark=cale"])])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["network=nature"], r"network=pixel_actor_critic alone"),
        (["network=mlp"], r"network=pixel_actor_critic alone"),
        (["head=softmoe"], r"no such head.*head=flatten.*head=tokenised"),
        (["head=average"], r"no such head"),
        (["head=tokenised", "head.pooled=mean"], r"head.pooled=sum"),
        (["network.tokens=per_feat"], r"network.tokens=per_feat.*this head takes none"),
        (["agent.policy_period=2"], r"agent.policy_period must be 1"),
        (["agent.actor_lr=1e-3"], r"agent.actor_lr null"),
        (["agent=ppo"], r"has an actor and critics.*policy, value"),
        (["benchmark=atari", "agent=dqn"], r"has an actor and critics.*outputs required here are q"),
        (["benchmark=mujoco", "agent.policy_period=1", "agent.actor_lr=null"], r"takes images"),
    ],
)
def test_what_cannot_be_put_together_is_refused_before_anything_is_planned(words, named):
    groups = {word.split("=")[0] for word in words}
    others = {"network": "pixel_actor_critic", "benchmark": "cale", "agent": "sac"}
    with pytest.raises(ConfigError, match=named):
        begun(packs_of(*(f"{group}={name}" for group, name in others.items() if group not in groups), *words, "seed=0"))


GAMMA, TAU, RATE, EPSILON, BATCH = 0.9, 0.05, 1e-3, 1.5e-4, 4
HALF, MIDDLE = torch.tensor([0.5, np.pi, 0.5]), torch.tensor([0.5, 0.0, 0.5])


class Plain:
    """One run: one network, its target, one Adam, and log α with another."""

    def __init__(self, learner, run: int) -> None:
        learning = learner.learning
        self.learning, self.run, self.updates = learning, run, 0
        self.own, self.target = (
            {name: value[run].clone() for name, value in parameters.items()}
            for parameters in (learning.networks[""].parameters, learning.targets[""].parameters)
        )
        for value in self.own.values():
            value.requires_grad_()
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.adam = torch.optim.Adam(self.own.values(), lr=RATE, eps=EPSILON)
        self.of_alpha = torch.optim.Adam([self.log_alpha], lr=RATE, eps=EPSILON)

    def features(self, own, x):
        """Pixels to the feature map."""
        h = x.unflatten(1, (4, 84, 84)) / 255
        for number in range(1, 5):
            kernel = own[f"conv{number}.weight"].T.unflatten(1, (h.shape[1], 3, 3))
            h = pad(h, (0, 1, 0, 1) if number == 1 else (1, 1, 1, 1))
            h = relu(conv2d(h, kernel, own[f"conv{number}.bias"][0], stride=2 if number == 1 else 1))
        return h.flatten(1)

    def dense(self, own, name, x, size):
        return linear(x, own[f"{name}.weight"].T, own[f"{name}.bias"][0])[:, :size]

    def projected(self, own, name, h):
        h = self.dense(own, f"{name}.projection", h, 6)
        return torch.tanh(layer_norm(h, (6,), own[f"{name}.projection.scale"][0], own[f"{name}.projection.shift"][0]))

    def critics(self, own, h, action):
        z = torch.cat([self.projected(own, "critic", h), action], 1)
        names = ("critic1", "critic2")
        return [self.dense(own, f"{n}.q", relu(self.dense(own, f"{n}.hidden1", z, 8)), 1)[:, 0] for n in names]

    def policy(self, own, h):
        h = relu(self.dense(own, "actor.hidden1", self.projected(own, "actor", h), 8))
        return Normal(self.dense(own, "actor.mean", h, 3), self.dense(own, "actor.log_std", h, 3).exp())

    def acts(self, policy, purpose):
        like = torch.zeros(2, BATCH, 3)
        drawn = normal_like(self.learning.keys[purpose], torch.tensor(self.updates), like)[self.run]
        before = policy.mean + policy.stddev * drawn
        slope = HALF * (1 - torch.tanh(before) ** 2) + 1e-6
        return HALF * torch.tanh(before) + MIDDLE, (policy.log_prob(before) - slope.log()).sum(1)

    def update(self, batch):
        x, following = (batch[name][self.run].float() for name in ("x", "following"))
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            h = self.features(self.target, following)
            policy = self.policy(self.target, h)
            _, density = self.acts(policy, NEXT_ACTION)
            least = torch.min(*self.critics(self.target, h, HALF * torch.tanh(policy.mean) + MIDDLE))
            target = batch["returns"][self.run] + batch["discount"][self.run] * (least - alpha * density)
        h = self.features(self.own, x)
        action, density = self.acts(self.policy(self.own, h.detach()), NOW)
        held = {name: value.detach() for name, value in self.own.items()}
        actor = (alpha * density - torch.min(*self.critics(held, h.detach(), action))).mean()
        critics = sum(((q - target) ** 2).mean() for q in self.critics(self.own, h, batch["action"][self.run]))
        self.losses = critics.item(), actor.item()
        self.adam.zero_grad()
        (0.5 * critics + actor).backward()
        self.adam.step()
        self.of_alpha.zero_grad()
        (-self.log_alpha * (density.mean().detach() - 1.5)).sum().backward()
        self.of_alpha.step()
        with torch.no_grad():
            for name, value in self.target.items():
                value.copy_(TAU * self.own[name] + (1 - TAU) * value)
        self.updates += 1


def test_it_learns_what_sac_written_plainly_learns():
    words = (*WORDS, f"agent.gamma={GAMMA}", f"agent.tau={TAU}", f"optimizer.lr={RATE}", "agent.update_period=2")
    learner, chunks = begun(packs_of(*words, "seed=0,1"))
    plain, batches, learning = [Plain(learner, run) for run in range(2)], [], learner.learning
    step = learning.step

    def watched(*arguments):
        batches.append({name: value.clone() for name, value in arguments[6].items()})
        return step(*arguments)

    learning.step = watched
    rows = [learner.advance(chunk).updates for chunk in chunks]
    assert len(batches) == 15
    for run, mine in enumerate(plain):
        losses = []
        for batch in batches:
            mine.update(batch)
            losses.append(mine.losses)
        measured = np.stack(
            [np.concatenate([row[name][:, run] for row in rows]) for name in ("critic_loss", "actor_loss")]
        )
        np.testing.assert_allclose(measured.T, losses, rtol=1e-4, atol=1e-5)
        alpha = learning.temperature.parameters["log_alpha"][run].item()
        assert alpha == pytest.approx(mine.log_alpha.item(), abs=1e-5)
        assert alpha != 0
        for ours, theirs in ((learning.networks[""], mine.own), (learning.targets[""], mine.target)):
            for name, value in theirs.items():
                torch.testing.assert_close(ours.parameters[name][run], value.detach(), atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), PER_FEAT], ids=str)
def test_every_diagnostic_looks_at_it_and_changes_nothing(more):
    weights = []
    for words in ((), ("diagnostics=all",)):
        runs = packs_of(*WORDS, *more, *words, "seed=0,1")
        stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, compiled=False)
        learner, columns = looked_at(runs, resources(Path())(runs[0]), learner)
        task, seen = stream.task(0), {}
        learner.begin(task, fresh=True)
        for chunk in task.chunks(Position(0, 0)):
            seen |= learner.advance(chunk).values
        assert len(seen) == len([column for column in columns if "epoch" in column.taken])
        weights.append(learner.weights())
    finite = [name for name, values in seen.items() if np.isfinite(values).all()]
    assert {f"dead_units.dead_units_{unit}" for unit in ("conv4", "critic1.hidden1", "actor.hidden1")} <= set(finite)
    assert all(torch.equal(weights[0][name], value) for name, value in weights[1].items())
