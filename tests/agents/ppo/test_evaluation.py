"""The test after each task: the likeliest actions under other frictions, and nothing of the training moves by it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plasticity_lab.agents.acting.episodes import mean_return
from plasticity_lab.agents.ppo.rollout import returns_in_test
from plasticity_lab.assembly import agent_of, assembled, resources
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.environments import Environments
from plasticity_lab.records.journal import Journal
from plasticity_lab.trainer import train
from tests.agents.ppo.packs import ONE, SMALL, begun, there_are
from tests.helpers.made_up_bodies import SLIDERS, Sliders
from tests.helpers.packs import CPU, Keeper, saved
from tests.tenants.packs import packs_of

HOPPER = (*SMALL, "benchmark.bodies=[hopper]", "benchmark.tasks=2", "benchmark.test_factors=2")
RANDOM = ("activation=rrelu", "protocol=clean")


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    there_are(monkeypatch)


def test_it_changes_nothing_in_the_learner():
    learner, (chunk, *_) = begun(packs_of(*HOPPER, *RANDOM, "seed=0,1"))
    learner.advance(chunk)
    before = saved(learner.state())
    first = learner.evaluate(_Task("hopper", 0))
    assert saved(learner.state()) == before
    assert np.array_equal(learner.evaluate(_Task("hopper", 0))["test_return"], first["test_return"])


@pytest.mark.sample(2)
@pytest.mark.parametrize("words", [HOPPER, (*HOPPER, *RANDOM)])
def test_runs_that_are_tested_train_as_those_that_are_not(words):
    """All numbers are the same bits, except for the column of the test."""
    tests = [packs_of(*words, "seed=0,1", f"benchmark.test_episodes={episodes}") for episodes in (0, 2)]
    without, with_ = (_numbers(runs) for runs in tests)
    assert without.keys() == with_.keys()
    differing = {name for name in without if without[name] != with_[name]}
    assert differing == {"test_return"}


def test_it_takes_the_likeliest_actions_and_counts_each_environments_first_episode():
    (run,) = packs_of(*ONE, "seed=4")
    learner, _ = begun([run])
    found = returns_in_test(learner.network, SLIDERS, [4], np.ones(5), None, clip_action=False)
    environments = Environments(SLIDERS, [4], 5, 0, purpose="test")
    total, alive = np.zeros(5), np.ones(5, bool)
    while alive.any():
        outputs = learner.network.answers(environments.observations)
        outcome = environments.step(outputs["policy"])
        total += np.where(alive, outcome.rewards[0], 0)
        alive &= ~(outcome.terminated | outcome.truncated)[0]
    assert mean_return(found) == pytest.approx(total.mean())


@pytest.mark.sample(2)
def test_it_is_the_same_alone_and_after_any_task():
    learner, _ = begun(packs_of(*HOPPER, "seed=0,1,2"))
    alone, _ = begun(packs_of(*HOPPER, "seed=1"))
    packed = learner.evaluate(_Task("hopper", 0))["test_return"]
    assert np.array_equal(packed[1:2], alone.evaluate(_Task("hopper", 0))["test_return"])
    assert np.array_equal(packed, learner.evaluate(_Task("hopper", 7))["test_return"])


def test_friction_reaches_it():
    learner, _ = begun(packs_of(*HOPPER, "seed=0,1"))
    network, body = learner.network, body_named("hopper")
    rough, slippery = (returns_in_test(network, body, [0, 1], np.full(2, each), None, False) for each in (1.0, 0.05))
    assert not np.array_equal(rough, slippery)


@pytest.mark.sample(2)
def test_a_task_with_a_friction_of_its_own_is_trained_under_it_and_says_so():
    words = (*HOPPER, "benchmark.friction_range=[0.05,0.5]", "benchmark.test_episodes=0")
    learner, _ = begun(packs_of(*words, "seed=0,1"), task=1)
    factors = learner.parts.benchmark.friction_of(1, [0, 1])
    assert np.array_equal(learner.evaluate(_Task("hopper", 1))["friction"], factors)
    models = learner.environments._simulation._physics._models
    own = learner.environments._simulation._physics.model.geom_friction[:, 0]
    for model, factor in zip(models, factors, strict=True):
        np.testing.assert_allclose(model.geom_friction[:, 0], own * factor)
    plain = packs_of(*HOPPER, "benchmark.test_episodes=0", "seed=0,1")
    assert _numbers(plain)["return"] != _numbers(packs_of(*words, "seed=0,1"))["return"]


def test_an_episode_that_breaks_is_a_failure_of_its_own_run(monkeypatch):
    learner, _ = begun(packs_of(*ONE, "seed=0,1"))
    broken = replace(SLIDERS, simulation=lambda copies: Sliders(copies, 6, 2, poisoned=[2]), max_steps=60)
    monkeypatch.setattr(Sliders, "start", _in_the_middle)
    found = returns_in_test(learner.network, broken, [0, 1], np.ones(2), None, clip_action=False)
    means = mean_return(found)
    assert np.isfinite(means).tolist() == [True, False]
    assert means[1] == -np.inf


def _in_the_middle(self, copies, streams):
    self.place[copies] = 0.0
    return self.place[copies].astype(np.float32)


class _Task:
    def __init__(self, body, position):
        self.body, self.position = body, position


def _numbers(runs):
    """Every number of a pack, trained to its end, by column and by parameter."""
    journal = Journal(len(runs), agent_of(runs[0]).measures)
    stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, False)
    train(stream, learner, journal, Keeper())
    tables = [journal.table(k) for k in range(len(runs))]
    columns = {name: [table[name].to_pylist() for table in tables] for name in tables[0].column_names}
    return columns | {name: value.numpy().tobytes() for name, value in learner.weights().items()}
