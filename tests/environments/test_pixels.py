"""Bodies of pixels: their type, stacks of frames, lost lives, and states of changing length."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from plasticity_lab.environments.environments import Environments, from_arrays, in_arrays
from plasticity_lab.errors import PlasticityError
from plasticity_lab.randomness.host import host_stream
from tests.helpers.made_up_bodies import EMULATOR, Emulator

SEEDS = (3, 4)
STEPS = 40


def actions_of(step, seeds=SEEDS, count=2):
    """Action 1 in one step of five."""
    return np.array([host_stream(seed, "test", step).random(count) < 0.2 for seed in seeds]).astype(int)


def begun(seed, environment, episode):
    return int(host_stream(seed, "reset", 0, "emulator", environment, episode).integers(1, 200))


def bytes_shown(observations):
    """The byte that each frame shows, (K, N, F)."""
    assert (observations == observations[..., :1, :1]).all()
    return observations[..., 0, 0].tolist()


def test_frames_are_stacked_oldest_first_with_zeros_before_an_episode():
    environments = Environments(EMULATOR, (3,), 1, task=0)
    first = begun(3, 0, 0)
    assert environments.observations.dtype == np.uint8
    assert bytes_shown(environments.observations) == [[[0, 0, first]]]
    assert environments.first.tolist() == [[True]]
    for step in range(1, 4):
        outcome = environments.step(np.array([[0]]))
        expected = [[[0] * max(2 - step, 0) + [first + step - back for back in range(min(step, 2), -1, -1)]]]
        assert bytes_shown(environments.observations) == bytes_shown(outcome.last) == expected
        assert environments.first.tolist() == [[False]]
    environments.step(np.array([[1]]))
    outcome = environments.step(np.array([[1]]))
    assert outcome.terminated.all()
    assert bytes_shown(outcome.last) == [[[first + 3, first + 4, first + 5]]]
    assert bytes_shown(environments.observations) == [[[0, 0, begun(3, 0, 1)]]]
    assert environments.first.tolist() == [[True]]


def test_a_lost_life_is_said_beside_termination_and_ends_no_episode():
    environments = Environments(EMULATOR, SEEDS, 1, task=0)
    said = []
    for actions in ([[1], [0]], [[0], [0]], [[1], [1]]):
        outcome = environments.step(np.array(actions))
        said.append((outcome.life_lost[:, 0].tolist(), outcome.terminated[:, 0].tolist(), len(outcome.ended.run)))
    assert said == [
        ([True, False], [False, False], 0),
        ([False, False], [False, False], 0),
        ([True, True], [True, False], 1),
    ]
    assert not Environments(replace(EMULATOR, has_lives=False), SEEDS, 1, 0).step(np.array([[1], [1]])).life_lost.any()


def walked(environments, seeds, steps):
    shown = []
    for step in steps:
        outcome = environments.step(actions_of(step, seeds))
        shown.append(environments.observations.tobytes() + outcome.last.tobytes() + outcome.life_lost.tobytes())
    return shown


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_states_of_changing_length_go_on_as_undisturbed_through_a_checkpoint_and_in_any_process(processes):
    undisturbed = Environments(EMULATOR, SEEDS, 2, 0)
    walked(undisturbed, SEEDS, range(13))
    saved = undisturbed.state()
    lengths = saved["simulation.game.lengths"]
    assert lengths.shape == (2, 2)
    assert len(np.unique(lengths)) > 1
    assert {value.dtype.kind for value in saved.values()} <= set("iufb")  # what a checkpoint can hold
    through = {name: torch.tensor(value).numpy() for name, value in saved.items()}
    restored = Environments(EMULATOR, SEEDS, 2, 0, processes=processes)
    walked(restored, SEEDS, range(50, 57))  # lengths are others there
    restored.load(through)
    expected = walked(undisturbed, SEEDS, range(13, STEPS))
    assert walked(restored, SEEDS, range(13, STEPS)) == expected
    assert all(np.array_equal(saved[name], through[name]) for name in saved)


@pytest.mark.parametrize(
    ("name", "changed"),
    [("simulation.game.lengths", lambda value: value + 1), ("simulation.game.bytes", lambda value: value[:-1])],
)
def test_lengths_that_are_not_those_of_the_bytes_are_refused_and_nothing_is_changed(name, changed):
    environments = Environments(EMULATOR, SEEDS, 2, 0)
    walked(environments, SEEDS, range(5))
    before = environments.state()
    with pytest.raises(ValueError, match=r"simulation\.game\.lengths"):
        environments.load({**before, name: changed(before[name])})
    with pytest.raises(ValueError, match=name):
        environments.load({key: value for key, value in before.items() if key != name})
    assert all(np.array_equal(value, before[key]) for key, value in environments.state().items())


def test_empty_states_are_states_too():
    arrays = in_arrays("game", [b"", b"ab", b"", b"c"], runs=2)
    assert arrays["game.lengths"].tolist() == [[0, 2], [0, 1]]
    assert from_arrays("game", arrays["game.bytes"], arrays["game.lengths"]) == [b"", b"ab", b"", b"c"]
    nothing = in_arrays("game", [b"", b""], runs=1)
    assert from_arrays("game", nothing["game.bytes"], nothing["game.lengths"]) == [b"", b""]


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_pixels_of_another_type_than_the_table_says_are_refused(dtype):
    class Another(Emulator):
        def start(self, copies, streams):
            return super().start(copies, streams).astype(dtype)

    with pytest.raises(PlasticityError, match=rf"emulator v0.*{np.dtype(dtype)}.*uint8"):
        Environments(replace(EMULATOR, simulation=Another), SEEDS, 1, 0)


@pytest.mark.parametrize(
    ("changed", "named"), [({"dtype": "float64"}, "float64.*uint8"), ({"stack": 2}, r"\(3, 2, 3\).*stack of 2")]
)
def test_a_table_that_cannot_be_is_refused(changed, named):
    with pytest.raises(PlasticityError, match=named):
        replace(EMULATOR, **changed)


def test_the_newest_frame_is_all_that_a_ring_needs():
    environments = Environments(EMULATOR, SEEDS, 2, 0)
    walked(environments, SEEDS, range(3))
    shown = environments.observations
    assert np.array_equal(EMULATOR.newest(shown), shown[:, :, 2:])
    alone = replace(EMULATOR, observation=(1, 2, 3), stack=1)
    assert alone.newest(shown[:, :, 2:]).shape == (2, 2, *alone.frame)


def test_only_pixels_are_spared_the_look_whether_they_are_finite():
    class Broken(Emulator):
        def step(self, actions):
            shown, rewards, terminated = super().step(actions)
            rewards[0] = np.nan
            return shown, rewards, terminated

    outcome = Environments(replace(EMULATOR, simulation=Broken), SEEDS, 1, 0).step(np.array([[0], [0]]))
    assert outcome.broken.tolist() == [[True], [False]]
    assert outcome.terminated.tolist() == [[True], [False]]
