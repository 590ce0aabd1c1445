import os
from unittest.mock import Mock

import pytest

from launch.launchers import local_workers
from launch.work import precompile
from launch.work.precompile import packs_to_precompile
from plasticity_lab.records.plan import read_plan
from tests.helpers.sweeps import planned


def families(packs):
    return [pack.family.partition(" ")[0] for pack in packs]


@pytest.mark.parametrize("mode", ["compiled", "kernels"])
def test_what_the_workers_begin_with_and_what_shares_graphs_is_left_out(store, mode):
    plan = planned(store, "activation=relu,tanh,elu", "seed=range(16)", f"mode={mode}", "launch.workers=1")
    assert [pack.width for pack in plan.packs] == [8] * 6
    order = list(dict.fromkeys(families(plan.packs)))
    assert families(packs_to_precompile(plan, plan.packs, 0)) == order
    begun = families(plan.packs[:2])
    assert families(packs_to_precompile(plan, plan.packs, 2)) == [name for name in order if name not in begun]


def test_eager_packs_need_nothing(store):
    plan = planned(store, "activation=relu,tanh", "seed=0,1", "mode=eager")
    assert packs_to_precompile(plan, plan.packs, 0) == []


@pytest.mark.parametrize(("words", "starts"), [("activation=relu", 0), ("activation=relu,tanh", 1)])
def test_no_process_starts_where_later_packs_share_the_graphs_of_the_first(store, monkeypatch, words, starts):
    plan, started = planned(store, words, "seed=range(16)", "mode=kernels", "launch.workers=1"), []
    assert len(plan.packs) > 1
    monkeypatch.setattr(local_workers, "cores", lambda: 2)
    monkeypatch.setattr(local_workers.subprocess, "Popen", lambda words, **_: started.append(words) or Mock())
    with local_workers.precompiling(store, plan, plan.packs, 1):
        assert len(started) == starts


def test_a_pack_that_fails_does_not_keep_the_others_from_being_compiled(store, monkeypatch):
    plan, met = planned(store, "activation=relu,tanh,elu", "mode=compiled"), []

    def compile_graphs(runs, resource, kernels, stop):
        met.append(runs[0].id)
        raise ZeroDivisionError

    monkeypatch.setattr(precompile, "compile_graphs", compile_graphs)
    monkeypatch.setattr(os, "nice", lambda by: None)
    monkeypatch.setattr(precompile, "StopSignal", lambda parent: lambda: False)
    assert precompile.main(["--store", str(store.root), "--sweep", plan.sweep, "--workers", "1"]) == 0
    assert met == [pack.runs[0] for pack in read_plan(store, plan.sweep).packs[1:]]
