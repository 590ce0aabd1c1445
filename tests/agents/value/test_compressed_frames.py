"""Replay memories with compressed frames: the same numbers, when they are chosen, and their price."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from plasticity_lab.assembly import assembled, cost_of, resources
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.rows import Position
from plasticity_lab.replay import packing
from tests.agents.value.packs import DQN, advanced, numbers
from tests.helpers.packs import CPU
from tests.tenants.packs import packs_of

PIXELS = (
    *DQN,
    "network.width=4",
    "benchmark.test_episodes=0",
    "benchmark=catch_84",
    "agent.replay=prioritised",
    "agent.n_step=3",
    "seed=0,1",
)
NATURE = (
    "experiment=dqn_nature",
    "benchmark.game=pong",
    "agent.capacity=1000000",
    "benchmark.environment_steps=1000000",
    "seed=0",
)
GB = 10**9


def learned(compressed, runs):
    stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, False, compressed=compressed)
    task = stream.task(0)
    learner.begin(task, fresh=True)
    return learner, advanced(learner, task.chunks(Position(0, 0)))


def test_a_pack_learns_the_same_with_and_without():
    runs = packs_of(*PIXELS)
    plain, compressed = learned("never", runs), learned("always", runs)
    assert plain[0].memory.ring.packed is None
    assert compressed[0].memory.ring.packed is not None
    for one, other in zip(plain[1], compressed[1], strict=True):
        assert one.updates.keys() == other.updates.keys()
        assert all(np.array_equal(one.updates[name], value, equal_nan=True) for name, value in other.updates.items())
    own, other = numbers(plain[0]), numbers(compressed[0])
    assert plain[0].network.updates > 50
    assert all(torch.equal(value, other[name]) for name, value in own.items())
    assert own.keys() == other.keys()


def test_large_frames_are_compressed_if_the_memory_is_large_and_the_package_is_there(monkeypatch):
    atari, board = BODIES["catch_84"], BODIES["bricks"]
    assert [packing.packs("auto", atari, steps) for steps in (30_000, 40_000)] == [False, True]
    assert not packing.packs("auto", board, 10_000_000)
    assert not packing.packs("auto", replace(atari, packs_to=None), 1_000_000)
    assert not packing.packs("never", atari, 1_000_000)
    assert packing.packs("always", board, 10)
    monkeypatch.setattr(packing, "is_installed", lambda: False)
    assert not packing.packs("auto", atari, 1_000_000)
    with pytest.raises(ConfigError, match="pip install zstandard"):
        packing.packs("always", atari, 1_000_000)


def test_a_million_frames_are_planned_with_a_fifth_of_their_bytes(monkeypatch):
    (run,) = packs_of(*NATURE)
    outline = run.component("benchmark").outline()
    (compressed,) = cost_of(run, outline).host_memory
    assert compressed.bytes < 1.5 * GB
    assert 16 * compressed.bytes < 64 * GB / 2
    (plain,) = cost_of(run, outline, "never").host_memory
    assert plain.bytes == 1_000_000 * (84 * 84 + 8 + 4 + 4)
    monkeypatch.setattr(packing, "is_installed", lambda: False)
    (without,) = cost_of(run, outline).host_memory
    assert without.bytes == plain.bytes
    assert "pip install zstandard" in without.smaller
    assert "pip install" not in plain.smaller
