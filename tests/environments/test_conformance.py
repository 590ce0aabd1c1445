"""What holds of every body: alone as in company, restored as undisturbed, begun anew as its position says."""

import numpy as np
import pytest

from plasticity_lab.environments.bodies import BODIES, body_named
from plasticity_lab.environments.environments import Environments
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream

SEEDS = (0, 1, 7)


def steps_of(body):
    """Classic bodies fall late; those of MuJoCo fall early, and their steps take long."""
    return 120 if body.discrete else 40


def actions_of(body, seed, environment, step):
    """An action that depends on nothing but whose it is and when."""
    stream = host_stream(seed, "test", environment, step)
    return stream.integers(body.actions) if body.discrete else stream.uniform(body.low, body.high)


def walked(environments, seeds, count, steps):
    """The bytes of everything that these steps showed, and of the state after them, for each run."""
    shown = [[first.tobytes()] for first in environments.observations]
    for step in steps:
        actions = [[actions_of(environments.body, seed, at, step) for at in range(count)] for seed in seeds]
        outcome = environments.step(np.array(actions))
        ended = outcome.ended
        for run, own in enumerate(shown):
            flags = (outcome.terminated, outcome.truncated, outcome.life_lost, environments.first)
            values = (outcome.rewards, *flags, outcome.last, environments.observations)
            own += [value[run].tobytes() for value in values]
            own += [ended.returns[ended.run == run].tobytes(), ended.lengths[ended.run == run].tobytes()]
    for run, own in enumerate(shown):
        own += [value[run].tobytes() for value in environments.state().values()]
    return shown


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.slow) if name.endswith("_v4") else name for name in sorted(BODIES)]
)
def body(request):
    return BODIES[request.param]


def test_its_table_is_complete(body):
    assert all((body.version, body.source, body.actions > 0, body.max_steps > 0))
    if not body.discrete:
        assert len(body.low) == len(body.high) == body.actions
        assert all(low < high for low, high in zip(body.low, body.high, strict=True))


@pytest.mark.walk(10)
@pytest.mark.parametrize("count", [1, 3])
def test_a_packed_run_equals_the_run_alone(body, count):
    packed = walked(Environments(body, SEEDS, count, task=2), SEEDS, count, range(steps_of(body)))
    for run, seed in enumerate(SEEDS):
        (alone,) = walked(Environments(body, (seed,), count, task=2), (seed,), count, range(steps_of(body)))
        assert packed[run] == alone


def test_an_environment_is_the_same_among_more_of_them(body):
    few = Environments(body, SEEDS, 2, task=0)
    many = Environments(body, SEEDS, 5, task=0)
    for step in range(steps_of(body)):
        actions = np.array([[actions_of(body, seed, at, step) for at in range(5)] for seed in SEEDS])
        few.step(actions[:, :2])
        many.step(actions)
        assert np.array_equal(few.observations, many.observations[:, :2])


@pytest.mark.walk(8)
@pytest.mark.parametrize("steps", [0, 1, 37, 38, 39])
def test_saved_and_restored_in_the_middle_of_episodes_equals_undisturbed(body, steps):
    undisturbed = Environments(body, SEEDS, 2, task=1)
    walked(undisturbed, SEEDS, 2, range(steps))
    saved = undisturbed.state()
    kept = {name: value.copy() for name, value in saved.items()}
    assert {value.shape[:2] for value in saved.values()} == {(len(SEEDS), 2)}
    restored = Environments(body, SEEDS, 2, task=1)
    walked(restored, SEEDS, 2, range(50, 63))  # whatever it was up to before
    restored.load(saved)
    rest = range(steps, steps + steps_of(body))
    assert walked(restored, SEEDS, 2, rest) == walked(undisturbed, SEEDS, 2, rest)
    assert all(np.array_equal(saved[name], kept[name]) for name in kept)


def begun_at(environments, run, at):
    """All that an environment's episode begins with: a game may look alike at first, and go on otherwise."""
    state = {name: value for name, value in environments.state().items() if name != "episode"}
    return b"".join(value[run, at].tobytes() for value in state.values())


def test_every_part_of_its_position_changes_where_an_episode_begins(body):
    first = {
        begun_at(environments, run, at)
        for environments in (Environments(body, SEEDS, 2, task) for task in (0, 1))
        for run in range(len(SEEDS))
        for at in range(2)
    }
    assert len(first) == 2 * len(SEEDS) * 2
    environments = Environments(body, (0,), 1, task=0)
    begun = [begun_at(environments, 0, 0)]
    for step in range(body.max_steps + 1):
        if len(environments.step(np.array([[actions_of(body, 0, 0, step)]])).ended.run):
            begun.append(begun_at(environments, 0, 0))
            if len(begun) == 20:
                break
    assert len(set(begun)) == len(begun) >= 2
    one, other = Environments(body, (4, 4), 2, task=3), Environments(body, (4,), 2, task=3)
    for run in (0, 1):
        assert np.array_equal(one.observations[run], other.observations[0])


def test_a_body_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"'hopper2'.*cartpole"):
        body_named("hopper2")
