"""Every task is met by a fresh network, and nothing of the one before is kept."""

import numpy as np
import pytest
import torch

from launch.command import resolve
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.bodies.base import Bodies
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.rows import Position
from tests.agents.ppo.packs import BOTH, begun, numbers, there_are
from tests.helpers.packs import CPU, choice, images, run, trained
from tests.tenants.packs import BODIES, packs_of

FRESH = choice("intervention", "fresh_each_task")
IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 3, "epochs": 2}


def learned(learner, task) -> None:
    """A whole task, with what is done at its end."""
    learner.begin(task, fresh=True)
    for chunk in task.chunks(Position(task.position, 0)):
        learner.advance(chunk)
    learner.end(task)


def test_a_task_begins_with_the_network_of_its_own_key_and_without_moments():
    stream, learner = assembled(
        [run(seed, "prelu", intervention=FRESH, **STREAM) for seed in (3, 1)], IMAGES, CPU, False
    )
    model, network = learner.network.model, learner.network
    first = model.start([3, 1], CPU)
    for position in (0, 1, 2):
        learner.begin(stream.task(position), fresh=True)
        fresh = model.start([3, 1], CPU, *([position] if position else []))
        assert all(torch.equal(value, fresh[name]) for name, value in network.parameters.items())
        assert not any(value.any() for kind in network.moments.values() for value in kind.values())
        assert network.corrections(1)["count"].tolist() == [1.0]
        learned(learner, stream.task(position))
        assert any(value.any() for kind in network.moments.values() for value in kind.values())
    assert not torch.equal(first["hidden1.weight"], fresh["hidden1.weight"])
    assert not torch.equal(model.start([3, 1], CPU, 1)["hidden1.weight"], fresh["hidden1.weight"])


def test_the_last_network_is_what_its_own_task_made_of_it():
    """Trained on the last task alone, from the same fresh network, another run gets the same weights."""
    whole = trained([run(3, intervention=FRESH, **STREAM)], IMAGES)
    stream, alone = assembled([run(3, **STREAM)], IMAGES, CPU, False)
    alone.network.parameters = alone.network.model.start([3], CPU, 2)
    learned(alone, stream.task(2))
    for name, value in alone.weights().items():
        assert torch.equal(value, whole.agent.weights()[name])


def test_the_first_task_is_learned_as_without_an_intervention():
    fresh, plain = (trained([run(3, **how, **STREAM)], IMAGES).of(0)["loss"] for how in ({"intervention": FRESH}, {}))
    steps = len(plain) // STREAM["tasks"]
    np.testing.assert_array_equal(fresh[:steps], plain[:steps])
    assert fresh[steps:].tolist() != plain[steps:].tolist()


def test_under_ppo_a_body_begins_anew_with_its_statistics_and_the_others_stay(monkeypatch):
    there_are(monkeypatch)
    words = (*BOTH, "intervention=fresh_each_task", "agent.normalise_observations=true", "seed=0,1")
    learner, chunks = begun(packs_of(*words))
    for chunk in chunks:
        learner.advance(chunk)
    before = numbers(learner)
    seen = learner.normalisers["sliders"].state()
    stream = assembled(packs_of(*words), Bodies(learner.bodies), CPU, False)[0]
    learner.end(stream.task(0))
    learner.begin(stream.task(1), fresh=True)
    fresh = learner.network.model.start([0, 1], CPU, 1)
    for name, value in numbers(learner).items():
        if name.rpartition(" ")[2].startswith("sliders."):
            assert torch.equal(value, before[name])
        else:
            expected = fresh[name] if name in fresh else torch.zeros_like(value)
            assert torch.equal(value, expected), name
    assert learner.network.corrections(1)["count"].tolist() == [1.0]
    for name, value in learner.normalisers["sliders"].state().items():
        np.testing.assert_array_equal(value, seen[name])
    learner.end(stream.task(1))
    learner.begin(stream.task(2), fresh=True)
    assert torch.equal(
        learner.network.parameters["sliders.policy.weight"],
        learner.network.model.start([0, 1], CPU, 2)["sliders.policy.weight"],
    )
    assert learner.network.corrections(1)["body.count"].tolist() == [1.0]
    again = learner.normalisers["sliders"].state()
    assert any(not np.array_equal(value, seen[name]) for name, value in again.items())


def test_an_agent_that_does_not_say_when_tasks_begin_refuses_it():
    assert resolve([*BODIES, "intervention=l2_init"]).runs
    with pytest.raises(ConfigError) as caught:
        resolve([*BODIES, "intervention=fresh_each_task"])
    for part in ("intervention=fresh_each_task", "when a task begins", "agent=actor_critic", "ppo or ppo_cleanrl"):
        assert part in str(caught.value)
