"""Optimizer steps of linear layers by kernels of a GPU, computed by torch on a CPU; tests/cuda has the rest."""

import re
from collections import OrderedDict

import pytest
import torch
from torch.utils._pytree import tree_map

from plasticity_lab.agents import graphs
from plasticity_lab.kernels import on_gpu, steps_on_gpu
from plasticity_lab.stacking.optimizer import WithFusedStep
from tests.helpers.first_steps import first_steps
from tests.helpers.on_meta import OnTheDevice
from tests.helpers.packs import SUPERVISED, choice, differing, images, needs_compiler, run, trained

GREY, COLOURED = images(8, 48, 16), images(8, 48, 16, channels=3)
SETTINGS = {
    "adam": {"network": {"width": 13}},  # whose last layer is padded
    "adamw": {"optimizer": {"name": "adamw", "weight_decay": 0.1, "schedule": "linear", "warmup": 0.2}},
    "moments that are reset": {"optimizer": {"reset": "task"}},
    "layer normalisation": {"network": {"norm": "layer"}},
    "convolutions": {"network": {"name": "cnn", "padding": "same"}},
    "units that are reset": {"intervention": choice("intervention", "redo")},
}


@pytest.fixture
def steps(monkeypatch):
    """Everything counts as on a GPU, where torch's fused kernels serve nobody; the arguments of the kernel's calls."""
    monkeypatch.setattr(on_gpu, "serves", lambda x: x.dtype == torch.float32)
    monkeypatch.setattr(WithFusedStep, "update", lambda self, *given: self.composed(*given))
    calls, step = [], steps_on_gpu.STEPS["linear_adam"]
    monkeypatch.setitem(steps_on_gpu.STEPS, "linear_adam", lambda *given: calls.append(given) or step(*given))
    return calls


def pack(own, activation="rrelu", **how):
    """Two runs of two tasks, three updates each."""
    own = {"tasks": 2, "images": 48, **own, "network": {"width": 12} | own.get("network", {})}
    image_set = COLOURED if own["network"].get("name") == "cnn" else GREY
    return trained([run(seed, activation, **own) for seed in range(2)], image_set, **how)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_numbers_are_those_of_the_gradient_and_the_composed_step(name, steps, monkeypatch):
    """To the bit, over whole runs."""
    by_kernel = pack(SETTINGS[name])
    assert len(steps) == 2 * 3 * 3, "tasks, updates and layers"
    monkeypatch.setattr(steps_on_gpu, "STEPS", {})
    composed = pack(SETTINGS[name])
    for k in range(2):
        assert not differing(by_kernel.of(k), composed.of(k))


@pytest.mark.parametrize(
    "own",
    [
        {"optimizer": {"name": "sgd"}},
        {"intervention": choice("intervention", "l2_init")},
        {"agent": (*SUPERVISED[:2], {"max_norm": 0.1})},
    ],
    ids=["another optimizer", "an intervention that reads gradients", "clipped gradients"],
)
def test_gradients_that_others_read_are_stored(own, steps):
    pack(own)
    assert not steps


def test_sums_over_very_many_examples_keep_their_parts(steps, monkeypatch):
    monkeypatch.setattr(steps_on_gpu, "MOST_EXAMPLES", 15)  # of 16
    pack({})
    assert not steps
    monkeypatch.setattr(steps_on_gpu, "MOST_EXAMPLES", 16)
    pack({})
    assert steps


def test_more_weights_than_a_kernel_can_count_are_a_sentence():
    weight = torch.zeros(1).expand(1, 2**16, 2**15)  # in no memory
    x, delta, numbers = torch.zeros(1, 1, 2**16), torch.zeros(1, 1, 2**15), torch.zeros(1, 7)
    with pytest.raises(ValueError, match="2,147,483,648 weights"):
        steps_on_gpu.adam(x, delta, numbers, *3 * [weight, torch.zeros(1, 1, 2**15)])


@needs_compiler
def test_in_a_compiled_graph_the_step_is_in_place_and_nothing_else_computes_gradients(steps, monkeypatch):
    """The kernel takes the graph's own arguments; copies of them would be buffers."""
    from torch._inductor.utils import fresh_cache, run_and_get_code

    monkeypatch.setattr(graphs, "_here", OrderedDict())
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    with fresh_cache():
        _, codes = run_and_get_code(lambda: pack({"network": {"width": 13}}, "relu", compiled=True))
    (code,) = [code for code in codes if "adam_on_gpu" in code]
    called = re.findall(r"adam_on_gpu\.default\((.*)\)", code)
    assert len(called) == 3
    for arguments in called:
        *parts, rounded = arguments.split(", ")[3:]  # behind the layer's input, delta and the numbers
        assert all(re.fullmatch(r"arg\d+_1", part) for part in parts), arguments
        assert rounded == "False", "the composed step in such a graph divides by an approximate instruction"
    assert len(re.findall(r"plasticity_lab\.product\.default\(", code)) == 3 + 2, "forward, and by hidden activations"


def test_on_meta_tensors_it_asks_the_host_for_nothing(monkeypatch):
    monkeypatch.setattr(on_gpu, "serves", lambda x: x.is_meta and x.dtype == torch.float32)
    taken, step = [], steps_on_gpu.STEPS["linear_adam"]
    monkeypatch.setitem(steps_on_gpu.STEPS, "linear_adam", lambda *given: taken.append(given) or step(*given))

    def on_meta(step, arguments):
        there = tree_map(lambda value: value.to("meta") if isinstance(value, torch.Tensor) else value, arguments)
        step(*there)  # what is made once is there after it
        with OnTheDevice():
            step(*there)

    words = "benchmark=permuted_digits", "benchmark.tasks=1", "network.width=16", "activation=rrelu"
    first_steps(on_meta, *words)
    assert len(taken) == 2 * 3
