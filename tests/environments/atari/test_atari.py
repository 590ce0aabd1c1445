"""Atari games: had again exactly wherever they are left, alone as in company, by ale-py's own pictures."""

import sys
from pathlib import Path

import numpy as np
import pytest

from analysis.reported import lines
from launch.command import resolve
from plasticity_lab.assembly import resources
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import SETS, game_named, games, members, spellings
from plasticity_lab.environments.atari.simulation import Atari
from plasticity_lab.environments.environments import Environments
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream

pytestmark = pytest.mark.sample(3)

SEEDS = (0, 1, 7)
GAMES = ("pong", "qbert", "breakout", "seaquest", "asterix", "space_invaders")


def actions(body, step, runs, count):
    return np.stack([host_stream(seed, "test", step).integers(body.actions, size=count) for seed in runs])


def walked(environments, steps, runs=SEEDS, count=1):
    """All that these steps show, by run."""
    shown = [[] for _ in runs]
    for step in steps:
        outcome = environments.step(actions(environments.body, step, runs, count))
        values = (outcome.rewards, outcome.terminated, outcome.truncated, outcome.life_lost, environments.observations)
        for run, own in enumerate(shown):
            own.append(b"".join(np.ascontiguousarray(value[run]).tobytes() for value in values))
    return shown


def from_start(body, steps):
    """One that was never stopped."""
    twin = Environments(body, SEEDS, 1, task=1)
    walked(twin, range(steps))
    return twin


def from_state(body, saved):
    again = Environments(body, SEEDS, 1, task=1)
    again.load(saved)
    return again


@pytest.mark.parametrize(
    ("game", "states", "further"),
    [
        ("qbert", (260,), 60),
        *(pytest.param(game, (330, 711, 1302, 1850), 500, marks=pytest.mark.slow) for game in GAMES),
    ],
)
def test_left_late_in_later_episodes_a_game_goes_on_as_if_it_had_not_been(game, states, further):
    """Of each state three environments, most of them hundreds of steps into their episodes; four frames a step."""
    body = atari(game)
    for steps in states:
        twin = from_start(body, steps)
        saved = twin.state()
        stepped = Environments(body, SEEDS, 1, task=1)
        walked(stepped, range(9000, 9017))  # whatever it was up to before
        stepped.load(saved)
        rest = range(steps, steps + further)
        expected = walked(twin, rest)
        assert walked(stepped, rest) == expected
        assert walked(from_state(body, saved), rest) == expected


@pytest.mark.parametrize("sticky", [pytest.param(0.0, marks=pytest.mark.slow), 0.25])
def test_a_run_is_the_same_alone_and_among_others(sticky):
    body = atari("breakout", sticky=sticky)
    packed = walked(Environments(body, SEEDS, 2, task=0), range(250), count=2)
    for run, seed in enumerate(SEEDS):
        (alone,) = walked(Environments(body, (seed,), 2, task=0), range(250), (seed,), count=2)
        assert alone == packed[run]


@pytest.mark.walk(1)
def test_frames_are_those_that_ale_py_stacks_itself():
    from ale_py.vector_env import AtariVectorEnv

    body = atari("breakout", sticky=0.0)
    ours = Environments(body, (3,), 1, task=0)
    theirs = AtariVectorEnv(
        "breakout",
        1,
        noop_max=0,
        use_fire_reset=False,
        reward_clipping=False,
        stack_num=4,
        max_num_frames_per_episode=10**6,
    )
    theirs.reset(seed=ours.state()["simulation.seeds"][0])
    for step in range(120):
        acts = actions(body, step, (3,), 1)
        outcome = ours.step(acts)
        frames, rewards, over, _, facts = theirs.step(acts[0])
        assert outcome.rewards[0, 0] == rewards[0], "as the game gives them"
        if over[0]:
            break
        if step >= 3:  # before it, Dopamine's stacks begin with zeros, and ale-py's with the first frame
            assert np.array_equal(ours.observations[0, 0], frames[0])
        assert ours.state()["simulation.lives"][0, 0] == facts["lives"][0]
    assert step > 60


