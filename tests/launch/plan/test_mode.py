"""The mode follows from the run and the kind of device alone; what was measured changes no mode, a name does."""

import math
from dataclasses import replace

import pytest
import torch

from launch.__main__ import main
from launch.plan import planner
from launch.plan.calibration import calibration_of, write_calibration
from launch.plan.device import NO_COMPILER, kind_of
from launch.plan.planner import choice_of
from launch.plan.speed import Calibration, Speed, deciding_speed, known_yardsticks, rule_of
from plasticity_lab.agents.cost import Cost
from plasticity_lab.errors import ConfigError
from plasticity_lab.kernels import build
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import planned

COST = Cost(length=1, unit="steps", updates=1, flops=1, memory=[], speed="dense", rows=1, parameters=1, kernels=True)
ON_AVX2, ON_AVX512, ON_A_GPU = "cpu-avx2-00000a", "cpu-avx512-00000b", "Some GPU (sm_90, CUDA 12.8, cuDNN 9)"


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """One with AVX2 and a compiler; what was said once is said again."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(build, "compiler", lambda: "g++")
    planner._say_once.cache_clear()


def taken(cost=COST, kind=ON_AVX2, setting="auto", uncompiled=None, modes=None):
    return choice_of(cost, kind, setting, uncompiled, modes or {}).mode


@pytest.mark.parametrize("kind", [ON_AVX2, ON_AVX512, ON_A_GPU, "cpu"])
@pytest.mark.parametrize("speed", [*known_yardsticks(), "another"])
def test_by_itself_a_run_is_compiled_from_so_many_updates_on_as_save_what_that_costs(kind, speed):
    rule, figures = rule_of(kind, speed), deciding_speed(kind, speed)
    an_update = [figures.seconds(each, 1, 1, 10**6) for each in ("eager", rule.mode)]
    enough = math.ceil(rule.from_seconds / (an_update[0] - an_update[1]))
    cost = replace(COST, speed=speed, flops=10**6)
    few, many = (replace(cost, updates=enough + more) for more in (-1, 1))
    assert [taken(few, kind), taken(many, kind)] == ["eager", rule.mode]
    assert taken(many, kind, uncompiled=NO_COMPILER) == "eager"
    assert f"{rule.from_seconds:g} s" in choice_of(many, kind, "auto", None, {}).why


@pytest.mark.parametrize(
    ("kind", "speed", "flops", "enough"),
    [
        (ON_AVX512, "dense", 6_073_600, 2_840),
        (ON_AVX2, "dense", 6_073_600, 3_269),
        (ON_AVX512, "convolving", 254_822_400, 330),
        (ON_AVX512, "boards", 118_267_904, 242),
        (ON_AVX512, "ppo", 102_039_552, 1_247),
        (ON_A_GPU, "convolving", 254_822_400, 1_313),
    ],
)
def test_the_shortest_run_that_is_compiled_stays_the_same_whatever_plans_cost(kind, speed, flops, enough):
    cost = replace(COST, speed=speed, flops=flops)
    taken_by = [taken(replace(cost, updates=updates), kind) for updates in (enough - 1, enough)]
    assert taken_by == ["eager", rule_of(kind, speed).mode]


def test_a_run_that_lacks_kernels_is_compiled_where_that_alone_saves_enough():
    convolving = deciding_speed(ON_AVX2, "convolving")
    cost = replace(COST, speed="convolving", flops=10**8, updates=650)
    by_kernels, compiled = (
        convolving.seconds("eager", 1, 650, 10**8) - convolving.seconds(each, 1, 650, 10**8)
        for each in ("kernels", "compiled")
    )
    assert by_kernels > rule_of(ON_AVX2, "convolving").from_seconds > compiled
    assert [taken(cost), taken(replace(cost, kernels=False))] == ["kernels", "eager"]


def test_kernels_are_the_default_of_long_runs_where_a_cpu_has_them(monkeypatch):
    long = replace(COST, updates=10**6)
    assert [taken(long, kind) for kind in (ON_AVX2, ON_AVX512, "cpu", ON_A_GPU)] == ["kernels"] * 3 + ["compiled"]
    assert taken(replace(long, kernels=False)) == "compiled"
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    assert taken(long, "cpu-default-00000c") == "compiled"


def test_a_mode_that_is_set_is_taken_if_it_can_be(capsys):
    assert taken(setting="compiled") == "compiled"
    assert taken(setting="kernels") == "kernels"
    assert taken(replace(COST, updates=10**9), setting="eager") == "eager"
    with pytest.raises(ConfigError, match="no C\\+\\+ compiler"):
        taken(setting="compiled", uncompiled=NO_COMPILER)
    assert "".join(capsys.readouterr()) == ""


def test_what_was_measured_corrects_times_and_changes_no_mode(tmp_path):
    store, long = Store(tmp_path), replace(COST, updates=10**6)
    fast = Speed({"eager": 1, "compiled": 1, "kernels": 1}, {"eager": 0.0, "compiled": 9.0, "kernels": 99.0}, {
        "eager": 1e20, "compiled": 1.0, "kernels": 1.0,
    })  # fmt: skip
    write_calibration(store, ON_AVX2, Calibration({"dense": fast}, "of a busy moment"), {})
    found = calibration_of(ON_AVX2, store)
    assert found.seconds(long, "kernels", 1) > 10**6 > found.seconds(long, "eager", 1)
    assert taken(long, modes=found.modes) == "kernels"
    assert taken(modes=found.modes) == "eager"


def test_a_mode_is_set_by_name_and_taken_back(tmp_path, capsys, monkeypatch):
    monkeypatch.undo()
    kind, store = kind_of("cpu"), Store(tmp_path)

    def set_to(*words):
        return main(["calibrate", "--store", str(tmp_path), "--device", "cpu", *words])

    assert set_to("--set-mode", "dense=eager", "--set-mode", "ppo=compiled") == 0
    assert "dense=eager, ppo=compiled" in capsys.readouterr().out
    found = calibration_of(kind, store)
    assert found.modes == {"dense": "eager", "ppo": "compiled"}
    assert replace(found, modes={}) == calibration_of(kind, Store(tmp_path / "another"))
    plan = planned(store, "seed=0", "benchmark.tasks=1000", "schedule=full", "mode=auto")
    assert [pack.mode for pack in plan.packs] == ["eager"]
    plan = planned(store, "seed=1", "benchmark.tasks=1000", "schedule=full", "mode=compiled")
    assert [pack.mode for pack in plan.packs] == ["compiled"]
    write_calibration(store, kind, Calibration(found.speeds, "measured later"), {})
    assert calibration_of(kind, store).modes == found.modes, "measuring takes back nothing"
    assert set_to("--set-mode", "dense=auto") == 0
    assert calibration_of(kind, store).modes == {"ppo": "compiled"}
    assert calibration_of(kind, store).basis == "measured later"


@pytest.mark.parametrize("word", ["dense", "dense=fast", "mlp=eager", "=eager"])
def test_what_is_no_yardstick_or_no_mode_is_answered_with_those_that_are(tmp_path, capsys, word):
    assert main(["calibrate", "--store", str(tmp_path / "store"), "--device", "cpu", "--set-mode", word]) == 1
    told = capsys.readouterr().err
    assert all(known in told for known in ("dense", "convolving", "ppo", "eager", "compiled", "kernels", "auto"))
    assert not (tmp_path / "store").exists()
