"""Plans of formats 1 to 3: refused by all who read, and brought to today's by the migration."""

import json
import os

import pytest

from plasticity_lab.records.migration.changed import Changed
from plasticity_lab.records.migration.plans import migrate_plans
from plasticity_lab.records.old_format import OldFormat
from plasticity_lab.records.plan import all_plans, read_plan
from tests.helpers.old_files import plan_in_format
from tests.helpers.sweeps import planned


def migrated(store, dry_run=False):
    changed = Changed()
    migrate_plans(store, changed, dry_run)
    return changed


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_plan_of_an_old_format_is_refused_until_it_is_migrated_to_that_of_classifiers(store, number):
    plan, other = planned(store, "activation=relu,leaky_relu", "seed=0,1"), planned(store, "seed=7")
    plan_in_format(store, plan, number)
    before, stamp = store.plan(plan.sweep).read_bytes(), store.plan(plan.sweep).stat().st_mtime_ns
    with pytest.raises(OldFormat, match=rf"format {number} .*python -m launch migrate --store"):
        list(all_plans(store, []))
    dry = migrated(store, dry_run=True)
    assert store.plan(plan.sweep).read_bytes() == before
    done = migrated(store)
    assert (done.old, done.today, done.unreadable) == (dry.old, dry.today, []) == ({"plan": 1}, {"plan": 1}, [])
    found = read_plan(store, plan.sweep)
    assert (found.packs, found.runs, found.asked, found.code) == (plan.packs, plan.runs, plan.asked, {})
    assert {(pack.unit, pack.updates == pack.steps) for pack in found.packs} == {("steps", True)}
    assert store.plan(plan.sweep).stat().st_mtime_ns == stamp, "the order of sweeps stays"
    if number > 1:
        assert found.settings == plan.settings
    assert read_plan(store, other.sweep) == other
    assert migrated(store).today == {"plan": 2}


def test_a_damaged_plan_of_an_old_format_is_set_aside_and_named(store):
    plan = planned(store, "seed=0")
    plan_in_format(store, plan, 2)
    path = store.plan(plan.sweep)
    value = json.loads(path.read_text()) | {"runs": {}}
    path.write_text(json.dumps(value))
    assert migrated(store, dry_run=True).unreadable
    assert path.exists()
    done = migrated(store)
    assert done.old.total() == 0
    (fault,) = done.unreadable
    assert "plan.json lacks runs of its packs" in fault
    assert "plan.json.corrupt-1" in fault
    assert json.loads(path.with_name("plan.json.corrupt-1").read_text()) == value
    assert list(all_plans(store, [])) == []


def test_a_plan_of_a_later_version_is_named_and_left(store):
    path = store.plan(planned(store, "seed=0").sweep)
    path.write_text(json.dumps({"format": 99}))
    assert "format 99" in migrated(store).unreadable[0]
    assert json.loads(path.read_text()) == {"format": 99}


def test_one_that_is_killed_as_it_puts_a_plan_in_its_place_keeps_the_order_of_sweeps(store, monkeypatch):
    plan = planned(store, "seed=0")
    plan_in_format(store, plan, 2)
    path = store.plan(plan.sweep)
    os.utime(path, ns=(10**18, 10**18))
    replace = os.replace

    def killed(temporary, place):
        replace(temporary, place)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            migrated(store)
    assert read_plan(store, plan.sweep).packs == plan.packs
    assert path.stat().st_mtime_ns == 10**18
