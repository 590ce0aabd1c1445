import json
import re
from dataclasses import replace

import pytest

from plasticity_lab.errors import StoreError
from plasticity_lab.records.plan import all_plans, read_plan, write_plan
from tests.helpers.sweeps import planned


@pytest.fixture
def plan(store):
    return planned(store, "activation=relu,leaky_relu", "seed=0,1")


def test_what_is_written_is_read(store, plan):
    assert read_plan(store, plan.sweep) == plan
    assert list(all_plans(store, [])) == [plan]
    assert [run.id for run in plan.runs_of(plan.packs[0])] == list(plan.packs[0].runs)


def test_what_runs_have_alike_is_written_once_and_every_run_is_whole(store):
    words = ("activation=relu,leaky_relu", "optimizer.lr=0.1,0.01", "seed=0,1", "stream_seed=null,5")
    plan = planned(store, *words)
    value = json.loads(store.plan(plan.sweep).read_text())
    assert len(value["runs_alike"]) == 8, "of 16 runs: those that differ in seeds they both have are alike"
    assert len({json.dumps(each) for each in value["values"]}) == len(value["values"])
    assert len(value["packs_alike"]) == len({(pack.family, pack.width) for pack in plan.packs})
    found = read_plan(store, plan.sweep)
    assert found.packs == plan.packs
    for run in plan.runs.values():
        assert list(found.runs[run.id].science.items()) == list(run.science.items())
        assert found.runs[run.id] == run


def test_a_run_that_the_plan_does_not_have_is_not_there(store, plan):
    found = read_plan(store, plan.sweep)
    assert "000000000000" not in found.runs
    with pytest.raises(KeyError):
        found.runs["000000000000"]


def test_a_plan_without_packs_is_one_too(store, plan):
    empty = replace(plan, command=[], asked=[], runs={}, packs=[])
    write_plan(store, empty)
    assert read_plan(store, plan.sweep) == empty


def test_the_sweep_is_named_by_its_runs_whatever_their_order(store, plan):
    assert planned(store, "activation=leaky_relu,relu", "seed=1,0").sweep == plan.sweep
    assert planned(store, "activation=relu", "seed=0,1").sweep != plan.sweep


def test_a_sweep_that_is_not_there_is_a_sentence(store):
    with pytest.raises(StoreError, match=r"\b123\b.*plan\.json"):
        read_plan(store, "123")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: "", "is empty"),
        (lambda text: text[:-20], "is not JSON"),
        (lambda text: text.replace('"packs"', '"sacks"'), "lacks packs"),
        (lambda text: "[]", "is not a mapping"),
        (lambda text: text.replace('"steps"', '"stops"'), "says of packs something that lacks steps"),
        (lambda text: text.replace('"science"', '"silence"'), "holds something else than it should under runs_alike"),
        (lambda text: re.sub(r'"(\w{12})": \[0, \d+\]', r'"\1": [99, 0]', text), r"says of run \w{12} something else"),
        (lambda text: re.sub(r'"(\w{12})": \[0, \d+\]', r'"\1": [0]', text), r"says of run \w{12} something else"),
        (lambda text: re.sub(r'\["(\w{12})", \d+, ', r'["\1", 99, ', text), "says of a pack something else"),
        (
            lambda text: re.sub(r'\["(\w{12})", 0, ', r'["\1", 0, "000000000000", ', text),
            "says of a pack something else",
        ),
        (lambda text: text.replace('"asked": [', '"asked": [[], '), "lacks runs"),
        (lambda text: text.replace('"sweep": "', '"sweep": "0'), "is the plan of another sweep"),
        (lambda text: json.dumps({"format": 7}), "is a plan of format 7, which a newer version"),
    ],
)
def test_a_damaged_plan_is_named_and_hides_no_other(store, plan, damage, said):
    other = planned(store, "seed=7")
    path = store.plan(plan.sweep)
    path.write_text(damage(path.read_text()))
    unreadable = []
    assert list(all_plans(store, unreadable)) == [other]
    (error,) = unreadable
    assert re.match(rf"{re.escape(str(path))} {said}.*\.$", str(error))
    with pytest.raises(type(error)):
        read_plan(store, plan.sweep)
