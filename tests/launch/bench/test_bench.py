"""The bench compares like with like, and its arithmetic is right. Nothing here measures time."""

import gzip
import json
import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from launch.bench import modes
from launch.bench.comparisons import Comparison
from launch.bench.report import as_json, as_text, findings, rows_of
from launch.bench.usual import Limits, Usual, Work, work_of
from launch.plan.timing import Contender, Timing
from plasticity_lab.agents.supervised.workload import Packed, Workload
from plasticity_lab.agents.supervised.workload_settings import ACTIVATIONS
from tests.helpers.sweeps import planned

TOLERANCE = {"mlp": 2e-5, "cnn": 1e-3, "vit": 1e-4}
"""Of the losses of two dozen steps in float32 that add in different orders. Those of the CNN hardly fall in so few
steps, and Adam divides gradients that are nearly zero by their own size."""
ALIKE = [("mlp", activation, False) for activation in sorted(set(ACTIVATIONS) - {"rrelu"})]
ALIKE += [
    ("mlp", "prelu", True),
    ("cnn", "relu", False),
    ("cnn", "prelu", True),
    ("cnn", "tanh", False),
    ("vit", "gelu", False),
]
ALIKE_IN_JAX = [("mlp", "relu", False), ("mlp", "prelu", True), ("cnn", "prelu", True), ("cnn", "swish", False)]
NAMES_BLOCKED = "hydra,omegaconf,pyarrow,pydantic,rich,scipy,sklearn,jax"

needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="the bench extra is not installed")


def short(network="mlp", activation="relu", l2_init=False):
    return Workload(network, activation, "l2_init" if l2_init else "none", steps=12)


@pytest.mark.walk(2)
@pytest.mark.parametrize(("network", "activation", "l2_init"), ALIKE)
def test_the_usual_script_learns_what_a_packed_run_learns(network, activation, l2_init):
    workload = short(network, activation, l2_init)
    usual, packed = Usual(workload, "cpu"), Packed(workload, 2, "eager", "cpu")
    for _ in range(2):
        theirs, ours = usual.burst(), packed.burst().updates
        assert np.allclose(theirs["loss"], ours["loss"][:, 0], rtol=0, atol=TOLERANCE[network])
        assert np.allclose(theirs["accuracy"], ours["accuracy"][:, 0])
    assert not np.allclose(ours["loss"][:, 1], ours["loss"][:, 0], atol=0.01)


def test_the_usual_resnet_begins_as_the_packed_one():
    """Adam divides the gradients of biases before batch normalisation, nearly zero, by their own size."""
    workload = Workload("resnet18", "relu", steps=2)
    theirs, ours = Usual(workload, "cpu").burst(), Packed(workload, 2, "eager", "cpu").burst().updates
    differences = np.abs(theirs["loss"].numpy() - ours["loss"][:, 0])
    assert (differences < [1e-5, 5e-3]).all()


@needs_jax
@pytest.mark.parametrize(("network", "activation", "l2_init"), ALIKE_IN_JAX)
def test_jax_learns_what_a_pack_learns(network, activation, l2_init):
    from launch.bench.jax_peer import JaxPeer

    workload = short(network, activation, l2_init)
    peer, packed = JaxPeer(workload, 2), Packed(workload, 2, "eager", "cpu")
    for _ in range(2):
        theirs, ours = peer.burst(), packed.burst().updates
        assert np.allclose(theirs["loss"], ours["loss"], rtol=0, atol=TOLERANCE[network])
        assert np.allclose(theirs["accuracy"], ours["accuracy"])


def test_a_run_step_of_the_mlp_is_six_megaflop():
    # Three products of each layer, but for the input's gradient in the first: notes of Permuted MNIST's 784-100-100-10.
    products = 3 * (784 * 100 + 100 * 100 + 100 * 10) - 784 * 100
    assert work_of(short()) == Work(flops=2 * 16 * products, parameters=89_610)


def timing(name, width, run_steps, busy, wall=None):
    facts = {"activation": "relu", "mode": "compiled", "width": width}
    made = Timing(Contender(name, facts, run_steps, lambda: None), first=3.0)
    made.busy, made.wall = list(busy), list(wall or busy)
    return made


def compared(part="widths", clock="busy"):
    timings = [
        timing("usual script", 1, 100, [0.1, 0.2, 0.1], [0.2, 0.4, 0.2]),  # 1 ms a run-step, and a disturbed round
        timing("packed, compiled", 4, 400, [0.1, 0.2, 0.1]),
        timing("packed, compiled", 8, 800, [0.16, 0.4, 0.16]),
        timing("JAX", 8, 800, [0.2, 0.4, 0.2]),
    ]
    limits = Limits(flops=1e11, products=5e10, bandwidth={1: 5.6e10, 4: 5.6e10, 8: 2.8e10})
    return Comparison(part, "mlp", timings, clock, limits, Work(flops=6_000_000, parameters=80_000))


def test_rates_are_medians_and_ratios_are_taken_round_by_round():
    usual, narrow, wide, peer = rows_of(compared())
    assert (usual.rate, usual.ratio) == (pytest.approx(1_000), 1)
    assert narrow.rate == pytest.approx(4_000)
    assert (narrow.least, narrow.ratio, narrow.most) == (pytest.approx(4), pytest.approx(4), pytest.approx(4))
    assert (wide.least, wide.ratio, wide.most) == (pytest.approx(4), pytest.approx(5), pytest.approx(5))
    assert usual.share == pytest.approx(0.5)
    assert peer.samples == [0.2, 0.4, 0.2]
    assert rows_of(compared(clock="wall"))[1].ratio == pytest.approx(8)


