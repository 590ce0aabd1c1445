"""Shipped figures of environments are the measured ones, and every drawn command is a command."""

import json
from itertools import islice

import pytest

from launch.bench import environments, prices, starts
from launch.bench.page import RESULTS
from launch.command import resolve
from launch.plan.speed import CALIBRATIONS
from plasticity_lab.environments.bodies import BODIES


def test_plans_price_every_environment_of_ours_as_it_was_measured():
    content = json.loads((RESULTS / "environments_zen5.json").read_text())
    steps, calls = environments.figures(content["environment_microseconds"])
    ours = {name for name, body in BODIES.items() if not name.startswith(("atari", "procgen")) and not body.missing}
    assert ours <= steps.keys() == calls.keys()
    for calibration in CALIBRATIONS.values():
        assert calibration.host_steps == pytest.approx(steps, rel=0.05, abs=1e-9)
        assert calibration.host_calls == pytest.approx(calls, rel=0.05)


def test_figures_split_the_time_alone_into_a_call_and_a_step():
    steps, calls = environments.figures({"game": {"1": [30.0, 32.0, 99.0], "8": [5.0, 5.0, 5.0]}})
    assert steps == {"game": pytest.approx(8e-6 / 7)}
    assert calls["game"] + steps["game"] == pytest.approx(32e-6)
    assert environments.figures({"fast": {"1": [9.0], "8": [1.0]}})[0] == {"fast": 0.0}


def test_environments_are_timed_in_turns():
    found = environments.timed(["catch"], [1, 2], repeats=2, burst_seconds=1e-4)
    assert {width: len(of) for width, of in found["catch"].items()} == {1: 2, 2: 2}
    assert all(seconds > 0 for of in found["catch"].values() for seconds in of)


def test_drawn_commands_are_commands_and_the_same_for_a_seed():
    families = list(prices.FAMILIES)
    commands = [list(islice(prices.drawn(families, seed), 2 * len(families))) for seed in (0, 0, 1)]
    assert commands[0] == commands[1] != commands[2]
    assert [family for family, _ in commands[0]] == families * 2
    for _, words in commands[0][: len(families)]:
        assert resolve(words).runs


def test_the_situations_of_starts_are_commands():
    for words in starts.SITUATIONS.values():
        assert resolve([*words, "schedule=smoke", "mode=kernels"]).runs


def test_a_plan_is_taken_apart(tmp_path):
    words = ["benchmark=permuted_digits", "schedule=smoke", "seed=0,1", "mode=eager", "device=cpu", "launch.workers=1"]
    found = prices.planned([*words, f"store={tmp_path}"])
    assert (found["modes"], found["packs"], found["compiling"]) == (["eager"], 1, 0.0)
    assert found["planned"] == pytest.approx(found["training"] + found["starting"], abs=0.02)
    runs, _ = prices.first_pack([*words, f"store={tmp_path}"])
    assert len(runs) == 2
