"""The kernels are compiled by the parts that a run calls, beside each other, and each once on a machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from plasticity_lab.agents.update import LossOutput, update_of
from plasticity_lab.component import load
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.kernels import build, operators
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.sgd import SGD
from tests.helpers.packs import choice, needs_compiler, needs_kernels

pytestmark = [needs_compiler, needs_kernels, pytest.mark.sample(5)]
STAND_IN = """#!/bin/sh
case "$*" in *kernels/*) ;; *) exec {compiler} "$@" ;; esac
for word in "$@"; do
  case "$word" in *.cpp) part=$(basename "$word" .cpp) ;; *.so) made="$word" ;; esac
done
echo "$part" >> {folder}/begun
{meanwhile}
echo code > "$made"
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A compiler that notes which parts of the kernels it is given: (a shell's commands meanwhile) → its notes."""

    def put(meanwhile: str = ":") -> Path:
        path = tmp_path / "compiler"
        path.write_text(STAND_IN.format(compiler=build.compiler(), folder=tmp_path, meanwhile=meanwhile))
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
        build._begun.cache_clear()
        return tmp_path / "begun"

    yield put
    build._begun.cache_clear()


def made(parts):
    for part in parts:
        build._begun(part).result(timeout=60)


def model(name: str, shape: tuple[int, ...]) -> Model:
    target, settings = choice("network", name)
    activation, own = choice("activation", "relu")
    return Model(load(target)(**settings), [load(activation)(**own)], {"": Shapes(shape, {"logits": 10})})


def no_loss(*_) -> LossOutput:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("network", "shape", "optimizer", "clip", "parts"),
    [
        ("mlp", (784,), Adam(), None, {"linear", "linear_gradients", "linear_adam", "steps"}),
        ("mlp", (784,), SGD(), None, {"linear", "linear_gradients", "linear_sgd", "steps"}),
        ("mlp", (784,), Adam(), dict, {"linear", "linear_gradients", "steps"}),
        ("mlp", (784,), SGD(), dict, {"linear", "linear_gradients"}),
        ("cnn", (3, 32, 32), Adam(), None, {"conv", "linear", "linear_gradients", "linear_adam", "steps"}),
    ],
)
def test_a_run_compiles_the_parts_that_it_calls(network, shape, optimizer, clip, parts, stand_in, monkeypatch):
    """Of an MLP no convolution, and one optimizer's step: none where gradients are clipped before."""
    begun = stand_in()
    monkeypatch.setattr(build, "_expected", [])
    update_of(model(network, shape), no_loss, optimizer, NoIntervention(), clip, kernels=True, examples="x")
    assert set(build._expected) == parts
    assert not begun.exists(), "an update that is never called compiles nothing"
    build.begin_expected()
    made(parts)
    assert set(begun.read_text().split()) == parts


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_parts_are_compiled_beside_each_other(stand_in):
    """Each compiler waits until the other has begun."""
    other = "for n in $(seq 300); do [ $(wc -l < {0}/begun) -ge 2 ] && break; sleep 0.1; done; [ $n -lt 300 ] || exit 1"
    begun = stand_in(other.format("$(dirname $0)"))
    build.expect(["linear", "conv"])
    made(["linear", "conv"])
    assert sorted(begun.read_text().split()) == ["conv", "linear"]


def test_a_part_that_two_need_at_once_is_compiled_once(stand_in):
    begun = stand_in("sleep 0.5")
    first = build._begun("linear")
    build._begun.cache_clear()  # as another process, which knows nothing of the first
    second = build._begun("linear")
    assert first is not second
    assert first.result(timeout=60) == second.result(timeout=60)
    assert begun.read_text().split() == ["linear"]


def test_the_code_of_a_part_is_known_by_its_own_source(stand_in):
    stand_in()
    names = {part: build._begun(part).result(timeout=60).name for part in operators.PARTS}
    assert len(set(names.values())) == len(operators.PARTS)
    assert all((build.HERE / f"{part}.cpp").exists() for part in operators.PARTS)


def test_a_compiler_that_fails_says_so(stand_in):
    stand_in("echo 'no such header' >&2; exit 1")
    with pytest.raises(build.KernelsMissing, match="no such header"):
        made(["linear"])


ON_DEMAND = """
import torch
from plasticity_lab.kernels import build
from plasticity_lab.kernels.through import prepare
prepare()
x = torch.ones(1, 2, 3)
assert not list(build.folder().glob("softmax*.so"))
assert torch.ops.plasticity_lab.softmax(x, False, 0).allclose(torch.tensor(1 / 3))
print(*sorted(path.name.partition("-")[0] for path in build.folder().glob("*.so")))
"""


def test_an_operator_that_nobody_expected_is_compiled_when_it_is_called(tmp_path):
    own = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ON_DEMAND], env=own, text=True, capture_output=True, check=True)
    assert done.stdout.split() == ["softmax"]


def test_tensors_elsewhere_are_refused():
    operators.define()
    with pytest.raises(NotImplementedError, match="CPU"):
        operators._loading("softmax", "softmax")(torch.zeros(1, 2, 3, device="meta"), False, 0)


def test_parts_of_an_update_begin_with_a_graph_or_with_the_first_that_is_loaded(stand_in, monkeypatch):
    notes = stand_in()
    monkeypatch.setattr(build, "_expected", [])
    build.expect(["linear", "linear_adam"], at_once=False)
    assert not notes.exists(), "the update may never be called"
    build.expect(["pool"])
    made(["pool"])
    assert notes.read_text().split() == ["pool"]
    build.begin_expected()
    made(["linear", "linear_adam"])
    assert sorted(notes.read_text().split()) == ["linear", "linear_adam", "pool"]
    build.expect(["softmax", "pixels"], at_once=False)
    monkeypatch.setattr(torch.ops, "load_library", lambda path: None)
    build.load.__wrapped__("pixels")
    assert not build._expected
    made(["softmax"])
    assert {"softmax", "pixels"} <= set(notes.read_text().split())
