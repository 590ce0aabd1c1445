"""Every test runs as a worker does: one thread, denormals flushed."""

import signal

import pytest
import torch

# A shell starts what runs in its background with SIGINT ignored, and children inherit that: Ctrl-C could not be tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _as_a_worker():
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
