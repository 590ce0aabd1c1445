"""What `python -m launch estimate` says of a stored sweep, and what a dry run says of the store."""

import os

import pytest

from launch.__main__ import main
from launch.command import run_command
from launch.launchers.prepare import costs_to_train
from launch.plan.calibration import write_calibration
from launch.plan.device import kind_of
from launch.plan.speed import AVX2, GPU
from launch.plan.table import store_bytes
from launch.wording import in_bytes
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from tests.helpers.sweeps import SMOKE, after_looks, never, planned, work

CPU = AVX2

pytestmark = pytest.mark.sample(3)


ONE = ("launch.workers=1",)


@pytest.fixture
def estimate(store, capsys):
    """Estimates → (exit status, what was printed, what was said on stderr)."""

    def estimate(*words):
        code = main(["estimate", *words, "--store", str(store.root)])
        return code, *capsys.readouterr()

    return estimate


def test_it_says_of_a_stored_plan_what_a_dry_run_said_before(store, estimate, capsys):
    words = ("activation=relu,tanh", "seed=0,1,2")
    assert run_command([*SMOKE, *words, *ONE, "dry_run=true", f"store={store.root}"]) == 0
    before = capsys.readouterr().out
    plan = planned(store, *words, *ONE)
    assert estimate("--workers", "1") == (0, before, f"Sweep {plan.sweep} on {kind_of('cpu')}:\n")


def test_finished_runs_cost_nothing_and_begun_ones_are_counted_whole(store, estimate):
    plan = planned(store, "activation=relu,tanh", "seed=0", *ONE)
    work(store, plan.sweep, "cpu", after_looks(7))
    assert "1 run to train in 1 pack, 1 finished already; 270 run-steps" in estimate(plan.sweep[:4])[1]
    work(store, plan.sweep, "cpu", never)
    assert "0 runs to train in 0 packs, 2 finished already" in estimate()[1]


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("save_weights=final",),
        ("save_weights=tasks", "save_weights_every=2"),
        ("benchmark=random_label_digits", "benchmark.tasks=20"),
    ],
)
def test_the_store_grows_about_as_much_as_was_said(store, words):
    """Of blocks on the disk, which every file and folder takes whole; du counts the folder above a run's too."""
    runs = ("activation=relu,leaky_relu", "seed=0,1", *words)
    plan = planned(store, *runs, *ONE)
    kept = plan.settings
    said = store_bytes(plan.packs, plan.runs, kept.save_weights, costs_to_train(kept), kept.save_weights_every)
    work(store, plan.sweep, "cpu", never)
    found = 0
    for folder, _, files in os.walk(store.runs_folder):
        if any(name == "record.json" for name in files):
            found += 4096 + sum(-(-os.path.getsize(os.path.join(folder, name)) // 4096) * 4096 for name in files)
    assert 0.6 < said / found < 1.6


def test_weights_and_the_statistics_beside_them_are_counted(store):
    scaled = ("agent.normalise_observations=true", "agent.normalise_rewards=true")
    plan = planned(
        store, "agent=ppo", "benchmark=classic_cycle", "benchmark.tasks=1", *scaled, "save_weights=final", *ONE
    )
    prices = costs_to_train(plan.settings)
    both, neither = (store_bytes(plan.packs, plan.runs, kept, prices) for kept in ("final", "none"))
    work(store, plan.sweep, "cpu", never)
    sizes = [path.stat().st_size for path in store.runs_folder.rglob("*.pt")]
    assert len(sizes) == 2
    assert abs(both - neither - sum(-(-size // 4096) * 4096 for size in sizes)) <= 4096


def test_a_billion_tasks_are_planned_without_looking_at_each(store, monkeypatch, capsys):
    asked, really = [], LabelledBenchmark.images_of

    def images_of(self, position):
        asked.append(position)
        assert len(asked) < 1000, "every task is asked for its images"
        return really(self, position)

    monkeypatch.setattr(LabelledBenchmark, "images_of", images_of)
    words = ["benchmark.tasks=1000000000", "benchmark.steps=10", "dry_run=true", f"store={store.root}"]
    assert run_command([*SMOKE, *words]) == 0
    assert "10,000,000,000 run-steps" in capsys.readouterr().out


def test_bytes_in_words():
    words = {0: "0 B", 900: "900 B", 4096: "4 KiB", 1_000_000: "977 KiB", 1_040_000: "1,016 KiB", 3 * 2**40: "3 TiB"}
    assert {count: in_bytes(count) for count in words} == words


def test_another_device_is_estimated_by_its_own_calibration(store, estimate):
    planned(store, "seed=range(20)", *ONE)
    assert "20 runs to train in 1 pack; 5,400 run-steps;" in estimate("--device", "Some GPU")[1]
    assert GPU.basis in estimate("--device", "Some GPU")[1]
    write_calibration(store, "Some GPU", CPU, {})
    out = estimate("--device", "Some GPU", "--workers", "4")[1]
    assert "20 runs to train in 4 packs;" in out
    assert f"on 4 workers ({CPU.basis})" in out
