"""An agent that is no classifier is planned, priced and shown by its Cost alone."""

from dataclasses import replace

import pytest

from launch.__main__ import main
from launch.command import run_command
from launch.launchers.prepare import costs_to_train
from launch.plan.planner import Resources, TooLarge, plan
from launch.plan.speed import AVX2, HOST_STEP_SECONDS
from plasticity_lab.records.plan import write_plan
from tests.helpers.acting import GAME, planted
from tests.helpers.sweeps import planned, resolved

CPU = AVX2
ONE = ("launch.workers=1",)


@pytest.fixture
def words(tmp_path):
    return planted(tmp_path), "agent=acting", "seed=0,1,2", "mode=auto", *ONE


def packs_of(words, kind="cpu", calibration=CPU, mode_of=lambda run, cost: "eager", **more):
    found = resolved(*words)
    resources = Resources(kind, calibration, None, memory=2**30, workers=1, **more)
    return plan(found.runs, resources, costs_to_train(found.settings), mode_of)


@pytest.mark.sample(2)
def test_the_mode_follows_from_updates_and_estimate_keeps_it(store, words, capsys):
    sweep = planned(store, *words)
    (pack,) = sweep.packs
    assert (pack.steps, pack.unit, pack.updates) == (12_000, "environment steps", 24_000)
    asked = []
    packs_of(words, mode_of=lambda run, cost: asked.append(cost.updates) or "eager")
    assert asked == [24_000]
    write_plan(store, replace(sweep, packs=[replace(pack, mode="eager")]))
    assert main(["estimate", "--store", str(store.root), "--workers", "1"]) == 0
    assert " eager " in capsys.readouterr().out, "as it was planned"


def test_acting_and_environments_take_their_time(words):
    (pack,) = packs_of(words)
    speed = CPU.of("dense")
    updates = speed.seconds("eager", 3, 24_000, 1_000_000, parameters=1_000)
    forwards = speed.seconds_of_forwards("eager", 3, 12_000, 1_000)
    assert 0 < forwards < updates / 5
    assert pack.seconds == pytest.approx(updates + forwards + 3 * 12_000 * HOST_STEP_SECONDS)
    slow = replace(speed, step_seconds={"eager": 1.0, "compiled": 1.0})
    (pack,) = packs_of(words, calibration=replace(CPU, speeds={**CPU.speeds, "acting": slow}, host_steps={GAME: 2.0}))
    assert pack.seconds == pytest.approx(24_000 + 3 * 12_000 * 2.0, rel=0.2)


def test_a_call_of_a_packs_environments_is_priced_once_and_each_step_for_each_run(words):
    found = resolved(*words)
    cost = costs_to_train(found.settings)(found.runs[0])
    timed = replace(CPU, host_steps={GAME: 1e-3}, host_calls={GAME: 1.0})
    without = replace(CPU, host_steps={GAME: 0.0})
    for calls, width in ((12_000, 3), (3_000, 3), (3_000, 8)):
        priced = replace(cost, host_calls={GAME: calls})
        more = timed.seconds(priced, "eager", width) - without.seconds(priced, "eager", width)
        assert more == pytest.approx(calls + width * 12_000 * 1e-3)
    alone = replace(CPU, host_steps={GAME: 0.5}).over(timed)
    assert alone.host_steps[GAME] + alone.host_calls[GAME] == pytest.approx(0.5), "calibrate steps it alone"
    assert alone.host_calls[GAME] == pytest.approx(1000 * alone.host_steps[GAME])


def test_a_pass_of_several_copies_is_priced_as_a_pack_of_them(words):
    found = resolved(*words)
    cost = replace(costs_to_train(found.settings)(found.runs[0]), passes=100, pass_flops=6_000_000)
    none = CPU.seconds(replace(cost, passes=0), "kernels", 2)
    for copies in (1, 6):
        more = CPU.seconds(replace(cost, pass_runs=copies), "kernels", 2) - none
        assert more == pytest.approx(CPU.of("dense").seconds("eager", 2 * copies, 100, 6_000_000 // copies))


def test_memory_of_the_host_counts_everywhere_and_what_is_largest_is_named(words):
    large = [*words, f"agent.memory={2**31}"]
    named = r"most of it for its memory of replay, .* choose a smaller agent.memory or"
    with pytest.raises(TooLarge, match=named):
        packs_of(large)
    gpu = {"kind": "Some GPU"}
    with pytest.raises(TooLarge, match=named):
        packs_of(large, **gpu, host_memory=2**31 - 1)
    packs = packs_of(large, **gpu, host_memory=5 * 2**30)
    assert sorted((pack.width, pack.bytes, pack.narrowed) for pack in packs) == [(1, 2**20, True), (2, 2**21, True)]
    assert [pack.bytes for pack in packs_of(large, **gpu)] == [3 * 2**20], "nothing is known of its host"


@pytest.mark.sample(2)
def test_replay_memories_are_counted_on_the_disk_too(store, words, capsys):
    """A log of twice the memory, and what takes its place beside it: three times a MiB of each of three runs."""
    shown = ("schedule=smoke", "tracking=store", "dry_run=true", f"store={store.root}")
    assert run_command([*shown, *words]) == 0
    assert "9 MiB of replay memories" in capsys.readouterr().out
    planned(store, *words)
    assert main(["estimate", "--store", str(store.root), "--workers", "1"]) == 0
    assert "9 MiB of replay memories" in capsys.readouterr().out
    assert run_command([*shown, "seed=0"]) == 0
    assert "replay memories" not in capsys.readouterr().out
