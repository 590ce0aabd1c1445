"""benchmark=catch: its settings reach the game, and those that cannot be are refused."""

from pathlib import Path

import pytest

from launch.command import resolve
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.errors import ConfigError
from tests.helpers.packs import CPU


def run_of(*words):
    (run,) = resolve(["seed=0", *words]).runs
    return run


def game_of(*words):
    benchmark = run_of(*words).component("benchmark")
    (body,) = benchmark.resource(Path()).by_name.values()
    return body


def test_its_settings_reach_the_game():
    board, drawn = game_of("benchmark=catch"), game_of("benchmark=catch_84")
    assert (board.observation, board.max_steps) == ((1, 10, 5), 90)
    assert (drawn.observation, drawn.frame, drawn.max_steps) == ((4, 84, 84), (1, 84, 84), 90)
    assert game_of("benchmark=catch", "benchmark.balls=1").max_steps == 9
    assert game_of("benchmark=catch", "benchmark.stack=2").observation == (2, 10, 5)
    by_settings = game_of("benchmark=catch", "benchmark.rendered=true", "benchmark.stack=4")
    assert (by_settings.name, by_settings.observation) == (drawn.name, drawn.observation) == ("catch_84", (4, 84, 84))


def test_runs_with_other_settings_are_other_runs_and_have_games_of_their_own():
    words = [("benchmark.balls", "1,3"), ("benchmark.stack", "1,2"), ("benchmark.rendered", "false,true")]
    runs = resolve(["benchmark=catch", "seed=0", *(f"{name}={values}" for name, values in words)]).runs
    find = resources(Path())  # which reads each resource only once
    shown = {(body.observation, body.max_steps): run.id for run in runs for body in find(run).by_name.values()}
    assert len(runs) == len(shown) == len({*shown.values()}) == 8


def test_every_task_is_the_same_game_and_begins_other_episodes():
    run = run_of("benchmark=catch", "benchmark.tasks=2", "network=mlp", "network.width=8")
    stages, learner = assembled([run], resources(Path())(run), CPU, compiled=False)
    begun = []
    for task in (0, 1):
        learner.begin(stages.task(task), fresh=True)
        begun.append(learner.environments.state()["simulation.columns"].tolist())
    assert begun[0] != begun[1]
    assert [stages.task(task).body for task in (0, 1)] == ["catch", "catch"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["benchmark.balls=0"], "benchmark.balls is 0"),
        (["benchmark.stack=0"], "benchmark.stack is 0"),
        (["benchmark.rendered=84"], "benchmark.rendered is 84.*true or false"),
        (["benchmark.environment_steps=0"], "benchmark.environment_steps is 0"),
        (["benchmark.tasks=0"], "benchmark.tasks is 0"),
        (["benchmark.test_episodes=-1"], "benchmark.test_episodes is -1"),
        (["benchmark.bodies=[catch]"], "no setting 'bodies'"),
        (["agent=supervised"], "agent=supervised learns labelled images.*games of Catch"),
    ],
)
def test_settings_that_cannot_be_are_refused(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve(["benchmark=catch", *words])