def test_the_episodes_of_atari_100k_begin_with_no_ops_and_so_differ_without_sticky_actions():
    """Four runs that take the same actions. Without no-ops they see one game or two: a seed says little of Pong."""
    body = resources(Path())(resolve(["benchmark=atari_100k"]).runs[0]).by_name["pong"]
    environments = Environments(body, range(4), 1, task=0)
    courses = [b""] * 4
    for step in range(24):
        environments.step(np.full((4, 1), step // 4 % 6))
        courses = [course + seen.tobytes() for course, seen in zip(courses, environments.observations, strict=True)]
    assert len(set(courses)) >= 3


def test_a_lost_life_is_said_and_the_episode_goes_on():
    environments = Environments(atari("breakout", sticky=0.0), (0,), 1, task=0)
    lost, ended = 0, 0
    for step in range(400):
        before = environments.state()["length"][0, 0]
        outcome = environments.step(actions(environments.body, step, (0,), 1))
        lost += outcome.life_lost[0, 0]
        if outcome.life_lost[0, 0] and not outcome.terminated[0, 0]:
            assert environments.state()["length"][0, 0] == before + 1
        if outcome.terminated[0, 0]:
            ended += 1
            assert outcome.life_lost[0, 0]
            assert environments.first[0, 0], "the next one begins at once; no step is a reset's"
            assert not environments.observations[0, 0, :3].any()
    assert lost >= 5 * ended > 0


class Lives:
    """In place of the emulator's games: two copies with these lives after each step, and nothing else."""

    def __init__(self, *lives):
        self.lives = iter(lives)

    def step(self, actions):
        nothing = np.zeros(2)
        return np.zeros((2, 1, 84, 84), np.uint8), nothing, nothing, nothing, {"lives": np.array(next(self.lives))}


@pytest.mark.walk(1)
def test_a_life_is_lost_where_there_are_fewer_and_not_where_one_is_gained():
    """As with the extra lives of Seaquest and Space Invaders, which come with points."""
    copies = Atari(2, "seaquest")
    copies.games, copies.lives = Lives([3, 4], [4, 4], [4, 3], [2, 4]), np.array([3, 3])
    lost = []
    for _ in range(4):
        copies.step(np.zeros(2, np.int64))
        lost.append(copies.life_lost().tolist())
    assert lost == [[False, False], [False, False], [False, True], [True, False]]


def test_an_episode_is_broken_off_after_its_most_steps():
    environments = Environments(atari("pong", max_steps=50), (0,), 1, task=0)
    outcomes = [environments.step(actions(environments.body, step, (0,), 1)) for step in range(100)]
    assert [step for step, each in enumerate(outcomes) if each.truncated[0, 0]] == [49, 99]
    assert not any(each.terminated.any() for each in outcomes)


@pytest.mark.slow
def test_the_table_is_ale_pys():
    for name, game in games().items():
        assert atari(name).simulation(1).actions == game.actions, name
        assert atari(name, full_actions=True).simulation(1).actions == game.all_actions, name


def test_sets_are_those_of_the_papers_and_words_of_all_kinds_are_understood():
    assert [len(members(of)) for of in SETS] == [20, 26, 60]
    for word in ("Pong", "Pong-v5", "ALE/Pong-v5", "PongNoFrameskip-v4"):
        assert spellings()[word] == ["pong"]
    assert spellings()["ALE/MsPacman-v5"] == ["ms_pacman"]
    assert game_named("pong").actions == 6
    with pytest.raises(ConfigError, match=r"no Atari game 'pongg'; did you mean pong.*There are 62"):
        game_named("pongg")


def test_a_set_is_as_many_runs_and_a_game_has_one_name():
    runs = resolve(["benchmark=atari", "benchmark.game=games20,pong"]).runs
    assert [run.science["benchmark"]["game"] for run in runs] == members("games20")
    one, other = (resolve(["benchmark=atari", f"benchmark.game={word}"]).runs for word in ("Pong-v5", "pong"))
    assert one[0].id == other[0].id
    assert one[0].science["benchmark"]["game"] == "pong"
    (cycle,) = resolve(["benchmark=atari_cycle", "benchmark.bodies=[Pong-v5,breakout]"]).runs
    assert cycle.science["benchmark"]["bodies"] == ["pong", "breakout"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["benchmark.game=games21"], "no Atari game 'games21'.*the sets games20, games26, games60"),
        (["benchmark.sticky=1"], "benchmark.sticky is 1"),
        (["agent=supervised"], "agent=supervised learns"),
    ],
)
def test_mistakes_are_a_sentence(words, said):
    with pytest.raises(ConfigError, match=said):
        resolve(["benchmark=atari", *words])


def test_without_ale_py_its_lack_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    monkeypatch.delitem(sys.modules, "plasticity_lab.environments.atari.simulation", raising=False)
    with pytest.raises(ConfigError, match=r"pong needs ale-py, which cannot be imported here.*pip install ale-py"):
        atari("pong").simulation(1)


NOTES = {  # returns of random play, and their standard errors: 30 no-ops and no sticky actions | sticky actions
    "pong": ((-20.08, 0.17), (-20.38, 0.14)),
    "breakout": ((1.24, 0.10), (1.19, 0.09)),
    "boxing": ((-1.0, 0.7), (1.0, 1.3)),
    "asterix": ((215, 13), (296, 20)),
    "space_invaders": ((157, 19), (150, 15)),
    "qbert": ((148, 16), (192, 25)),
}


@pytest.mark.slow
@pytest.mark.parametrize("game", NOTES)
@pytest.mark.parametrize("setting", [0, 1])
def test_random_play_earns_what_it_earned_elsewhere(game, setting):
    body = atari(game, **({"sticky": 0.0, "noops": 30} if setting == 0 else {}))
    environments, draw = Environments(body, range(4), 4, task=0), np.random.default_rng(0)
    returns = []
    while len(returns) < 120:
        returns += environments.step(draw.integers(body.actions, size=(4, 4))).ended.returns.tolist()
    theirs, error = NOTES[game][setting]
    ours = np.std(returns) / np.sqrt(len(returns))
    assert abs(np.mean(returns) - theirs) < 3 * np.hypot(ours, error), (np.mean(returns), ours)


def test_every_game_has_scores_or_a_reason_why_not():
    there = [line for line in lines("score_ends.csv") if line["benchmark"] == "atari atari_100k atari_machado cale"]
    own = {line["where"].partition("=")[2]: line for line in there}
    assert own.keys() == games().keys()
    unscored = [name for name, line in own.items() if not line["high"]]
    assert unscored == ["air_raid", "carnival", "elevator_action", "journey_escape", "pooyan"]
    assert sum(name in members("games60") for name in own.keys() - set(unscored)) == 55
