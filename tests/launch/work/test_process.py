"""What a process that trains does with its memory."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
from pathlib import Path

import torch

from launch.work.process import prepare_process, release_memory

LARGE = 16 * 2**20  # float32: 64 MiB, above what glibc keeps by itself

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

prepare_process()
torch.zeros(LARGE)
before = faults()
for _ in range(50):
    torch.zeros(LARGE)
again = faults() - before
kept = resident()
release_memory()
print(again, kept - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps memory as it likes")
def test_the_memory_of_one_tensor_serves_the_next():
    """Fifty of 64 MiB are 819,200 pages, in a few places of which each is met once; in the end the system has them."""
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    again, given_back = map(int, said.stdout.split())
    assert again < 200_000
    assert given_back > 60 * 2**20
