"""What the MuJoCo bodies add to every body's contract: exact restoring, friction, and copies that break alone."""

import sys

import mujoco
import numpy as np
import pytest

from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.environments import Environments
from plasticity_lab.errors import ConfigError, PlasticityError
from plasticity_lab.randomness.host import host_stream

NAMES = ("halfcheetah", "hopper", "walker2d", "ant", "humanoid")


@pytest.fixture(params=NAMES)
def body(request):
    return BODIES[request.param]


def started(body, copies, friction=None):
    """Copies that all begin with the numbers of one stream."""
    simulation = body.simulation(copies)
    if friction is not None:
        simulation.scale_friction(np.array(friction))
    simulation.start(np.arange(copies), [host_stream(1, "start") for _ in range(copies)])
    return simulation


def stepped(simulation, body, copies, steps):
    """The bytes of all that these steps showed, a list for each copy. None is started anew: they fall and lie there."""
    shown = [[] for _ in range(copies)]
    for step in steps:
        action = host_stream(2, "action", step).uniform(body.low, body.high).astype(np.float32)
        outcome = simulation.step(np.tile(action, (copies, 1)))
        for copy, own in enumerate(shown):
            own.append(b"".join(values[copy].tobytes() for values in outcome))
    return shown


def contacts(simulation, copy):
    """Coefficients of sliding friction (C,) and forces (C, 6) of a copy's contacts, where it stands now."""
    model, data = simulation._physics._models[copy], simulation._physics._data[copy]
    mujoco.mj_forward(model, data)
    forces = np.zeros((data.ncon, 6))
    for contact, force in enumerate(forces):
        mujoco.mj_contactForce(model, data, contact, force)
    return data.contact.friction[:, 0].copy(), forces


def test_friction_changes_the_forces_of_contacts(body):
    simulation = started(body, 2, friction=(1.0, 0.2))
    for step in range(100):
        stepped(simulation, body, 2, [step])
        state = simulation.state()
        simulation.load({name: value[[0, 0]] for name, value in state.items()})  # both where the first stands
        (one, forces), (other, slippery) = contacts(simulation, 0), contacts(simulation, 1)
        simulation.load(state)
        if len(forces) and np.abs(forces[:, 1:3]).max() > 1:  # it presses on the ground, and along it
            break
    np.testing.assert_allclose(other, 0.2 * one)
    assert not np.allclose(forces, slippery)
    for coefficients, force in ((one, forces), (other, slippery)):  # pressing allows for as much along the ground
        assert (np.abs(force[:, 1:3]).sum(axis=1) <= coefficients * force[:, 0] + 1e-9).all()


def test_friction_is_of_one_copy_alone_and_a_factor_of_1_changes_no_bit(body):
    plain, slippery = (stepped(started(body, 1, friction), body, 1, range(80))[0] for friction in (None, [0.3]))
    assert plain != slippery
    mixed = started(body, 3, friction=(1.0, 0.3, 1.0))
    before = mixed._physics.model.geom_friction.copy()
    assert stepped(mixed, body, 3, range(80)) == [plain, slippery, plain]
    assert np.array_equal(mixed._physics.model.geom_friction, before)
    mixed.scale_friction(np.ones(3))
    mixed.start(np.arange(3), [host_stream(1, "start") for _ in range(3)])
    assert stepped(mixed, body, 3, range(80)) == [plain] * 3


@pytest.mark.parametrize("friction", [0.4, [[0.4], [1.0]], [[0.4, 0.4], [1.0, 1.0]]])
def test_environments_hand_friction_to_their_copies(friction):
    rough, slippery = (Environments(BODIES["hopper"], (0, 1), 2, 0, friction=given) for given in (None, friction))
    for step in range(60):
        actions = host_stream(0, "action", step).uniform(-1, 1, (2, 2, 3))
        rough.step(actions)
        slippery.step(actions)
    assert not np.array_equal(rough.observations[0], slippery.observations[0])
    assert np.array_equal(rough.observations[1], slippery.observations[1]) == (friction != 0.4)


