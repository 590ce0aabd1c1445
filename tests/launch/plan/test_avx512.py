"""The opt-in for MKL's AVX-512 kernels: built, preloaded, and seen as another kind of device."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
KIND = """
import ctypes
from launch.plan.device import kind_of
print(kind_of("cpu"), ctypes.CDLL(None).mkl_serv_intel_cpu_true())
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_cpu_with_the_library_preloaded_is_a_kind_of_its_own(tmp_path):
    library = tmp_path / "avx512.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, CHECKOUT / "launch/avx512.c"], check=True)
    environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": str(CHECKOUT)}
    said = subprocess.run([sys.executable, "-c", KIND], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["cpu-avx512", "1"]


def test_a_cpu_is_a_cpu_otherwise():
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    words = "from launch.plan.device import kind_of; print(kind_of('cpu'))"
    said = subprocess.run([sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "cpu"
