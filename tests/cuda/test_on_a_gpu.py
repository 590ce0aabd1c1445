"""What has to hold on a GPU: `make test-gpu`. An H200 has seen all of it pass (docs/pages/reference/speed.md).

A test that fails on another may well show a fault of the engine, or that the device cannot give what a CPU gives; both
are worth an issue with the device's name and the output.
"""

import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest
import torch

from launch.plan.speed import GPU
from launch.work.process import free_memory, ran_out_of_memory
from plasticity_lab.agents import compiled, graphs
from plasticity_lab.agents.supervised import several
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.agents.supervised.workload import Packed, Workload
from plasticity_lab.kernels import steps_on_gpu
from tests.helpers.packs import choice, differing, images, interventions_under, run, trained

NO_GPU = "torch can use no GPU here (torch.cuda.is_available() is false); these tests need one."
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_GPU)]
DEVICE = "cuda"
GREY, COLOURED = images(28, 96, 40), images(32, 96, 40, channels=3)
WIDTHS = (2, 3, 8, 33)
NETWORKS = {"mlp": GREY, "cnn": COLOURED}


def runs_of(count, network, activation):
    alike = {"images": 96, "tasks": 2, "batch_size": 16}
    return [run(seed, activation, network={"name": network}, **alike) for seed in range(count)]


def on_gpu(runs, image_set, **how):
    return trained(runs, image_set, device=torch.device(DEVICE), **how)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("activation", ["relu", "rrelu"])
@pytest.mark.parametrize("network", NETWORKS)
def test_a_runs_numbers_do_not_depend_on_the_width_of_its_pack(network, activation, compiled):
    alone = on_gpu(runs_of(1, network, activation), NETWORKS[network], compiled=compiled)
    for width in WIDTHS if not compiled else WIDTHS[1:3]:
        pack = on_gpu(runs_of(width, network, activation), NETWORKS[network], compiled=compiled)
        assert not differing(alone.of(0), pack.of(0)), f"in a pack of {width}"


@pytest.mark.parametrize(
    "activation", ["swiglu", "crelu", "deep_fourier", "rational", "prelu", "gelu", "rand_smooth_leaky"]
)
def test_so_it_is_compiled_with_activations_of_every_kind(activation):
    alone, pack = (on_gpu(runs_of(width, "mlp", activation), GREY, compiled=True) for width in (1, 3))
    assert not differing(alone.of(0), pack.of(0))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_pack_that_is_stopped_and_resumed_gets_the_numbers_of_one_that_was_not(network):
    whole = on_gpu(runs_of(3, network, "rrelu"), NETWORKS[network])
    resumed = on_gpu(runs_of(3, network, "rrelu"), NETWORKS[network], stops=[1, 2])
    for k in range(3):
        assert not differing(whole.of(k), resumed.of(k))


@pytest.mark.parametrize("network", NETWORKS)
def test_the_first_losses_are_those_of_a_cpu(network):
    there = on_gpu(runs_of(2, network, "relu"), NETWORKS[network])
    here = trained(runs_of(2, network, "relu"), NETWORKS[network])
    for k in range(2):
        np.testing.assert_allclose(there.of(k)["loss"][:3], here.of(k)["loss"][:3], rtol=1e-4)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("width", [16, 64])
def test_a_pack_takes_about_the_memory_that_is_estimated(network, width):
    workload = Workload(network, steps=20)
    estimated = GPU.of(workload.cost.speed).bytes(workload.cost.device_bytes) * width
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(DEVICE)
    torch.cuda.reset_peak_memory_stats(DEVICE)
    pack = Packed(workload, width, "eager", DEVICE)
    pack.burst()
    pack.learner.evaluate(pack.task)
    taken = torch.cuda.max_memory_allocated(DEVICE) - before
    assert 0.3 * estimated < taken < 1.1 * estimated


def test_a_pack_that_needs_too_much_memory_is_told_from_other_failures_and_leaves_the_gpu_usable():
    workload, error = Workload("mlp", steps=20), None
    total = torch.cuda.get_device_properties(DEVICE).total_memory
    enough_for = 4 * workload.cost.device_bytes
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(min(1.0, (torch.cuda.memory_reserved(DEVICE) + enough_for) / total))
    try:
        try:
            Packed(workload, 512, "eager", DEVICE).burst()
        except Exception as met:
            error = met.with_traceback(None)
        assert error is not None
        assert ran_out_of_memory(error)
        free_memory(DEVICE)
        Packed(workload, 1, "eager", DEVICE).burst()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_recorded_calls_give_the_bits_of_ordinary_ones(monkeypatch):
    recorded = on_gpu(runs_of(3, "mlp", "rrelu"), GREY, compiled=True)
    monkeypatch.setattr(compiled, "cuda_graph", lambda function, device: function)
    monkeypatch.setattr(compiled, "FED_BYTES", 0)
    ordinary = on_gpu(runs_of(3, "mlp", "rrelu"), GREY, compiled=True)
    assert not [name for k in range(3) for name in differing(recorded.of(k), ordinary.of(k))]


def test_several_steps_in_one_launch_give_the_bits_of_single_ones(monkeypatch):
    """Of 44 steps of a task 32 in two launches; moments are reset between tasks."""
    runs = [run(seed, "rrelu", tasks=3, images=700, batch_size=16, optimizer={"reset": "task"}) for seed in range(3)]
    at_once = on_gpu(runs, images(28, 700, 40), compiled=True)
    monkeypatch.setattr(several, "STEPS", 1000)
    single = on_gpu(runs, images(28, 700, 40), compiled=True)
    assert not [name for k in range(3) for name in differing(at_once.of(k), single.of(k))]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("network", NETWORKS)
def test_a_step_that_stores_no_gradient_gives_the_bits_of_one_that_does(network, compiled, monkeypatch):
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    one = on_gpu(runs_of(3, network, "rrelu"), NETWORKS[network], compiled=compiled)
    monkeypatch.setattr(steps_on_gpu, "STEPS", {})
    monkeypatch.setattr(graphs, "_here", OrderedDict())
    other = on_gpu(runs_of(3, network, "rrelu"), NETWORKS[network], compiled=compiled)
    assert not [name for k in range(3) for name in differing(one.of(k), other.of(k))]


def test_another_process_takes_a_graph_from_the_disk_and_gets_the_same_bits(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))

    def digest(*, may_compile):
        code = f"from tests.cuda.digest import digest; print(digest(may_compile={may_compile}))"
        return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert digest(may_compile=True) == digest(may_compile=False)


LOOKS_EACH_TIME = {"continual_backprop", "snr"}
"""After each update the host asks these whether anything is due."""


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.parametrize("name", sorted(set(interventions_under("supervised")) - LOOKS_EACH_TIME))
def test_steps_ask_the_host_for_nothing(name, monkeypatch):
    take = SupervisedLearner._take

    def watched(*arguments):
        torch.cuda.set_sync_debug_mode("error")
        try:
            return take(*arguments)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    monkeypatch.setattr(SupervisedLearner, "_take", watched)
    alike = {"images": 96, "tasks": 2, "batch_size": 16, "intervention": choice("intervention", name)}
    on_gpu([run(seed, "rrelu", **alike) for seed in range(2)], GREY)
