"""A pack that is begun by one code and goes on by another: every place says so, and a rerun does not mix."""

import pytest

from launch.launchers.local import Machine
from launch.launchers.prepare import prepared
from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.packs.sweep import state_of
from plasticity_lab.records import training_code
from plasticity_lab.records.checkpoint import load_checkpoint
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.record import read_record
from tests.helpers.sweeps import after_looks, all_kept, never, planned, resolved, runs_of, trained, work

pytestmark = pytest.mark.sample(2)

WORDS = ("seed=0,1", "launch.workers=1")


@pytest.fixture
def edited(monkeypatch):
    """Edits the laboratory: what is called is the code of every process that is started from then on."""

    def edit(digest):
        monkeypatch.setattr(training_code, "code_digest", lambda: digest)

    edit("code before")
    return edit


@pytest.fixture
def begun(store, edited):
    """A sweep of one pack that was stopped on its way, before the laboratory was edited."""
    plan = trained(store, *WORDS, stop=after_looks(4))
    edited("code now")
    return plan


def provenances(store, plan):
    return [read_record(store, run)["provenance"] for run in plan.asked]


def test_records_list_the_parts_and_status_counts_them(store, begun, caplog):
    settings = resolved(*WORDS).settings.model_copy(update={"store": store.root})
    ready = prepared(runs_of(*WORDS), settings, Machine.of(settings).resources)
    (line,) = ready.earlier.said
    assert ("rerun=true" in line, "2 runs" in line, ready.earlier.replaced) == (True, True, [])
    work(store, begun.sweep, "cpu", after_looks(1))
    assert set(state_of(store, read_plan(store, begun.sweep)).flagged["mixed_code"]) == set(begun.asked)
    work(store, begun.sweep, "cpu", never)
    said = [each.getMessage() for each in caplog.records if "other code" in each.getMessage()]
    assert "rerun=true" in said[0]
    assert begun.packs[0].id in said[0]
    for made in provenances(store, begun):
        assert [(part["code"], part["from_step"]) for part in made["parts"]] == [("code before", 0), ("code now", 180)]
        assert made["code"] == "code now"
    assert set(state_of(store, read_plan(store, begun.sweep)).flagged["mixed_code"]) == set(begun.asked)


def test_a_rerun_trains_anew_by_one_code_and_can_be_killed_and_resumed_itself(store, begun, tmp_path):
    (old,) = begun.packs
    undisturbed = type(store)(tmp_path / "undisturbed")
    trained(undisturbed, *WORDS)
    plan = trained(store, *WORDS, "rerun=true", stop=after_looks(3))
    (new,) = plan.packs
    assert new.id != old.id
    assert load_checkpoint(store, old.id) is None
    step = load_checkpoint(store, new.id)["journal"]["steps"]
    again = planned(store, *WORDS, "rerun=true")
    assert [pack.id for pack in again.packs] == [new.id], "it is of this code, and goes on"
    assert load_checkpoint(store, new.id)["journal"]["steps"] == step
    work(store, again.sweep, "cpu", never)
    assert all_kept(store, runs_of(*WORDS)) == all_kept(undisturbed, runs_of(*WORDS))
    for made in provenances(store, again):
        assert made["pack"] == new.id
        assert "parts" not in made


def test_a_rerun_leaves_a_pack_to_the_worker_that_holds_it(store, begun):
    assert Leases(store, 1000, Owner("elsewhere", 1)).claim([pack.id for pack in begun.packs]) is not None
    assert [pack.id for pack in planned(store, *WORDS, "rerun=true").packs] == [begun.packs[0].id]
