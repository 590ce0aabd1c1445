"""What `python -m launch status` tells, and how it knows."""

import json
import os
from dataclasses import replace

import pytest

from launch.__main__ import main
from launch.packs.leases import Leases
from launch.packs.owner import Owner, this_owner
from launch.packs.progress import Reached, write_progress
from launch.packs.sweep import state_of
from launch.work import training
from plasticity_lab.records.plan import write_plan
from plasticity_lab.records.record import read_record, write_record
from tests.helpers.sweeps import after_looks, never, planned, runs_of, trained, work

pytestmark = pytest.mark.sample(4)

ONE = ("launch.workers=1",)


def counts(store, plan):
    return {state: count for state, count in state_of(store, plan).counts.items() if count}


def status(store, capsys, *words):
    """The exit status, what was printed, and what was said on stderr."""
    code = main(["status", *words, "--store", str(store.root)])
    return code, *capsys.readouterr()


def test_runs_wait_run_and_are_done(store):
    plan = planned(store, "activation=relu,tanh", "seed=0,1", *ONE)
    assert counts(store, plan) == {"waiting": 4}
    assert state_of(store, plan).left is None, "nobody trains"
    lease = Leases(store, 100, this_owner()).claim([plan.packs[0].id])
    assert counts(store, plan) == {"running": 2, "waiting": 2}
    assert state_of(store, plan).progress == 0
    lease.release()
    work(store, plan.sweep, "cpu", never)
    assert counts(store, plan) == {"done": 4}
    assert (state_of(store, plan).progress, state_of(store, plan).left) == (1, 0)
    assert counts(store, planned(store, "activation=relu,tanh", "seed=0,1", *ONE, "rerun=true")) == {"waiting": 4}


def test_a_stopped_pack_waits_as_far_as_it_came(store, monkeypatch):
    monkeypatch.setattr("launch.work.training.PROGRESS_SECONDS", 0.0)
    plan = trained(store, "seed=0,1", *ONE, stop=after_looks(4))
    state = state_of(store, plan)
    assert state.counts["waiting"] == 2
    assert state.progress == pytest.approx(2 / 3), "two of three tasks"
    assert state.left is None


def test_a_pack_of_an_earlier_sweep_counts_in_both(store):
    first = planned(store, "activation=relu", "seed=0,1", *ONE)
    both = planned(store, "activation=relu,tanh", "seed=1", *ONE)
    work(store, first.sweep, "cpu", never)
    assert counts(store, first) == {"done": 2}
    assert counts(store, both) == {"done": 1, "waiting": 1}
    assert state_of(store, both).progress == 0.5


def test_time_left_is_by_the_packs_own_pace_and_by_that_of_its_mates(store):
    """One pack at 100 of 270 steps after 100 s: it needs 170 s, and the other, said to be as long, 2.7 times 100 s."""
    plan = planned(store, "activation=relu,tanh", "seed=0", *ONE)
    plan = replace(plan, packs=[replace(pack, seconds=10.0) for pack in plan.packs])
    leases = Leases(store, 1000, this_owner())
    leases.claim([plan.packs[0].id])
    write_progress(store, plan.packs[0].id, Reached(100, 0, 100.0))
    state = state_of(store, plan)
    (pack,) = state.running
    assert (pack.steps_done, pack.left) == (100, pytest.approx(170))
    assert state.left == pytest.approx(170 + 270), "one worker, one pack after the other"
    leases.claim([plan.packs[1].id])
    assert state_of(store, plan).left == pytest.approx(270), "two workers"


