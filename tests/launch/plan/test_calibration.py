import json
from dataclasses import asdict

import pytest

from launch.__main__ import main
from launch.bench.usual import work_of
from launch.plan.calibration import calibration_of, damaged_calibrations, read_calibration, write_calibration
from launch.plan.device import kind_of
from launch.plan.measuring import fitted, narrowest, speed_of, speeds_of
from launch.plan.speed import AVX2, AVX512, Calibration, default_calibration
from launch.plan.speed import GPU as OF_GPUS
from plasticity_lab.agents.supervised.workload import Workload
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.kinds import device_name
from plasticity_lab.records.store import Store
from tests.agents.ppo.packs import there_are
from tests.helpers.sweeps import planned

FLOPS = 6_000_000
CPU, GPU = AVX2, OF_GPUS


def rates(fixed, flops, widths=(1, 2, 4, 8)):
    return {width: width / (fixed + FLOPS * width / flops) for width in widths}


def test_a_speed_recovers_what_made_the_rates_with_the_narrowest_fast_width():
    assert fitted(rates(2e-4, 7e10), FLOPS) == (pytest.approx(2e-4), pytest.approx(7e10))
    assert fitted({4: 8_000}, FLOPS)[1] > 0
    assert fitted({1: 8_000, 2: 7_000, 4: 6_000}, FLOPS)[0] == 0  # wider packs slower than in proportion
    assert narrowest({1: 2_000, 4: 6_900, 8: 7_000, 16: 6_500}) == 4
    assert narrowest({1: 2_000, 4: 6_000, 8: 7_000, 16: 7_100}) == 8
    speed = speed_of({"eager": rates(2e-4, 6e10)}, FLOPS, 2.0)
    assert speed.seconds("eager", width=4, updates=1_000, flops=FLOPS) == pytest.approx(1_000 * (2e-4 + 4e-4))
    assert speed.bytes(100) == 200


@pytest.mark.parametrize(("network", "speed"), [("mlp", "dense"), ("cnn", "convolving")])
def test_the_operations_of_a_step_are_those_that_torch_counts(network, speed):
    workload = Workload(network, steps=2)
    assert workload.cost.flops == work_of(workload).flops
    assert workload.cost.speed == speed


def test_what_was_measured_is_used_and_the_rest_is_the_default(tmp_path):
    assert calibration_of("cpu", Store(tmp_path)) == CPU
    assert "not measured" in GPU.basis
    eager = speed_of({"eager": {2: 50.0, 4: 80.0}}, FLOPS, 1.5)
    write_calibration(Store(tmp_path), "cpu", Calibration({"dense": eager, "convolving": eager}, "measured here"), {})
    found = calibration_of("cpu", Store(tmp_path))
    assert found.basis == "measured here"
    assert found.of("dense").width == CPU.of("dense").width | {"eager": 4}
    assert found.of("dense").flops["eager"] == eager.flops["eager"]
    assert found.of("convolving").memory == 1.5
    assert calibration_of("NVIDIA H200", Store(tmp_path)) == GPU


def test_a_step_of_a_large_network_takes_at_least_the_time_of_its_memory():
    """Batch 1, width 2000: 30 MFLOP, but a value, a gradient and two moments for each of 5.6 million parameters."""
    parameters, flops = 5_592_010, 30_392_000
    for mode, least in (("eager", 6e-3), ("kernels", 2e-3)):
        dense = AVX512.of("dense")
        assert least < dense.seconds(mode, 1, 1, flops, parameters) < 15e-3
        assert dense.seconds(mode, 1, 1, flops) < least / 2
    small = dense.seconds("eager", 1, 1, FLOPS, 10_000) - dense.seconds("eager", 1, 1, FLOPS)
    assert small == pytest.approx(10_000 * dense.parameter_seconds["eager"], rel=0.05), "it fits into the caches"


def test_a_measured_yardstick_multiplies_the_shipped_figures_it_corrects():
    cost = Workload("mlp").cost
    twice = {width: width / (2 * AVX512.priced(cost).seconds("kernels", width, 1, cost.flops, cost.parameters))
             for width in (1, 4)}  # fmt: skip
    found = speeds_of("dense", cost, {"kernels": twice}, 1.0, AVX512)
    assert found.keys() == {"dense", "stack", "ppo", "sac"}
    for name, speed in found.items():
        assert speed.flops == {"kernels": pytest.approx(AVX512.of(name).flops["kernels"] / 2)}
        assert speed.run_seconds == {"kernels": pytest.approx(2 * AVX512.of(name).run_seconds["kernels"])}
    assert speeds_of("mine", cost, {"kernels": twice}, 1.0, AVX512).keys() == {"mine"}


