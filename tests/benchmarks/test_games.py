"""benchmark=games and benchmark=games_cycle: their settings reach the games, and those that cannot be are refused."""

from pathlib import Path

import pytest

from launch.command import resolve
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.benchmarks.bodies.stream import Stages
from plasticity_lab.environments.games.games import GAMES, MOST_CHANNELS
from plasticity_lab.errors import ConfigError
from tests.helpers.packs import CPU

SMALL = ("network=mlp", "network.width=8")

NAMES = [*GAMES]


def run_of(*words):
    (run,) = resolve(["seed=0", *words]).runs
    return run


def games_of(*words):
    return run_of(*words).component("benchmark").resource(Path()).by_name


def test_a_run_is_one_game_with_its_own_actions_and_channels_or_with_all():
    for name in NAMES:
        ((own, body),) = games_of("benchmark=games", f"benchmark.game={name}").items()
        assert (own, body.observation[0], body.actions) == (name, len(GAMES[name].channels), len(GAMES[name].actions))
        ((full, body),) = games_of("benchmark=games", f"benchmark.game={name}", "benchmark.full=true").items()
        assert (full, body.observation, body.actions) == (f"{name}_full", (MOST_CHANNELS, 10, 10), 6)


@pytest.mark.parametrize("benchmark", ["games", "games_cycle"])
def test_runs_with_other_settings_are_other_runs_and_have_games_of_their_own(benchmark):
    words = ["benchmark.sticky=0,0.1,0.1000001,0.5", "benchmark.ramping=false,true"]
    runs = resolve([f"benchmark={benchmark}", "seed=0", *words]).runs
    find = resources(Path())  # which reads each resource only once
    shown = {}
    for run in runs:
        board = next(iter(find(run).by_name.values())).simulation(1)
        shown[board.sticky, board.ramping] = run.id
    assert len(runs) == len(shown) == len({*shown.values()}) == 8


def test_a_cycle_is_of_games_that_are_alike_and_records_say_which_and_for_the_how_manieth_time():
    words = ("benchmark=games_cycle", "benchmark.bodies=[gathering,bricks]", "benchmark.tasks=5")
    bodies = games_of(*words)
    assert [*bodies] == ["gathering_full", "bricks_full"]
    assert {(body.observation, body.dtype, body.stack, body.actions) for body in bodies.values()} == {
        ((MOST_CHANNELS, 10, 10), "uint8", 1, 6)
    }
    stages = Stages(run_of(*words).component("benchmark"), 50)
    tasks = [stages.task(position) for position in range(5)]
    assert [task.body for task in tasks] == ["gathering_full", "bricks_full"] * 2 + ["gathering_full"]
    assert [(task.marks["body"], task.marks["cycle"]) for task in tasks] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]


def test_the_usual_cycle_is_two_rounds_of_all_games():
    benchmark = run_of("benchmark=games_cycle").component("benchmark")
    assert benchmark.bodies == [f"{name}_full" for name in NAMES]
    assert [benchmark.cycle_of(position) for position in range(benchmark.tasks)] == [0] * 4 + [1] * 4


@pytest.mark.walk(2)
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["benchmark=games", "benchmark.game=pong"], "benchmark.game is 'pong'.*bricks, invaders, crossing, gathering"),
        (["benchmark=games", "benchmark.sticky=1"], "benchmark.sticky is 1"),
        (["benchmark=games", "agent=supervised"], "agent=supervised learns labelled images.*games on a board"),
        (["benchmark=games_cycle", "benchmark.bodies=[]"], "benchmark.bodies is empty.*bricks, invaders"),
        (["benchmark=games_cycle", "benchmark.bodies=[bricks,pong]"], "pong.*bricks, invaders, crossing, gathering"),
        (["benchmark=games_cycle", "benchmark.bodies=[bricks,invaders,bricks]"], "bricks.*invaders.*bricks.*once"),
        (["benchmark=games_cycle", "benchmark.bodies=[bricks_full]"], "bricks_full.*bricks, invaders"),
        (["benchmark=games_cycle", "benchmark.sticky=1"], "benchmark.sticky is 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve(words)


def test_a_game_that_comes_again_begins_other_episodes():
    words = ("benchmark=games_cycle", "benchmark.bodies=[bricks,invaders]", "benchmark.tasks=3", "agent=dqn", *SMALL)
    run = run_of(*words)
    stages, learner = assembled([run], resources(Path())(run), CPU, compiled=False)
    keys = []
    for task in range(3):
        learner.begin(stages.task(task), fresh=True)
        keys.append(learner.environments.state()["simulation.keys"].tolist())
    assert keys[0] != keys[2]
