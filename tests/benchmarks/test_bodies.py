"""Benchmarks of bodies: which body comes when, under which friction, and what a test of it is."""

import numpy as np
import pytest

from launch.command import resolve
from plasticity_lab.benchmarks.bodies.benchmark import BodyCycle
from plasticity_lab.benchmarks.bodies.stream import Stages
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.errors import ConfigError

SEEDS = [3, 1, 0]


def cycle(*bodies, tasks=8, **more):
    return BodyCycle(bodies=list(bodies), tasks=tasks, environment_steps=100, **more)


def run_of(*words):
    (run,) = resolve(list(words)).runs
    return run


def test_bodies_come_in_turn_and_one_may_come_twice_in_a_cycle():
    stages = Stages(cycle("hopper", "ant", "hopper"), 50)
    tasks = [stages.task(position) for position in range(8)]
    assert [task.body for task in tasks[:4]] == ["hopper", "ant", "hopper", "hopper"]
    assert [task.marks["cycle"] for task in tasks] == [0, 0, 0, 1, 1, 1, 2, 2]
    assert [task.marks["body"] for task in tasks[:3]] == [0, 1, 0]
    assert list(cycle("hopper", "ant", "hopper").outline().by_name) == ["hopper", "ant"]


@pytest.mark.sample(1)
def test_the_papers_cycle_is_three_rounds_of_four_bodies_of_its_tables():
    benchmark = run_of("benchmark=mujoco_cycle").component("benchmark")
    assert benchmark.bodies == ["halfcheetah", "humanoid", "ant", "hopper"]
    assert {body_named(name).version for name in benchmark.bodies} == {"v5"}
    assert (benchmark.tasks, benchmark.environment_steps, benchmark.cycle_of(11)) == (12, 1_000_000, 2)
    text = run_of("benchmark=mujoco_cycle_text").component("benchmark")
    assert [body_named(name).source.rpartition(" ")[2] for name in text.bodies] == [
        "HalfCheetah-v4", "Hopper-v4", "Walker2d-v4", "Ant-v4",
    ]  # fmt: skip


def test_the_friction_of_a_task_is_a_function_of_seed_and_position_log_uniform_in_its_range():
    slippery = run_of("benchmark=slippery_ant").component("benchmark")
    assert (slippery.environment_steps, slippery.bodies) == (2_000_000, ["ant"])
    drawn = np.array([slippery.friction_of(position, SEEDS) for position in range(400)])
    assert np.array_equal(slippery.friction_of(7, SEEDS[1:2]), drawn[7, 1:2])
    assert len(np.unique(drawn)) == drawn.size
    assert ((drawn >= 0.02) & (drawn <= 2)).all()
    assert np.log(drawn).mean() == pytest.approx(np.log([0.02, 2]).mean(), abs=0.15)
    assert cycle("ant").friction_of(0, SEEDS) is None


def test_the_factors_of_a_test_are_fixed_and_those_of_a_longer_one_begin_with_them():
    hopper, cartpole = body_named("hopper"), body_named("cartpole")
    tested = cycle("hopper", "ant", test_episodes=3)
    frictions = tested.test_frictions(hopper)
    assert len(frictions) == 30
    assert len(np.unique(frictions)) == 10
    assert (frictions >= 0.2).all()
    assert (frictions <= 2).all()
    assert np.array_equal(tested.test_frictions(body_named("ant")), frictions)
    assert np.array_equal(cycle("hopper", test_episodes=3, test_factors=4).test_frictions(hopper), frictions[:12])
    assert cycle("hopper", test_episodes=1, test_range="dohare_range").test_frictions(hopper).min() < 0.2
    assert tested.test_frictions(cartpole).tolist() == [1.0, 1.0, 1.0]
    assert cycle("hopper").test_frictions(hopper) is None


@pytest.mark.sample(1)
def test_a_range_in_words_is_the_range_in_numbers_and_without_a_test_nothing_of_it_counts():
    ant = "benchmark=slippery_ant"
    assert run_of(ant).id == run_of(ant, "benchmark.friction_range=dohare_range").id
    assert run_of(ant).id == run_of(ant, "benchmark.test_factors=4", "benchmark.test_range=[0.5,1]").id
    tested = "benchmark.test_episodes=1"
    assert run_of(ant, tested).id != run_of(ant).id
    assert run_of(ant, tested).id == run_of(ant, tested, "benchmark.test_range=[0.02,2]").id
    assert run_of(ant, tested).id != run_of(ant, tested, "benchmark.test_range=[0.2,2]").id


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["benchmark.friction_range=[0.5]"], r"benchmark.friction_range is \[0.5\]; .*\[0.2, 2.0\].*dohare_range"),
        (["benchmark.friction_range=[2,0.2]"], "lowest"),
        (["benchmark.friction_range=[0,1]"], "above 0"),
        (["benchmark.friction_range=slippery"], "'slippery'.*dohare_range"),
        (["benchmark.test_range=[a,b]"], "benchmark.test_range"),
        (["benchmark.bodies=[ant,cartpole]"], "friction_range needs bodies that have friction, and cartpole has none"),
    ],
)
def test_frictions_that_cannot_be_are_refused(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve(["benchmark=slippery_ant", *words])
