"""Copies in several processes: the bits of one, its errors, and an end that nobody waits for."""

import os
import signal

import numpy as np
import pytest

from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.environments import Environments
from plasticity_lab.environments.processes.choice import Processes
from plasticity_lab.errors import HelperLost
from tests.environments.test_conformance import SEEDS, walked
from tests.helpers.made_up_bodies import SLIDERS, TOLD

pytestmark = pytest.mark.sample(2)

NO_PUSH = np.zeros((3, 1, 2), np.float32)


def helpers_of(environments):
    return [helper for helper, _ in environments._simulation._helpers]


@pytest.mark.walk(1)
@pytest.mark.parametrize("body", [BODIES["cartpole"], BODIES["hopper"], atari("pong")], ids=lambda body: body.name)
def test_they_show_the_bits_of_one_process_and_their_state_goes_on_in_any(body):
    friction = np.array([[0.5], [1.0], [2.0]]) if body.has_friction else None
    one, three = (Environments(body, SEEDS, 2, 1, friction=friction, processes=processes) for processes in (1, 3))
    assert walked(three, SEEDS, 2, range(60)) == walked(one, SEEDS, 2, range(60))
    for goes_on, saved in ((three, one.state()), (one, three.state())):
        goes_on.load(saved)
    assert walked(three, SEEDS, 2, range(60, 90)) == walked(one, SEEDS, 2, range(60, 90))


@pytest.mark.parametrize("faulty", [0, 2], ids=["helper", "this process"])
def test_what_a_body_raises_is_raised_here_and_the_others_have_done_their_part(faulty):
    environments = Environments(TOLD, SEEDS, 1, 0, processes=3)
    actions = NO_PUSH.copy()
    actions[faulty] = 6
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="a body that cannot move"):
            environments.step(actions)
    assert np.array_equal(environments.state()["simulation.steps"][:, 0], np.where(np.arange(3) == faulty, 0, 2))


def test_what_is_not_a_number_breaks_its_copy_alone():
    actions = NO_PUSH.copy()
    actions[1] = 4
    outcomes = [Environments(TOLD, SEEDS, 1, 0, processes=processes).step(actions) for processes in (1, 2, 3)]
    for outcome in outcomes:
        assert np.array_equal(outcome.broken[:, 0], [False, True, False])
        assert outcome.rewards.tobytes() == outcomes[0].rewards.tobytes()
        assert outcome.last.tobytes() == outcomes[0].last.tobytes()


@pytest.mark.parametrize("then", ["step", "state"])
def test_a_process_that_is_killed_is_said_in_a_sentence(then):
    environments = Environments(SLIDERS, SEEDS, 1, 0, processes=2)
    (helper,) = helpers_of(environments)
    os.kill(helper.process.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(HelperLost, match=r"steps environments was ended by SIGKILL, as happens where memory"):
            environments.step(NO_PUSH) if then == "step" else environments.state()


def test_what_asks_a_worker_to_stop_does_not_end_its_helpers():
    environments = Environments(SLIDERS, SEEDS, 1, 0, processes=2)
    (helper,) = helpers_of(environments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        os.kill(helper.process.pid, number)
    environments.step(NO_PUSH)
    process = helper.process
    del environments, helper
    assert process.poll() == 0  # and with what they helped they end


def test_so_many_are_used_as_there_are_copies_and_none_for_a_step_that_takes_no_time():
    assert Processes(4).of(SLIDERS, 3) == 3
    assert Processes(4, measured=True).of(SLIDERS, 3) == 1
    assert Processes(4, measured=True).of(SLIDERS, 1) == 1
