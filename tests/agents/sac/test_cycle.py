"""SAC over bodies of several kinds in turn: own inputs, outputs, temperatures; a memory of one body at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch

from launch.command import resolve
from plasticity_lab.agents.acting.memory import Memory, largest
from plasticity_lab.assembly import assembled, cost_of, resources
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.rows import Position
from tests.agents.ppo.packs import there_are
from tests.agents.sac.packs import SMALL, numbers
from tests.helpers.made_up_bodies import PICTURED, PUSHED, SLIDERS
from tests.helpers.packs import CPU, needs_compiler
from tests.tenants.packs import hold, hold_compiled, packs_of

CYCLE = (
    *(word for word in SMALL if not word.startswith("network")),
    "benchmark.bodies=[sliders,pushed]",
    "benchmark.tasks=3",
    "benchmark.environment_steps=100",
    "agent.min_history=40",
    "agent.capacity=80",
    "network=actor_critic",
    "network.adapter=true",
    "network.width=8",
)


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch, PUSHED, PICTURED)


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "words",
    [
        CYCLE,
        (*CYCLE, "intervention=l2_init", "activation=rrelu", "agent.environments=3", "agent.gradient_steps=2"),
        (*CYCLE, "intervention=redo", "intervention.every=5", "agent.target_entropy=-1.5"),
        (*CYCLE, "intervention=fresh_each_task", "optimizer.reset=task"),
    ],
    ids=["plain", "randomised", "redo", "fresh_each_task"],
)
def test_packed_alone_and_resumed_are_the_same(words):
    hold(*words, "seed=3,1,0", stops=[1, 2, 1])


@needs_compiler
@pytest.mark.slow
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_many_widths():
    hold_compiled((2, 3), *CYCLE, stops=[2])


def assembled_cycle(*words):
    """The stream and the learner of two runs."""
    runs = packs_of(*CYCLE, *words, "seed=0,1")
    return assembled(runs, resources(Path())(runs[0]), CPU, False)


def train_task(stream, learner, position):
    """Trains one task from its beginning to its end."""
    task = stream.task(position)
    learner.begin(task, fresh=True)
    for chunk in task.chunks(Position(position, 0)):
        learner.advance(chunk)
    learner.end(task)


@pytest.mark.parametrize("intervention", ["none", "l2_init", "shrink_and_perturb", "fresh_each_task"])
def test_only_the_parts_of_the_active_body_learn(intervention):
    """Values, moments and targets of the other body stay; shared ones and the active body's move."""
    stream, learner = assembled_cycle(f"intervention={intervention}")

    def values():
        moments = [each.moments for each in learner.learning.networks.values()]
        found = {f"{kind} {name}": value for each in moments for kind, of in each.items() for name, value in of.items()}
        return {name: value.clone() for name, value in (numbers(learner) | found).items()}

    train_task(stream, learner, 0)
    before = values()
    train_task(stream, learner, 1)
    after = values()
    moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert not [name for name in moved if "sliders" in name]
    for part in ("actor.pushed.mean.weight", "critic1.pushed.adapter.weight", "critic2.trunk1.weight"):
        assert part in moved
    assert {"pushed.log_alpha", "target critic1.pushed.q.weight"} <= moved


def test_each_task_begins_with_an_empty_memory_and_learns_from_its_own_body():
    stream, learner = assembled_cycle()
    train_task(stream, learner, 0)
    task = stream.task(1)
    learner.begin(task, fresh=True)
    chunks = list(task.chunks(Position(1, 0)))
    assert learner.memory.steps == 0
    critic = learner.learning.networks["critic1"]
    before = critic.updates
    learner.advance(chunks[0])
    assert learner.memory.steps == 50
    assert critic.updates == before + 50 - 40
    batch = learner.memory.batch(learner.memory.drawn(7), CPU)
    assert batch["x"].shape[2] == batch["following"].shape[2] == 3
    assert batch["action"].shape[2] == 1
    low, high = PUSHED.bounds
    assert low[0] <= float(batch["action"].min()) < -1, "beyond the bounds of the other body"
    assert float(batch["action"].max()) <= high[0]
    assert learner.learning.entropy.tolist() == [-1.0, -1.0]


def test_a_memory_of_several_bodies_holds_the_same_as_one_of_its_own():
    _, learner = assembled_cycle()
    gamma, drawn = np.array([0.9, 0.99]), np.random.default_rng(0)
    wide = Memory(learner.agent, [SLIDERS, PUSHED], [5, 6], 100, gamma)
    wide.body = PUSHED
    narrow = Memory(learner.agent, [PUSHED], [5, 6], 100, gamma)
    for _ in range(130):
        flags = {name: drawn.random((2, 1)) < 0.1 for name in ("terminated", "truncated", "life_lost", "first")}
        step = {"frame": drawn.random((2, 1, 3), np.float32), "action": drawn.random((2, 1, 1), np.float32)}
        for memory in (wide, narrow):
            memory.add(**step, reward=step["frame"][..., 0], **flags)
    ours, theirs = (memory.batch(memory.drawn(3), CPU) for memory in (wide, narrow))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    assert torch.equal(wide.second(3, CPU), narrow.second(3, CPU))


def test_the_largest_body_has_room_for_all():
    cycle = [BODIES[name] for name in ("hopper", "halfcheetah", "humanoid")]
    assert largest(cycle).frame == BODIES["humanoid"].frame
    assert largest(cycle).action == BODIES["humanoid"].action
    assert largest([SLIDERS, SLIDERS]) is SLIDERS


def test_its_updates_are_as_many_as_its_price_says():
    stream, learner = assembled_cycle()
    for position in range(3):
        train_task(stream, learner, position)
    run = packs_of(*CYCLE, "seed=0")[0]
    cost = cost_of(run, resources(Path())(run))
    assert learner.learning.networks["critic1"].updates == cost.updates == 3 * (100 - 40)
    assert cost.parameters == learner.size


def test_images_and_numbers_in_one_cycle_are_refused():
    with pytest.raises(ConfigError, match="bodies sliders, pictured differ"):
        resolve(["agent=sac", "benchmark=mujoco", "benchmark.bodies=[sliders,pictured]", "network.adapter=true"])
