"""Actions that are numbers: each direction is the joystick's own, and episodes are had again exactly."""

from math import pi

import numpy as np
import pytest

from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.environments import Environments
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream

pytestmark = pytest.mark.sample(1)

JOYSTICK = (
    "noop", "fire", "up", "right", "left", "down", "upright", "upleft", "downright", "downleft", "upfire", "rightfire",
    "leftfire", "downfire", "uprightfire", "upleftfire", "downrightfire", "downleftfire",
)  # fmt: skip
"""The 18 actions, in ale-py's order."""
BY_HAND = [
    (1.0, 0.0, 0.0, "right"),
    (1.0, pi / 4, 0.0, "upright"),  # across and up are 0.71
    (1.0, pi / 2, 0.0, "up"),
    (1.0, 3 * pi / 4, 0.0, "upleft"),
    (1.0, pi, 0.0, "left"),
    (1.0, -pi, 0.0, "left"),
    (1.0, -3 * pi / 4, 0.0, "downleft"),  # before ale-py 0.12 it was another
    (1.0, -pi / 2, 0.0, "down"),
    (1.0, -pi / 4, 0.0, "downright"),
    (0.49, pi / 2, 0.0, "noop"),  # not far enough
    (0.6, pi / 4, 0.0, "noop"),  # across and up are 0.42
    (1.0, 0.5, 0.0, "right"),  # 0.88 across, 0.48 up
    (1.0, 0.55, 0.0, "upright"),  # 0.85 across, 0.52 up
    (0.0, 2.0, 0.51, "fire"),
    (0.3, 2.0, 0.5, "noop"),  # at the threshold is not beyond it
    (1.0, 0.0, 1.0, "rightfire"),
    (1.0, pi / 4, 1.0, "uprightfire"),
    (1.0, pi / 2, 1.0, "upfire"),
    (1.0, 3 * pi / 4, 1.0, "upleftfire"),
    (1.0, pi, 1.0, "leftfire"),
    (1.0, -3 * pi / 4, 1.0, "downleftfire"),
    (1.0, -pi / 2, 1.0, "downfire"),
    (1.0, -pi / 4, 1.0, "downrightfire"),
]


def played(body, before, actions):
    """What each of these environments shows after some steps of its own action, all from one place."""
    environments = Environments(body, (5,) * len(actions), 1, task=0)
    for action in [[before] * len(actions)] * 10 + [actions] * 4:
        environments.step(np.array(action)[:, None])
    return [frames.tobytes() for frames in environments.observations[:, 0]]


def test_numbers_move_the_joystick_as_worked_out_by_hand():
    names = [name for *_, name in BY_HAND]
    numbers = [np.array(own, np.float32) for *own, _ in BY_HAND]
    downright = np.array([1.0, -pi / 4, 0.0], np.float32)
    moved = played(atari("robotank", sticky=0.0, threshold=0.5), downright, numbers)
    discrete = played(atari("robotank", sticky=0.0), JOYSTICK.index("downright"), list(range(18)))
    chosen = dict(zip(JOYSTICK, discrete, strict=True))
    for number, name, frames in zip(numbers, names, moved, strict=True):
        assert frames == chosen[name], f"{number} is {name}"
    assert set(names) == set(JOYSTICK)
    assert len(set(chosen.values())) == 18, "each action leads elsewhere"


def test_a_game_without_all_actions_is_refused():
    assert atari("skiing").actions == 3
    with pytest.raises(ConfigError, match=r"skiing knows 9 of the joystick's 18 actions.*benchmark=atari"):
        atari("skiing", threshold=0.5)


def test_left_within_an_episode_it_goes_on_as_if_it_had_not_been():
    body, seeds = atari("breakout", threshold=0.5), (0, 7)

    def walked(environments, steps):
        shown = []
        for step in steps:
            draw = host_stream(0, "walk", step)
            actions = draw.uniform(*body.bounds, (2, 1, 3)).astype(np.float32)
            shown.append((environments.step(actions).rewards.tobytes(), environments.observations.tobytes()))
        return shown

    twin = Environments(body, seeds, 1, task=1)
    walked(twin, range(210))
    saved = twin.state()
    again = Environments(body, seeds, 1, task=1)
    again.load(saved)
    assert walked(again, range(210, 260)) == walked(twin, range(210, 260))
