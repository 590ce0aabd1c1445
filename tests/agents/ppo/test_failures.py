"""What can go wrong with bodies, by command: one sentence each, and the other runs go on."""

import os
import re
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from launch.command import resolve
from launch.packs.sweep import state_of
from launch.work import claiming
from plasticity_lab.errors import ConfigError, DataError
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from tests.agents.ppo.packs import ONE, SMALL, there_are
from tests.helpers.made_up_bodies import SLIDERS, Killed, Sliders
from tests.helpers.sweeps import planned, runs_of, trained

pytestmark = pytest.mark.sample(4)

SWEEP = (*ONE, "seed=0,1,2", "launch.workers=1", "launch.retries=0")
FAULTY = 1
"""The seed whose body raises."""


class Raising(Sliders):
    """Sliders that raise when one begins at `where`, or is stepped later."""

    def __init__(self, copies, where, *, begins):
        super().__init__(copies, 6, 2)
        self.where, self.begins, self.cursed = where, begins, False

    def start(self, copies, streams):
        shown = super().start(copies, streams)
        self.cursed |= bool((shown[:, 0] == self.where).any())
        if self.cursed and self.begins:
            raise ZeroDivisionError("a body that cannot begin")
        return shown

    def step(self, actions):
        if self.cursed:
            raise ZeroDivisionError("a body that cannot move")
        return super().step(actions)


@pytest.fixture(autouse=True)
def no_bodies_are_remembered():
    claiming._resources.cache_clear()
    yield
    claiming._resources.cache_clear()


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.walk(1)
@pytest.mark.parametrize(("begins", "sentence"), [(True, "cannot begin"), (False, "cannot move")])
def test_a_body_that_raises_fails_its_own_run_and_no_other(store, tmp_path, monkeypatch, begins, sentence):
    there_are(monkeypatch)
    undisturbed = Store(tmp_path / "undisturbed")
    trained(undisturbed, *SWEEP)
    where = host_stream(FAULTY, "reset", 0, "sliders", 0, 1).uniform(-1, 1, 6).astype(np.float32)[0]
    there_are(monkeypatch, replace(SLIDERS, simulation=lambda copies: Raising(copies, where, begins=begins)))
    claiming._resources.cache_clear()
    plan = trained(store, *SWEEP)
    for run in runs_of(*SWEEP):
        record = read_record(store, run.id)
        if run.science["seed"] == FAULTY:
            assert record["status"] == "failed"
            assert f"ZeroDivisionError: a body that {sentence}" in record["error"]
        else:
            assert record["status"] == "done"
            assert read_metrics(store, run.id).equals(read_metrics(undisturbed, run.id))
    (reason,) = state_of(store, plan).failed
    assert reason == f"ZeroDivisionError: a body that {sentence}"


def test_where_a_process_that_helps_is_killed_its_pack_goes_on_alone_and_ends_as_if_undisturbed(
    store, tmp_path, monkeypatch, caplog
):
    there_are(monkeypatch)
    undisturbed, once = Store(tmp_path / "undisturbed"), tmp_path / "once"
    trained(undisturbed, *SWEEP)
    there_are(monkeypatch, replace(SLIDERS, simulation=partial(Killed, spared=os.getpid(), once=once)))
    claiming._resources.cache_clear()
    trained(store, *SWEEP, "launch.processes=2", "checkpoint_minutes=0.0001")
    assert once.exists()
    (line,) = [record.message for record in caplog.records if "SIGKILL" in record.message]
    assert re.search(r"was ended by SIGKILL.*goes on from its last checkpoint", line)
    for run in runs_of(*SWEEP):
        assert read_record(store, run.id)["status"] == "done"
        assert read_metrics(store, run.id).equals(read_metrics(undisturbed, run.id))


def test_without_mujoco_a_command_says_what_to_install_and_plans_nothing(store, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    words = (*SMALL, "benchmark=mujoco", "benchmark.bodies=[hopper]")
    with pytest.raises(DataError, match=r"hopper.*mujoco.*pip install 'gymnasium\[mujoco\]'.*cartpole"):
        planned(store, *words)
    assert not (store.root / "sweeps").exists() or not list((store.root / "sweeps").iterdir())
    planned(store, *words, "dry_run=true")
    assert "hopper" in capsys.readouterr().err


@pytest.mark.parametrize("words", [(), ("dry_run=true",)])
@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("benchmark=mujoco", "benchmark.bodies=[unicorn]"), "There is no body 'unicorn'; there are ant, "),
        (("benchmark=mujoco", "benchmark.bodies=[HalfCheetah-v5]"), "The body HalfCheetah-v5 is 'halfcheetah' here."),
        (
            ("benchmark=mujoco", "benchmark.bodies=halfcheetah,hopper"),
            r"it must be a list, as in 'benchmark.bodies=\[halfcheetah\]' \(several lists are written",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_before_anything_is_planned(words, asked, sentence):
    with pytest.raises(ConfigError, match=sentence):
        resolve([*asked, *words])