def test_the_limit_is_products_then_memory():
    usual, narrow, wide, _ = rows_of(compared())
    assert usual.of_limit == pytest.approx((60e-6 + 40e-6) / 1e-3)
    assert narrow.of_limit == pytest.approx((60e-6 + 40e-6) / 250e-6)
    assert wide.of_limit == pytest.approx((60e-6 + 80e-6) / 200e-6)


def test_findings_name_the_best_width_and_compare_the_best_with_the_best():
    said = findings(compared())
    assert "packed, compiled: 5.00× the usual script at width 8, its best." in said
    assert "packed, compiled, at its best width: 1.25× JAX at its best width." in said
    assert as_json(compared())["findings"] == said
    assert all(sentence in as_text(compared()) for sentence in said)


def test_records_and_checkpoints_are_counted_in_milliseconds():
    # The second round was slow for all; the third for one of them.
    timings = [
        timing("alone", 4, 100, [1.0, 3.0, 1.0]),
        timing("records", 4, 100, [1.2, 3.2, 2.2]),
        timing("kept", 4, 100, [1.28, 3.28, 2.28]),
    ]
    timings[2].contender.facts["checkpoints"] = 4
    (said,) = findings(Comparison("records", "mlp", timings, "wall"))
    assert "record took 50.0 ms" in said
    assert "20.0 ms" in said


def test_two_processes_are_compared_by_the_clock_and_by_their_own_time():
    # A neighbour took half of both cores while two were measured; alone, each step took a tenth longer than by itself.
    timings = [timing("one", 8, 100, [1.0], [1.0]), timing("two", 8, 200, [2.2], [2.2])]
    (said,) = findings(Comparison("processes", "mlp", timings, "wall"))
    assert "0.91× one" in said
    assert "cores, 1.82×" in said


def test_packs_of_value_agents_are_compared_with_both_scripts_and_say_what_they_spend_time_on():
    timings = [
        timing("plain script", 1, 10, [1.0, 3.0, 1.0]),  # the second round was slow for all
        timing("plain script, tuned", 1, 10, [0.5, 1.5, 0.5]),
        timing("packed, eager", 4, 40, [1.0, 3.0, 1.0]),
    ]
    assert findings(Comparison("heads", "small_impala", timings[:2], "busy")) == [
        "plain script, tuned: 0.50× the seconds of the plain script baseline."
    ]
    timings[2].contender.facts["seconds"] = {"acting": 1.0, "update": 3.0, "all": 5.0}
    comparison = Comparison("values", "small_impala", timings, "busy")
    (said,) = findings(comparison)
    assert "4.00× the plain script; 2.00× the plain script, tuned" in said
    assert "acting 20%; update 60%" in said
    assert f"  {10.0:.1f}  " in as_text(comparison)  # slow ones have a digit behind the point


@pytest.mark.slow
@pytest.mark.parametrize(
    "among", [("--networks", "mlp", "--interventions", "none,l2_init"), pytest.param((), marks=pytest.mark.slow)]
)
def test_quick_ends_with_a_table_and_a_file_where_only_torch_and_numpy_are(tmp_path, among):
    block = f"import sys; sys.modules.update(dict.fromkeys('{NAMES_BLOCKED}'.split(',')))"
    start = f"{block}; from launch.bench.__main__ import main; sys.exit(main(sys.argv[1:]))"
    parts = ["--parts", "widths,activations,interventions,records", "--activations", "relu,rrelu", *among]
    done = subprocess.run(
        [sys.executable, "-c", start, "--quick", *parts, "--out", tmp_path], capture_output=True, text=True, check=True
    )
    assert "JAX is not measured: it is not installed" in done.stderr
    assert "Records are not measured: pyarrow is not installed." in done.stderr
    assert (tmp_path / "bench.txt").read_text().strip() in done.stdout
    content = json.loads((tmp_path / "bench.json").read_text())
    assert content["provenance"]["torch"] == torch.__version__
    assert [comparison["part"] for comparison in content["comparisons"]][:3] == [
        "widths",
        "activations",
        "interventions",
    ]
    assert all(row["rate"] > 0 for comparison in content["comparisons"] for row in comparison["rows"])


def test_the_situations_are_short_and_long_runs_with_the_updates_that_are_said(store):
    updates = {}
    for name, words in modes.SITUATIONS.items():
        length = [] if "schedule=demo" in words else ["schedule=full"]  # the helper's own is schedule=smoke
        updates[name] = planned(store, *length, *words).packs[0].updates
    ours = {"mlp-short": 1_800, "mlp-long": 10_800, "cnn": 6_540, "replay": 1_800, "ppo": 2_400}
    assert updates == ours | {"boards": 4_750, "sac": 3_596}


@pytest.mark.slow
def test_it_learns_made_images_from_torchvisions_files(tmp_path):
    """Ten classes, each with pixels of its own that are white: whoever reads images and labels rightly learns them."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for part, count in (("train", 3_000), ("t10k", 500)):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = np.where(np.arange(784) % 10 == labels[:, None], 255, 0).astype(np.uint8)
        (raw / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(16) + images.tobytes()))
        (raw / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes(8) + labels.tobytes()))
    command = [sys.executable, "-m", "launch.bench.plain_mnist", "--data", tmp_path, "--tasks", "2"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    online, held_out = map(float, re.fullmatch(r"online (\S+), held out (\S+)\n", said).groups())
    assert held_out == 1
    assert 0.8 < online < 1
