"""Procgen through its process: a stand-in for the package everywhere, and the package itself where a Python has it."""

import os

import numpy as np
import pytest

from analysis.reported import lines
from launch.command import resolve
from plasticity_lab.assembly import resources_or_outlines
from plasticity_lab.environments.environments import Environments
from plasticity_lab.environments.procgen.games import GAMES, VARIABLE, procgen
from plasticity_lab.errors import ConfigError, DataError, HelperLost
from plasticity_lab.randomness.host import host_stream
from tests.environments.procgen.stand_in import installed
from tests.tenants.packs import packs_of

SEEDS = (0, 1, 7)
REAL = os.environ.get(VARIABLE)


@pytest.fixture(params=["stand-in", "package"])
def python(request, tmp_path, monkeypatch):
    """Which Python has it."""
    if request.param == "package" and not REAL:
        pytest.skip(f"{VARIABLE} names no Python that has Procgen")
    found = REAL if request.param == "package" else str(installed(tmp_path))
    monkeypatch.setenv(VARIABLE, found)
    return request.param


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(installed(tmp_path)))


def walked(environments, steps, runs=SEEDS):
    """All that these steps show, by run."""
    shown = [[] for _ in runs]
    for step in steps:
        actions = np.array([[host_stream(seed, "test", step).integers(15)] for seed in runs])
        outcome = environments.step(actions)
        values = (outcome.rewards, outcome.terminated, outcome.truncated, environments.observations)
        for run, own in enumerate(shown):
            own.append(b"".join(np.ascontiguousarray(value[run]).tobytes() for value in values))
    return shown


def test_alone_as_in_company_and_restored_as_undisturbed(python):
    body = procgen("coinrun", 200)
    environments = Environments(body, SEEDS, 1, task=1)
    assert environments.observations.shape == (3, 1, 3, 64, 64)
    before, saved = walked(environments, range(25)), environments.state()
    after = walked(environments, range(25, 60))
    again = Environments(body, SEEDS, 1, task=1)
    again.load(saved)
    assert walked(again, range(25, 60)) == after
    alone = Environments(body, SEEDS[1:2], 1, task=1)
    assert walked(alone, range(60), SEEDS[1:2])[0] == before[1] + after[1]


def test_episodes_show_the_levels_that_their_streams_draw(stand_in):
    environments = Environments(procgen("maze", 3), SEEDS, 20, task=0)
    assert set(environments.observations[:, :, 0, 5, 5].ravel().tolist()) == {0, 1, 2}
    for _ in range(9):
        outcome = environments.step(np.full((3, 20), 4))
        assert not outcome.terminated.any()
        assert (outcome.rewards == 4).all()
    outcome = environments.step(np.full((3, 20), 2))
    assert outcome.terminated.all()
    assert (outcome.ended.returns == 38).all()
    assert (environments.observations[:, :, 1, 5, 5] == 0).all(), "a new episode's first frame"
    assert set(environments.observations[:, :, 0, 5, 5].ravel().tolist()) == {0, 1, 2}
    assert environments.observations[0, 0, 2, 0].tolist() == list(range(64)), "channels first, rows as they lie"


def test_what_returns_are_normalised_by_is_the_papers():
    """Cobbe et al. 2020, Appendix C, easy."""
    there = {line["where"]: line for line in lines("score_ends.csv") if line["benchmark"] == "procgen"}
    ends = {name: (float(line["low"]), float(line["high"])) for name, line in there.items()}
    assert set(ends) == {f"benchmark.game={name}" for name in GAMES}
    assert ends["benchmark.game=coinrun"] == (5.0, 10.0)
    assert ends["benchmark.game=fruitbot"] == (-1.5, 32.4)
    assert ends["benchmark.game=starpilot"] == (2.5, 64.0)
    assert all(low < high for low, high in ends.values())


def test_games16_is_all_of_them():
    runs = resolve(["benchmark=procgen", "benchmark.game=games16", "seed=0"]).runs
    assert {run.science["benchmark"]["game"] for run in runs} == set(GAMES)
    assert (runs[0].science["agent"]["name"], runs[0].science["network"]["name"]) == ("rainbow_lite", "impala")


@pytest.mark.sample(1)
def test_what_cannot_be_is_said_in_a_sentence(monkeypatch, tmp_path, stand_in):
    with pytest.raises(ConfigError, match="no Procgen game 'pong'; there are bigfish"):
        procgen("pong", 200)
    (run,) = packs_of("benchmark=procgen", "seed=0")
    environments = Environments(procgen("maze", 3), (0,), 1, task=0)
    environments._simulation.process.kill()
    environments._simulation.process.wait()
    with pytest.raises(HelperLost, match="has ended"):
        environments.step(np.zeros((1, 1), int))
    for python, named in (("/nowhere/python", "cannot be started"), ("/bin/false", "cannot play Procgen")):
        monkeypatch.setenv(VARIABLE, python)
        with pytest.raises(ConfigError, match=f"{VARIABLE} is {python}, which {named}.*procgen-mirror"):
            procgen("maze", 3).simulation(1)
        with pytest.raises(DataError, match=f"{VARIABLE} is {python}.*procgen-mirror"):  # before any game is built
            run.component("benchmark").resource(tmp_path)
    monkeypatch.delenv(VARIABLE)
    said = []
    found = resources_or_outlines(tmp_path, said.append)
    for each in resolve(["benchmark=procgen", "benchmark.game=games16", "seed=0"]).runs:
        assert found(each).by_name.keys() == {each.science["benchmark"]["game"]}
    assert len(said) == 1, "of sixteen games"
    with pytest.raises(DataError, match=f"benchmark=procgen.*{VARIABLE}"):
        run.component("benchmark").resource(tmp_path)