def test_what_went_wrong_is_told_with_its_reason(store, capsys, monkeypatch):
    really = training.assembled

    def assembled(runs, *rest, **more):
        if runs[0].science["activation"]["name"] == "tanh":
            raise ZeroDivisionError("by nought")
        return really(runs, *rest, **more)

    monkeypatch.setattr(training, "assembled", assembled)
    plan = trained(store, "activation=relu,tanh", "optimizer.lr=0.001,1e30", *ONE)
    assert counts(store, plan) == {"done": 1, "diverged": 1, "failed": 2}
    tame, wild = (run.id for run in runs_of("optimizer.lr=0.001,1e30"))
    write_record(store, read_record(store, tame) | {"collapsed": True})
    state = state_of(store, plan)
    assert {reason: len(runs) for reason, runs in state.failed.items()} == {"ZeroDivisionError: by nought": 2}
    assert state.flagged == {"collapsed": [tame]}
    code, out, err = status(store, capsys)
    assert (code, err) == (0, "")
    heads, figures, said, advice = out.splitlines()
    states = "done running waiting diverged failed collapsed"
    assert heads.split() == f"sweep runs {states} progress time left command".split()
    assert figures.split()[:11] == [plan.sweep, "4", "1", "-", "-", "1", "2", "1", "100", "%", "-"]
    assert said.startswith(f"{plan.sweep}: 2 runs failed: ZeroDivisionError: by nought (")
    assert "python -m launch show RUN" in advice
    out = status(store, capsys, plan.sweep[:5])[1]
    at, raised, last = out.partition(said)[2].splitlines()[1:4]
    assert (at.split()[0], raised.strip()) == ("File", 'raise ZeroDivisionError("by nought")')
    assert last == "    ZeroDivisionError: by nought"
    assert f"{plan.sweep}: 1 run diverged: {wild} at step " in out
    assert f"{plan.sweep}: 1 run collapsed to chance: {tame}" in out
    assert counts(store, planned(store, "activation=tanh", "optimizer.lr=0.001", *ONE)) == {"waiting": 1}, "tried again"


def test_a_pack_planned_anew_elsewhere_holds_nothing_up(store):
    plan = planned(store, "activation=relu,tanh", "seed=0", *ONE)
    relu, tanh = sorted((replace(pack, seconds=10.0) for pack in plan.packs), key=lambda pack: pack.family)
    abandoned = replace(plan, packs=[replace(relu, id="never-trained", kind="Some GPU"), tanh])
    trained(store, "activation=relu", "seed=0", *ONE)
    Leases(store, 1000, this_owner()).claim([tanh.id])
    assert counts(store, abandoned) == {"done": 1, "running": 1}
    assert state_of(store, abandoned).left == pytest.approx(10), "the other pack's alone"


def test_a_silent_worker_does_not_run(store):
    plan = planned(store, "seed=0", "launch.lease_seconds=100")
    assert Leases(store, 100, Owner("elsewhere", 1)).claim([plan.packs[0].id])
    assert counts(store, plan) == {"running": 1}
    os.utime(store.lease(plan.packs[0].id, 0), (1.0, 1.0))
    assert counts(store, plan) == {"waiting": 1}


def test_what_a_finished_pack_took_tells_how_long_the_others_will(store):
    plan = planned(store, "activation=relu,tanh", "seed=0", *ONE)
    plan = replace(plan, packs=[replace(pack, seconds=10.0) for pack in plan.packs])
    first, second = plan.packs
    Leases(store, 1000, this_owner()).claim([second.id])
    write_plan(store, replace(plan, packs=[first]))
    work(store, plan.sweep, "cpu", never)
    record = read_record(store, first.runs[0])
    write_record(store, record | {"provenance": record["provenance"] | {"pack_seconds": 30.0}})
    assert state_of(store, plan).left == pytest.approx(30)


def test_json_is_for_programs_and_looking_changes_nothing(store, capsys):
    plan = planned(store, "seed=0,1", *ONE)
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}
    (found,) = json.loads(status(store, capsys, "--json")[1])
    assert found["states"] == dict.fromkeys(plan.asked, "waiting")
    assert (found["sweep"], found["counts"]["waiting"], found["left"]) == (plan.sweep, 2, None)
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()} == before
