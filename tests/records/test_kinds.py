"""Kinds of devices, as words."""

import pytest

from plasticity_lab.records.kinds import device_name, instructions_of, is_cpu, sort_of

AVX2, AVX512 = "cpu-avx2-00000a", "cpu-avx512-00000c"
H100 = "NVIDIA H100 80GB HBM3 (sm_90, CUDA 12.8, cuDNN 91002)"
A100 = "NVIDIA A100 (PCIe) (sm_80, CUDA 12.8, cuDNN 91002)"


@pytest.mark.parametrize(
    ("kind", "name", "sort", "instructions"),
    [
        (AVX2, "cpu-avx2", "cpu", "avx2"),
        (AVX512, "cpu-avx512", "cpu", "avx512"),
        ("cpu-default-0123ab", "cpu-default", "cpu", "default"),
        ("cpu", "cpu", "cpu", None),
        ("cpu-avx512", "cpu-avx512", "cpu", None),
        (H100, "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", None),
        (A100, "NVIDIA A100 (PCIe)", "NVIDIA A100 (PCIe)", None),
        ("NVIDIA H200", "NVIDIA H200", "NVIDIA H200", None),
    ],
)
def test_what_is_read_in_a_kind(kind, name, sort, instructions):
    assert (device_name(kind), sort_of(kind), instructions_of(kind)) == (name, sort, instructions)
    assert is_cpu(kind) == (sort == "cpu")
