"""Agents with a memory in which an update may find no return are refused before anything is queued."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.environments import bodies
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.replay.ring import Index
from tests.agents.sac.packs import SMALL as SLIDING
from tests.agents.value.packs import CHOSEN as CHOOSING
from tests.helpers.made_up_bodies import CHOSEN, EMULATOR, SLIDERS
from tests.helpers.sweeps import runs_of
from tests.tenants.packs import trained

OF_VALUES = (*CHOOSING, "agent.n_step=3", "agent.min_history=3", "benchmark.tasks=1", "benchmark.environment_steps=70")
OF_SAC = (*SLIDING, "agent.min_history=1", "benchmark.environment_steps=70", "benchmark.tasks=1")


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    for body in (SLIDERS, CHOSEN):
        monkeypatch.setitem(bodies.BODIES, body.name, body)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((*OF_VALUES, "agent.capacity=6"), ["agent.capacity", "of 10 or more", "holds 6 steps"]),
        ((*OF_VALUES, "agent.environments=3", "agent.capacity=20", "agent.min_history=9"), ["30 or more"]),
        ((*OF_VALUES, "agent.capacity=99", "benchmark.environment_steps=3", "benchmark.tasks=20"),
         ["benchmark.environment_steps above 3"]),
        ((*OF_SAC, "agent.capacity=2"), ["agent.capacity", "of 4 or more"]),
    ],
)  # fmt: skip
def test_it_is_said_with_a_capacity_that_suffices(words, told):
    with pytest.raises(ConfigError, match="cannot learn benchmark") as raised:
        runs_of(*words)
    assert [word for word in told if word not in str(raised.value)] == []


@pytest.mark.parametrize(
    "words",
    [
        (*OF_VALUES, "agent.capacity=10"),
        (*OF_VALUES, "agent.capacity=10", "agent.replay=prioritised"),
        (*OF_VALUES, "agent.capacity=99", "benchmark.environment_steps=4", "benchmark.tasks=20"),
        (*OF_SAC, "agent.capacity=4"),
    ],
)
def test_a_capacity_that_suffices_is_enough_to_train_with(words):
    assert trained(runs_of(*words, "seed=0,1"))


@pytest.mark.parametrize("number", range(8))
def test_a_memory_that_was_lost_holds_a_return_once_it_is_learned_from(number):
    """It begins within episodes: in every course of these it has a usable step as soon as `warm_up` says so."""
    draw = host_stream(number, "lost memories")
    n, rows, longest, least = (int(draw.integers(low, high)) for low, high in ((1, 4), (9, 13), (4, 9), (1, 4)))
    agent = SimpleNamespace(batch=1, environments=1, n_step=n, replay="uniform", life_loss_is_terminal=False)
    courses = np.array(list(itertools.product((False, True), repeat=rows)))
    memory = Memory(agent, [EMULATOR], list(range(len(courses))), rows, np.ones(len(courses)))
    assert memory.warm_up(least) == least, "nothing was lost"
    memory.ring.load({"end": 30, "held": rows, "lost": 0}, {})
    length = np.full(len(courses), int(draw.integers(1, longest)))
    for row in range(rows):
        first = length == 0
        length += 1
        terminated = courses[:, row]
        truncated = (length >= longest) & ~terminated
        length[terminated | truncated] = 0
        shape = (len(courses), 1)
        flags = [each.reshape(shape) for each in (terminated, truncated, np.zeros_like(first), first)]
        memory.ring.add(np.zeros((*shape, *EMULATOR.frame), np.uint8), np.zeros(shape, int), np.zeros(shape), *flags)
        if memory.steps > memory.warm_up(least):
            steps = np.broadcast_to(np.arange(memory.ring.oldest, memory.ring.end), (len(courses), memory.ring.held))
            assert memory.n_step.usable(memory.ring, Index(steps, np.zeros_like(steps))).any(axis=1).all()
    assert memory.steps > memory.warm_up(least)