def test_figures_are_those_of_a_capability(tmp_path):
    store = Store(tmp_path)
    speed = speed_of({"eager": {2: 50.0, 4: 80.0}}, FLOPS, 1.0)
    write_calibration(store, "cpu-avx2-00000a", Calibration({"dense": speed}, "of AVX2"), {})
    assert calibration_of("cpu-avx2-00000b", store).basis == "of AVX2"
    assert calibration_of("cpu-avx512-00000c", store) == AVX512
    write_calibration(store, "Some GPU (sm_90, CUDA 12.8, cuDNN 9)", Calibration({"dense": speed}, "of it"), {})
    assert calibration_of("Some GPU", store).basis == "of it"


GOOD = {"kind": "cpu", **asdict(CPU)}
DENSE = GOOD["speeds"]["dense"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"speeds": {}}',
        json.dumps(GOOD | {"speeds": 3}),
        json.dumps(GOOD | {"speeds": {"dense": 3}}),
        json.dumps(GOOD | {"speeds": {"dense": DENSE | {"width": {"eager": "wide"}}}}),
        json.dumps(GOOD | {"speeds": {"dense": DENSE | {"flops": {"eager": 0}}}}),
        json.dumps(GOOD | {"host_steps": {"a game": "slow"}}),
        json.dumps(GOOD | {"modes": {"dense": "fast"}}),
        json.dumps(GOOD | {"modes": {"dense": ["eager"]}}),
    ],
)
def test_a_damaged_calibration_is_named_with_the_way_out(tmp_path, content):
    path = Store(tmp_path).calibration("cpu")
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(DamagedFile, match=r"cpu\.json .*`python -m launch calibrate` measures again") as caught:
        calibration_of("cpu", Store(tmp_path))
    assert [str(error) for error in damaged_calibrations(Store(tmp_path))] == [str(caught.value)]
    path.write_text(json.dumps(GOOD))
    assert damaged_calibrations(Store(tmp_path)) == []


def test_calibrate_leaves_what_plans_read(tmp_path, capsys):
    command = ["calibrate", "--store", str(tmp_path), "--device", "cpu", "--mode", "eager"]
    assert main([*command, "--repeats", "1", "--steps", "2"]) == 0
    kind = kind_of("cpu")
    assert str(Store(tmp_path).calibration(device_name(kind))) in capsys.readouterr().out
    found = calibration_of(kind, Store(tmp_path))
    assert found.basis.startswith("measured on one core of")
    assert found.of("dense").step_seconds["eager"] != CPU.of("dense").step_seconds["eager"]
    assert found.of("dense").width["compiled"] == CPU.of("dense").width["compiled"]
    of_sac, shipped = (calibration.of("sac").run_seconds for calibration in (found, default_calibration(kind)))
    assert of_sac["eager"] != shipped["eager"], "the MLP's measurement corrects it"
    assert of_sac["kernels"] == shipped["kernels"]


QUICK = ("--device", "cpu", "--mode", "eager", "--repeats", "1", "--steps", "2")


@pytest.fixture
def timed(monkeypatch):
    """The names of the environments that are timed, without waiting for it; each takes 2 µs a step."""
    names = []

    def quickly(device, yardsticks, environments, modes, repeats, say):
        names.append(sorted(environments))
        return Calibration(CPU.speeds, "quick", dict.fromkeys(environments, 2e-6)), {"rates": {}}

    monkeypatch.setattr("launch.plan.measuring.measured", quickly)
    return names


def test_the_environments_are_timed_that_words_name_or_plans_of_the_store(tmp_path, timed, monkeypatch, capsys):
    there_are(monkeypatch)
    store = Store(tmp_path)

    def calibrate(*words):
        assert main(["calibrate", *words, "--store", str(tmp_path), *QUICK]) == 0, capsys.readouterr().err
        kept = read_calibration(store.calibration(device_name(kind_of("cpu"))))
        return timed[-1], sorted(kept.host_steps)

    assert calibrate() == ([], [])
    planned(store, "seed=0")
    assert calibrate() == ([], []), "images are shown, and nobody acts"
    planned(store, "benchmark=classic_cycle", "benchmark.bodies=[cartpole,sliders]")
    assert calibrate() == (["cartpole", "sliders"],) * 2
    words = ("benchmark=classic_cycle", "benchmark.bodies=[chosen]")
    assert calibrate(*words) == (["chosen"], ["cartpole", "chosen", "sliders"]), "earlier ones stay"
    assert calibrate("benchmark=permuted_digits")[0] == []
