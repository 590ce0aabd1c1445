"""What all games on boards have alike: actions, channels, sticky actions, episodes, and policies that beat chance."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from analysis.reported import lines
from plasticity_lab.environments.__main__ import main
from plasticity_lab.environments.environments import Environments
from plasticity_lab.environments.games import scores
from plasticity_lab.environments.games.board import ACTIONS, FIRE, NOTHING
from plasticity_lab.environments.games.games import GAMES, MOST_CHANNELS, game
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream

NAMES = tuple(GAMES)


def begun(name, games=4, **settings):
    board = GAMES[name](games, **settings)
    board.start(np.arange(games), [host_stream(seed, "a test") for seed in range(games)])
    return board


@pytest.mark.parametrize("name", NAMES)
def test_in_the_form_that_all_have_alike_the_rest_is_empty_and_other_actions_do_nothing(name):
    own, full = begun(name, sticky=0), begun(name, full=True, padded=MOST_CHANNELS, sticky=0)
    known, draw = GAMES[name].actions, np.random.default_rng(0)
    for _ in range(30):
        actions = draw.integers(len(known), size=4)
        found, expected = full.step(np.array(known)[actions]), own.step(actions)
        assert found[0].shape == (4, MOST_CHANNELS, 10, 10)
        count = len(GAMES[name].channels)
        assert np.array_equal(found[0][:, :count], expected[0])
        assert not found[0][:, count:].any()
        assert np.array_equal(found[1], expected[1])
    unknown = sorted(set(range(len(ACTIONS))) - set(known))
    one, other = begun(name, full=True, padded=7, sticky=0), begun(name, full=True, padded=7, sticky=0)
    for action in unknown:
        assert np.array_equal(one.step(np.full(4, action))[0], other.step(np.full(4, NOTHING))[0])


def test_the_last_action_sticks_as_often_as_it_is_said_to():
    board, stuck = begun("bricks", 400, sticky=0.25), 0
    for step in range(50):
        before = board.last.copy()
        wanted = board.known[np.full(400, step % 3)]
        board.step(np.full(400, step % 3))
        assert ((board.last == wanted) | (board.last == before)).all()
        stuck += np.count_nonzero(board.last != wanted)
    # Not seen where the action before had been stuck twice and is the wanted one again: about one in twenty.
    assert stuck / (50 * 400) == pytest.approx(0.25 * 0.95, abs=0.02)


@pytest.mark.parametrize("name", NAMES)
def test_the_scripted_policy_earns_far_more_than_random_actions(name):
    """And as much as is written beside it, of 1,000 episodes, and in the data that analysis reads."""
    folder = scores.__file__.rpartition("/")[0]
    with open(f"{folder}/scores.csv", newline="") as file:
        line = next(each for each in csv.DictReader(file) if each["game"] == name)
    of = {policy: scores.returns_of(name, policy, 60, 5_000) for policy in ("random", "scripted")}
    assert of["scripted"].mean() > 5 * max(1.0, of["random"].mean())
    for policy, returns in of.items():
        error = (returns.std(ddof=1) ** 2 / 60 + float(line[f"{policy}_standard_error"]) ** 2) ** 0.5
        assert abs(returns.mean() - float(line[policy])) < 4 * error
    where = f"benchmark.game={name} benchmark.sticky={line['sticky']} benchmark.ramping={line['ramping'].lower()}"
    ends = next(each for each in lines("score_ends.csv") if each["where"] == where)
    assert (ends["low"], ends["high"]) == (line["random"], line["scripted"])


def test_what_is_not_there_is_named_beside_what_is(capsys):
    assert main(["show", "pong"]) == 1
    assert "no game 'pong'; there are bricks, invaders, crossing, gathering" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="no game 'pong'"):
        game("pong")
    assert main(["show", "bricks", "--steps", "-1"]) == 1
    assert main(["scores", "--episodes", "1"]) == 1


def test_an_environment_that_fires_too_often_is_no_error():
    environments = Environments(game("invaders", full=True), [0], 2, 0)
    for _ in range(20):
        environments.step(np.full((1, 2), FIRE))


def test_the_command_works_as_python_runs_it():
    # Not by `main`: a name that stands below the call at the module's end is there only for whoever imports it.
    command = [sys.executable, "-m", "plasticity_lab.environments", "show", "bricks", "--steps", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "P paddle" in done.stdout
