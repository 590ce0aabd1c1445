"""Runs that a search stops early, trained by a worker in this process: their packs, records, and who goes on."""

import pytest

from launch.__main__ import main
from launch.launchers.local import Machine
from launch.launchers.prepare import prepared, put_in_order
from launch.packs.sweep import state_of
from launch.packs.todo import outstanding
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.record_facts import ended_for
from plasticity_lab.records.settings import StopRule
from tests.helpers.sweeps import after_looks, all_kept, kept, never, resolved, runs_of, trained, work

pytestmark = pytest.mark.sample(1)

WORDS = ("seed=0,1,2", "launch.workers=1", "save_weights=final")
NEVER_GOOD_ENOUGH = StopRule(metric="taoa", better="more", tasks=[1], values=[2.0])
STEPS = 2 * 90


def searched(store, stopped, *words, stop=never):
    """Trains a batch as a search has it trained, of which the runs in these places are stopped after two tasks."""
    runs = runs_of(*words)
    stopping = {runs[at].id: NEVER_GOOD_ENOUGH for at in stopped}
    settings = resolved(*words).settings.model_copy(update={"store": store.root, "stopping": stopping})
    store.prepare()
    ready = prepared(runs, settings, Machine.of(settings).resources)
    put_in_order(ready)
    if ready.todo.left:
        work(store, ready.plan.sweep, "cpu", stop)
    return ready


def test_a_stopped_run_leaves_a_record_with_its_step_and_its_pack_mates_keep_their_bits(store, undisturbed, capsys):
    stopped, *others = runs_of(*WORDS)
    ready = searched(store, [0], *WORDS)
    record = read_record(store, stopped.id)
    assert (record["status"], record["stopped_at_step"]) == ("stopped", STEPS)
    assert list(record["files"]) == ["metrics.parquet"]
    rows = read_metrics(store, stopped.id)
    assert [kind for kind in rows["kind"].to_pylist() if kind == "task"] == ["task"] * 2
    assert record["summary"]["taoa"] == pytest.approx(sum(_aoa(rows)) / 2)
    assert all_kept(store, others) == {run.id: undisturbed(*WORDS)[run.id] for run in others}
    assert len(ready.plan.packs) == 1
    assert main(["show", stopped.id, "--store", str(store.root)]) == 0
    assert capsys.readouterr().out.startswith(f"Run {stopped.id}: stopped at step {STEPS}\n")
    assert main(["status", "--store", str(store.root)]) == 0
    assert "failed stopped collapsed".split() == capsys.readouterr().out.splitlines()[0].split()[6:9]
    state = state_of(store, read_plan(store, ready.plan.sweep))
    assert (state.counts["done"], state.counts["stopped"], state.progress, state.left) == (2, 1, 1.0, 0)


def _aoa(rows):
    return [aoa for kind, aoa in zip(rows["kind"].to_pylist(), rows["aoa"].to_pylist(), strict=True) if kind == "task"]


def test_a_pack_ends_when_all_of_its_runs_were_stopped(store):
    (pack,) = searched(store, [0, 1, 2], *WORDS).plan.packs
    for run in pack.runs:
        record = read_record(store, run)
        assert (record["status"], record["stopped_at_step"]) == ("stopped", STEPS)
    looks = []
    other = type(store)(store.root / "other")
    searched(other, [0, 1, 2], *WORDS, stop=lambda: bool(looks.append(1)))
    both = len(looks)
    looks.clear()
    searched(type(store)(store.root / "whole"), [0, 1], *WORDS, stop=lambda: bool(looks.append(1)))
    assert both < len(looks), "it was trained no further"


@pytest.mark.parametrize("looks", [3, 5, 7])
def test_a_killed_pack_stops_the_same_runs_at_the_same_step(store, tmp_path, looks):
    searched(store, [0], *WORDS)
    killed = type(store)(tmp_path / "killed")
    searched(killed, [0], *WORDS, stop=after_looks(looks))
    searched(killed, [0], *WORDS)
    runs = runs_of(*WORDS)
    assert all_kept(killed, runs) == all_kept(store, runs)
    assert [read_record(killed, run.id).get("stopped_at_step") for run in runs] == [STEPS, None, None]


def test_the_search_does_not_train_it_on_and_its_own_command_does(store, undisturbed):
    ready, runs = searched(store, [0], *WORDS), runs_of(*WORDS)
    again = searched(store, [0], *WORDS)
    assert (again.todo.left, len(again.todo.finished)) == ([], 3)
    assert again.todo.without_weights == []
    settings = read_plan(store, ready.plan.sweep).settings  # as `resume` takes them
    assert outstanding(store, runs, settings.rerun, settings.launch.retries, ended_for(settings)).left == []
    plan = trained(store, *WORDS)
    assert list(plan.runs) == [runs[0].id]
    assert kept(store, runs[0].id) == undisturbed(*WORDS)[runs[0].id]
    assert searched(store, [0], *WORDS).todo.left == []
    assert read_record(store, runs[0].id)["status"] == "done"
