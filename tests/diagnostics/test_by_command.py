"""Diagnostics as a command chooses them: no part of an id, and what becomes of runs that lack one."""

import pytest

from launch.packs.begun_otherwise import what_becomes_of
from launch.packs.endings import REPLACED
from launch.packs.todo import outstanding
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import after_looks, all_kept, ended_packs, planned, runs_of, trained
from tests.tenants.packs import BODIES

pytestmark = pytest.mark.sample(7)

SEEN = "diagnostics=dead_units"
ONE_PACK = ("seed=0,1", "launch.workers=1")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_they_are_no_part_of_a_runs_id_and_of_no_graph():
    (plain,), (seen,) = runs_of("seed=0"), runs_of("seed=0", SEEN, "diagnostics.every=3")
    assert plain.id == seen.id
    assert plain.science == seen.science
    assert plain.trained_by == seen.trained_by
    assert seen.besides == {"diagnostics": {"name": "dead_units", "every": 3}, "assay": {"name": "none"}}
    assert plain.structure() != seen.structure(), "a pack is looked at as a whole"
    assert parts_of([plain]).structure == parts_of([seen]).structure, "compiled graphs serve both"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["diagnostics=dead_units,none"], ["diagnostics"]),
        ([SEEN, "diagnostics.every=1,2"], ["diagnostics.every"]),
        ([SEEN, "diagnostics.every=0"], ["diagnostics.every", "0", "1"]),
        ([SEEN, "diagnostics.every=often"], ["diagnostics.every", "often"]),
        (["diagnostics=dead_unit"], ["diagnostics=dead_unit", "dead_units"]),
        (["diagnostics=[dead_units,none]"], ["diagnostics=none"]),
        (["diagnostics.every=2"], ["diagnostics=none", "every"]),
        ([*BODIES, SEEN], ["diagnostics=dead_units", "agent=actor_critic", "supervised", "ppo"]),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_trained(words, told):
    with pytest.raises(ConfigError) as raised:
        runs_of(*words)
    assert [word for word in told if word not in str(raised.value)] == []


def test_a_finished_run_is_not_trained_again_for_one_until_a_rerun_asks_for_it(store):
    trained(store, "seed=0")
    before = all_kept(store, runs_of("seed=0"))
    (run,) = runs_of("seed=0", SEEN)
    assert read_record(store, run.id)["diagnostics"] == []
    found = outstanding(store, [run], rerun=False, retries=2)
    assert (found.left, found.without_measures) == ([], {("diagnostics", "dead_units"): [run.id]})
    trained(store, "seed=0", SEEN, "rerun=true")
    assert read_record(store, run.id)["diagnostics"] == ["dead_units"]
    assert outstanding(store, [run], rerun=False, retries=2).without_measures == {}
    assert outstanding(store, runs_of("seed=0"), rerun=False, retries=2).left == [], "one too many is no lack"
    after = all_kept(store, [run])[run.id]
    old = before[run.id].summary
    assert {name: after.summary[name] for name in old} == old
    assert after.summary["dead_pairs"] >= after.summary["dead_units"] >= 0


def test_a_begun_pack_goes_on_as_it_began_and_a_planned_one_is_planned_anew(store):
    (first,) = planned(store, *ONE_PACK).packs
    plan = planned(store, *ONE_PACK, SEEN)
    assert {run.name("diagnostics") for run in plan.runs.values()} == {"dead_units"}, "nothing of it was trained"
    trained(store, *ONE_PACK, SEEN, stop=after_looks(6))
    assert ended_packs(store) == []
    plan = planned(store, *ONE_PACK)
    assert {run.name("diagnostics") for run in plan.runs.values()} == {"dead_units"}
    earlier = what_becomes_of(store, plan.packs, plan.runs, runs_of(*ONE_PACK), plan.settings, "cpu", known=False)
    assert (earlier.going_on, "other diagnostics" in earlier.said[-1]) == (plan.packs, True)
    again = planned(store, *ONE_PACK, "rerun=true")
    assert {run.name("diagnostics") for run in again.runs.values()} == {"none"}
    assert [pack["status"] for pack in ended_packs(store)] == [REPLACED]
    assert {pack.id for pack in again.packs}.isdisjoint({first.id})


@pytest.mark.parametrize("names", ["gradient_noise", "[gradient_noise,gradient_rank]", "[gradient_noise,norms]"])
def test_where_all_layers_are_noisy_there_is_no_column_and_that_is_said(names, store, capsys):
    words = ("agent=rainbow", "benchmark=catch", "network=mlp", "network.width=8", "seed=0", f"diagnostics={names}",
             "benchmark.environment_steps=60", "agent.min_history=20", "benchmark.test_episodes=0")  # fmt: skip
    plan = trained(store, *words)
    (run,) = plan.runs
    columns = {each["name"] for each in read_record(store, run)["measures"]["columns"]}
    assert not columns & {"gradient_snr", "gradient_rank", "gradient_root_rank"}
    said = [line for line in capsys.readouterr().err.splitlines() if "nothing to measure" in line]
    assert len(said) == ("norms" not in names)
    assert all("gradient_noise" in line and "agent=rainbow" in line for line in said)
