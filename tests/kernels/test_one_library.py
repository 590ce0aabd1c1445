"""The kernels of a graph in one library."""

import pytest
import torch
from torch._inductor.cpu_vec_isa import VecISA

from plasticity_lab.kernels import one_library
from plasticity_lab.kernels.instructions import try_flags_alone
from plasticity_lab.kernels.one_library import divided, placed, source_of
from tests.helpers.packs import needs_compiler

HALVE = """
#include <cstdint>
static float part(float x) { return x / 2; }
extern "C" void kernel(const float* x, float* out, const int64_t count) {
    for (int64_t at = 0; at < count; ++at) out[at] = part(x[at]);
}"""
ADD = """
#include <cstdint>
#include <stdexcept>
static float part(float x) { return x + 1; }
extern "C" void kernel(float* x, const int64_t count) {
    if (count > 3) throw std::runtime_error("too many");
    for (int64_t at = 0; at < count; ++at) x[at] = part(x[at]);
}"""
KERNELS = [(["const float*", "float*", "int64_t"], HALVE), (["float*", "int64_t"], ADD)]


@needs_compiler
def test_kernels_with_the_same_names_inside_are_called_each_by_itself(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(VecISA, "check_build", None)
    try_flags_alone()
    halve, add = (getattr(library, f"kernel_{at}") for library, at in placed(KERNELS))
    x, out = torch.tensor([1.0, 2.0, 4.0]), torch.zeros(3)
    halve(x, out, 3)
    add(x, 2)
    assert (out.tolist(), x.tolist()) == ([0.5, 1, 2], [2, 3, 4])
    with pytest.raises(RuntimeError, match="too many"):
        add(x, 4)
    with pytest.raises(RuntimeError, match="needs 2 arguments"):
        add(x)
    with pytest.raises(RuntimeError, match="whole number"):
        add(x, None)
    (library,) = tmp_path.rglob("*.so")
    assert b".debug_line" not in library.read_bytes()


def test_a_large_graph_has_several_libraries(monkeypatch):
    monkeypatch.setattr(one_library, "SOURCE", len(HALVE) + len(ADD))
    assert divided([*KERNELS, KERNELS[0]]) == [KERNELS, KERNELS[:1]]
    assert divided([]) == []


def test_headers_stand_before_the_names_of_kernels():
    source = source_of(KERNELS)
    assert source.count("#include <cstdint>") == 1
    assert source.index("#include <stdexcept>") < source.index("namespace graph_0")


def test_what_surrounds_a_kernel_is_compiled_once():
    assert source_of(KERNELS * 9).count("catch") == source_of(KERNELS).count("catch") == 1
