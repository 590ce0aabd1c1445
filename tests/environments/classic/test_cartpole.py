import math

import numpy as np
import pytest

from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.classic.cartpole import CartPole, sine_and_cosine
from plasticity_lab.environments.environments import Environments
from plasticity_lab.randomness.host import host_stream

TWELVE_DEGREES = 12 * 2 * math.pi / 360


def placed(*physics):
    """Cart-poles that stand as these rows say: position, velocity, angle, angular velocity."""
    body = CartPole(len(physics))
    body.load({"physics": np.array(physics, np.float64)})
    return body


def test_two_steps_on_paper():
    """Upright and at rest, pushed right, then left: sin = 0 and cos = 1 in both steps.

    1: push = 10/1.1 = 100/11; angular acceleration = -push / (1/2 · (4/3 - 1/11)) = -(100/11)·(66/41) = -600/41;
    acceleration = 100/11 + (0.05/1.1)·600/41 = 400/41. 2: the same with the other sign.
    """
    body = placed([0, 0, 0, 0])
    _, rewards, terminated = body.step(np.array([1]))
    np.testing.assert_allclose(body.state()["physics"], [[0, 8 / 41, 0, -12 / 41]], rtol=1e-14)
    observations, *_ = body.step(np.array([0]))
    expected = [[0.16 / 41, 0, -0.24 / 41, 0]]
    np.testing.assert_allclose(body.state()["physics"], expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(observations, expected, rtol=1e-6, atol=1e-15)
    assert rewards == [1.0]
    assert not terminated


def test_a_step_of_a_leaning_and_turning_pole():
    """30 degrees, 2 rad/s, pushed right: sin = 1/2, cos² = 3/4, push = (10 + 0.05·4/2) / 1.1 = 101/11."""
    body = placed([1, -1, math.pi / 6, 2])
    _, rewards, terminated = body.step(np.array([1]))
    cosine = math.sqrt(3) / 2
    turning_faster = (4.9 - cosine * 101 / 11) / (0.5 * (4 / 3 - 0.075 / 1.1))
    faster = 101 / 11 - turning_faster * cosine / 22
    expected = [[0.98, -1 + 0.02 * faster, math.pi / 6 + 0.04, 2 + 0.02 * turning_faster]]
    np.testing.assert_allclose(body.state()["physics"], expected, rtol=1e-14)
    assert terminated
    assert rewards == [1.0]  # the step that ends the episode is rewarded too


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("number", "threshold"), [(0, 2.4), (2, TWELVE_DEGREES)])
def test_it_terminates_beyond_the_thresholds_not_at_them(side, number, threshold):
    at, beyond = np.zeros(4), np.zeros(4)
    at[number], beyond[number] = side * threshold, side * np.nextafter(threshold, 9)
    *_, terminated = placed(at, beyond).step(np.array([0, 0]))
    assert terminated.tolist() == [False, True]


def test_an_episode_that_is_balanced_is_truncated_after_500_steps():
    environments = Environments(body_named("cartpole"), (0, 1), 1, task=0)
    for _ in range(499):
        position, velocity, angle, turning = np.moveaxis(environments.observations, -1, 0)
        outcome = environments.step((angle + 0.5 * turning + 0.05 * position + 0.1 * velocity > 0).astype(int))
        assert not len(outcome.ended.run)
    outcome = environments.step(np.array([[0], [1]]))
    assert outcome.truncated.all()
    assert not outcome.terminated.any()
    assert np.array_equal(outcome.ended.lengths, [500, 500])
    assert np.array_equal(outcome.ended.returns, [500.0, 500.0])
    assert (np.abs(environments.observations) <= 0.05).all()


def test_it_begins_with_four_uniform_numbers():
    observations = Environments(body_named("cartpole"), (0,), 400, task=0).observations[0]
    assert np.array_equal(
        observations[7], host_stream(0, "reset", 0, "cartpole", 7, 0).uniform(-0.05, 0.05, 4).astype("f")
    )
    assert (np.abs(observations) <= 0.05).all()
    assert (np.ptp(observations, axis=0) > 0.095).all()


def nudged(function):
    """The function, with the last bit changed of whatever is left over when eight numbers are taken at a time."""

    def computed(angles):
        values = function(angles)
        left_over = len(angles) // 8 * 8
        values[left_over:] = np.nextafter(values[left_over:], 2)
        return values

    return computed


@pytest.mark.parametrize("sine", ["numpy's own", "one that ends an array by other code"])
@pytest.mark.parametrize("copies", [2, 3, 5, 8, 17, 64])
def test_its_bits_do_not_depend_on_how_many_there_are(copies, sine, monkeypatch):
    if sine != "numpy's own":
        for name in ("sin", "cos"):
            monkeypatch.setattr(np, name, nudged(getattr(np, name)))
    stream = host_stream(0, "test", copies)
    physics = stream.uniform(-1, 1, (copies, 4)) * [2.4, 3, 0.3, 3]
    actions = stream.integers(0, 2, (40, copies))
    together, alone = placed(*physics), [placed(row) for row in physics]
    for step in range(40):
        observations, _, terminated = together.step(actions[step])
        for at, body in enumerate(alone):
            own, _, ended = body.step(actions[step, at : at + 1])
            assert own.tobytes() == observations[at].tobytes()
            assert ended == terminated[at]
    apart = np.concatenate([body.state()["physics"] for body in alone])
    assert apart.tobytes() == together.state()["physics"].tobytes()


def test_sine_and_cosine_are_numpys():
    angles = host_stream(0, "test").uniform(-9, 9, 45)
    sine, cosine = sine_and_cosine(angles)
    np.testing.assert_allclose(sine, [math.sin(angle) for angle in angles], rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(cosine, [math.cos(angle) for angle in angles], rtol=1e-15, atol=1e-16)
