"""Kinds of devices, as words of this and of earlier versions."""

import pytest

from plasticity_lab.records.kinds import device_name, goes_on, instructions_of, is_cpu, is_exact, sort_of

AVX2, OTHER_AVX2, AVX512 = "cpu-avx2-00000a", "cpu-avx2-00000b", "cpu-avx512-00000c"
H100 = "NVIDIA H100 80GB HBM3 (sm_90, CUDA 12.8, cuDNN 91002)"
NEWER = "NVIDIA H100 80GB HBM3 (sm_90, CUDA 13.0, cuDNN 91400)"
A100 = "NVIDIA A100 (PCIe) (sm_80, CUDA 12.8, cuDNN 91002)"


@pytest.mark.parametrize(
    ("kind", "name", "sort", "instructions", "exact"),
    [
        (AVX2, "cpu-avx2", "cpu", "avx2", True),
        (AVX512, "cpu-avx512", "cpu", "avx512", True),
        ("cpu-default-0123ab", "cpu-default", "cpu", "default", True),
        ("cpu", "cpu", "cpu", None, False),
        ("cpu-avx512", "cpu-avx512", "cpu", None, False),
        (H100, "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", None, True),
        (A100, "NVIDIA A100 (PCIe)", "NVIDIA A100 (PCIe)", None, True),
        ("NVIDIA H200", "NVIDIA H200", "NVIDIA H200", None, False),
    ],
)
def test_what_is_read_in_a_kind(kind, name, sort, instructions, exact):
    assert (device_name(kind), sort_of(kind), instructions_of(kind), is_exact(kind)) == (
        name,
        sort,
        instructions,
        exact,
    )
    assert is_cpu(kind) == (sort == "cpu")


def test_what_goes_on_where():
    assert goes_on(AVX2, AVX2)
    assert goes_on("cpu", AVX2), "of an earlier version: nobody knows where it was begun"
    assert goes_on("cpu-avx512", AVX2)
    assert goes_on("NVIDIA H100 80GB HBM3", H100)
    for begun, here in ((AVX2, AVX512), (AVX2, OTHER_AVX2), (H100, NEWER), ("cpu", H100), ("NVIDIA H200", H100)):
        assert not goes_on(begun, here)
