"""Whether the kind of a CPU tells apart what computes other bits; and the opt-in for MKL's AVX-512 kernels."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from launch.plan.device import kind_of
from launch.plan.fingerprint import fingerprint
from plasticity_lab.records.kinds import instructions_of

pytestmark = pytest.mark.sample(1)

CHECKOUT = Path(__file__).resolve().parents[3]
KIND = "from launch.plan.device import kind_of; print(kind_of('cpu'))"
PRELOADED = "import ctypes, torch; print(ctypes.CDLL(None).mkl_serv_intel_cpu_true())"
VECTORS = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
needs_vectors = pytest.mark.skipif(not VECTORS, reason="this processor has one code path only")
PROCESSOR = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
needs_intel = pytest.mark.skipif("GenuineIntel" not in PROCESSOR, reason="MKL may take one path there")
needs_mkl = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="torch has no MKL here")


def said_by(words, **environment):
    """What another process prints."""
    own = os.environ | {"PYTHONPATH": str(CHECKOUT)} | environment
    return subprocess.run(
        [sys.executable, "-c", words], env=own, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_every_process_of_a_machine_finds_the_same_with_any_number_of_threads():
    here = kind_of("cpu")
    assert instructions_of(here) is not None
    assert said_by(KIND, OMP_NUM_THREADS="3") == here
    threads = torch.get_num_threads()
    fingerprint.cache_clear()
    assert (kind_of("cpu"), torch.get_num_threads()) == (here, threads)


@needs_vectors
def test_torch_s_vector_capability_is_in_it_and_in_the_bits():
    kind = said_by(KIND, ATEN_CPU_CAPABILITY="default")
    assert instructions_of(kind) == "default"
    assert kind.rpartition("-")[2] != kind_of("cpu").rpartition("-")[2]


@needs_mkl
@pytest.mark.parametrize(
    "setting",
    [
        {"MKL_CBWR": "COMPATIBLE"},
        pytest.param({"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}, marks=[needs_intel, pytest.mark.slow]),
        pytest.param({"ONEDNN_MAX_CPU_ISA": "SSE41"}, marks=[needs_vectors, pytest.mark.slow]),
    ],
)
def test_another_code_path_of_a_library_is_seen_whatever_selects_it(setting):
    """Torch's word for the processor is the same; only what is computed differs."""
    kind = said_by(KIND, **setting)
    assert instructions_of(kind) == instructions_of(kind_of("cpu"))
    assert kind != kind_of("cpu")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_library_that_gives_mkl_its_avx512_stands_in_for_mkl_s_answer(tmp_path):
    library = tmp_path / "avx512.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, CHECKOUT / "launch/avx512.c"], check=True)
    assert said_by(PRELOADED, LD_PRELOAD=str(library)) == "1"