@pytest.mark.parametrize("factor", [-0.1, np.nan, np.inf])
def test_friction_that_cannot_be_is_refused(factor):
    with pytest.raises(ConfigError, match=f"{factor}"):
        Environments(BODIES["hopper"], (0, 1), 1, 0, friction=factor)


def lose_the_state(environments, monkeypatch):
    state = environments.state()
    state["simulation.physics"][1, 0, 10] = 1e12
    environments.load(state)


def let_mujoco_raise(environments, monkeypatch):
    physical = environments._simulation._physics
    step = mujoco.mj_step

    def raising(model, data, times):
        if data is physical._data[1]:
            monkeypatch.setattr(mujoco, "mj_step", step)
            raise mujoco.FatalError("gave up")
        step(model, data, times)

    monkeypatch.setattr(mujoco, "mj_step", raising)


@pytest.mark.parametrize("harm", [lose_the_state, let_mujoco_raise])
def test_a_copy_that_breaks_is_marked_and_its_mates_go_on(body, harm, monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    seeds = (0, 1, 2)
    undisturbed, harmed = Environments(body, seeds, 1, 0), Environments(body, seeds, 1, 0)
    for step in range(8):
        if step == 5:
            harm(harmed, monkeypatch)
        actions = host_stream(0, "action", step).uniform(body.low, body.high, (3, 1, body.actions))
        expected, outcome = undisturbed.step(actions), harmed.step(actions)
        mates, broken = [0, 2], step == 5
        for name in ("rewards", "terminated", "broken", "last"):
            assert np.array_equal(getattr(outcome, name)[mates], getattr(expected, name)[mates])
        assert outcome.broken.ravel().tolist() == [False, broken, False]
        assert np.isnan(outcome.rewards[1, 0]) == broken
        if broken:
            assert outcome.terminated[1, 0]
            assert np.isnan(outcome.ended.returns).tolist() == [True]
        assert np.isfinite(harmed.observations).all()
    assert list(tmp_path.iterdir()) == []  # MuJoCo's log
    assert capfd.readouterr() == ("", "")


def test_a_copy_that_cannot_be_started_is_marked_and_its_mates_go_on(body, monkeypatch):
    seeds, forward = (0, 1, 2), mujoco.mj_forward
    undisturbed, harmed = Environments(body, seeds, 1, 0), Environments(body, seeds, 1, 0)
    lost = harmed._simulation._physics._data[1]

    def raising(model, data):
        if data is lost:
            raise mujoco.FatalError("gave up")
        forward(model, data)

    monkeypatch.setattr(mujoco, "mj_forward", raising)
    harmed._simulation.start(np.array([1]), [host_stream(1, "start")])
    monkeypatch.setattr(mujoco, "mj_forward", forward)
    harmed.load(harmed.state())  # saved and restored, it is as lost
    for step in range(3):
        actions = host_stream(0, "action", step).uniform(body.low, body.high, (3, 1, body.actions))
        expected, outcome = undisturbed.step(actions), harmed.step(actions)
        assert outcome.broken.ravel().tolist() == [False, step == 0, False]
        assert np.array_equal(outcome.last[[0, 2]], expected.last[[0, 2]])
        assert np.isfinite(harmed.observations).all(), "it has begun anew"


@pytest.mark.parametrize("action", [np.nan, np.inf])
def test_an_action_that_is_not_finite_breaks_its_own_copy_only(body, action):
    environments, expected = (Environments(body, (0, 1), 1, 0) for _ in range(2))
    actions = np.zeros((2, 1, body.actions))
    expected.step(actions)
    actions[0, 0, 1] = action
    assert environments.step(actions).broken.tolist() == [[True], [False]]
    assert np.array_equal(environments.observations[1], expected.observations[1])


def test_without_mujoco_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ConfigError, match=r"hopper.*gymnasium\[mujoco\].*cartpole"):
        Environments(BODIES["hopper"], (0,), 1, 0)


def test_a_model_with_other_actions_than_the_tables_is_refused():
    simulation = BODIES["hopper"].simulation(1)
    with pytest.raises(PlasticityError, match=r"hopper\.xml.*-1\.0.*0\.4"):
        simulation.check("hopper", (-0.4,) * 3, (0.4,) * 3)
