"""Lists of options, and groups that are no science: ids, addresses, and what a command is told."""

import json

import pytest
from hydra import compose, initialize_config_dir

from launch.command import resolve
from launch.runs import requests
from launch.runs.files import CONF
from launch.runs.groups import COMPONENTS
from launch.runs.overrides import overrides_of, run_from
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.plan_lines import Shortened, StoredRuns
from plasticity_lab.records.record import new_record
from plasticity_lab.records.targets import check_targets
from plasticity_lab.run import Run

BOTH = ("intervention=[l2_init,redo]", "intervention.redo.every=7")


def one(*words: str) -> Run:
    (run,) = resolve(["schedule=smoke", *words]).runs
    return run


@pytest.fixture
def no_science(monkeypatch):
    """As if interventions changed no number."""
    monkeypatch.setitem(COMPONENTS, "intervention", COMPONENTS["intervention"].model_copy(update={"science": False}))
    monkeypatch.setattr(requests, "SCIENCE", [name for name in COMPONENTS if name != "intervention"])


@pytest.mark.sample(1)
def test_a_list_holds_each_option_with_its_own_settings_in_its_order():
    run = one(*BOTH, "protocol=clean")
    assert run.science["intervention"]["name"] == "l2_init+redo"
    assert run.addresses("intervention") == ["intervention.l2_init", "intervention.redo"]
    assert run.settings("intervention.redo") == {"strength": 0.1, "every": 7, "average": 16}
    assert list(run.component("intervention").members) == ["l2_init", "redo"]
    other = one("intervention=[redo,l2_init]", "intervention.redo.every=7", "protocol=clean")
    assert list(other.component("intervention").members) == ["redo", "l2_init"]
    assert other.id != run.id
    assert one("intervention=l2_init+redo", BOTH[1], "protocol=clean").id == run.id


@pytest.mark.sample(1)
def test_an_option_alone_is_itself_however_it_is_said():
    alone = one("intervention=redo", "intervention.every=7")
    for words in (("intervention=[redo]", "intervention.every=7"), ("intervention=redo", "intervention.redo.every=7")):
        found = one(*words)
        assert (found.id, found.science, found.targets) == (alone.id, alone.science, alone.targets)


@pytest.mark.sample(1)
def test_a_list_comes_through_hydra_a_plan_and_a_record():
    resolved = resolve(["schedule=smoke", "intervention=[redo,l2_init]", BOTH[1], "save_weights=final"])
    (run,) = resolved.runs
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("config", overrides_of(run, resolved.settings), return_hydra_config=True)
    again, settings = run_from(config, config.hydra.runtime.choices)
    assert (again, settings) == (run, resolved.settings)
    assert list(again.targets) == list(run.targets)
    assert through_a_plan(run) == run


def through_a_plan(run: Run) -> Run:
    short = Shortened()
    line = short.run(run)
    values, alike = json.loads(json.dumps([short.values, short.runs_alike]))
    return StoredRuns(values, alike, {run.id: line})[run.id]


def test_a_group_that_is_no_science_is_no_part_of_an_id_but_of_plan_record_and_pack(no_science):
    plain, looked_at = one(), one(*BOTH)
    assert plain.id == looked_at.id
    assert "intervention" not in looked_at.science
    assert "intervention" not in looked_at.asked_as[0]
    assert list(looked_at.component("intervention").members) == ["l2_init", "redo"]
    assert plain.structure() != looked_at.structure(), "they share no pack"
    assert through_a_plan(looked_at) == looked_at
    record = new_record(looked_at, "done", {})
    assert record["besides"]["intervention"]["redo"]["every"] == 7
    check_targets(plain, record)  # another choice is no other class
    assert looked_at.trained_by == plain.trained_by


@pytest.mark.parametrize("words", [["intervention=none,redo"], ["intervention=redo", "intervention.every=1,2"]])
def test_a_group_that_is_no_science_is_not_swept(no_science, words):
    with pytest.raises(ConfigError, match=r"cannot be swept"):
        resolve(words)


@pytest.mark.sample(1)
def test_lists_and_their_settings_are_swept():
    found = resolve(["intervention=none,[l2_init,redo]"]).runs
    assert [run.name("intervention") for run in found] == ["none", "l2_init+redo"]
    swept = resolve([*BOTH[:1], "intervention.redo.every=7,8", "intervention.l2_init.strength=0.1,0.2"]).runs
    assert len({run.id for run in swept}) == 4
