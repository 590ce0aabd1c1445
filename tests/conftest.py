"""Every test runs as a worker does: one thread, denormals flushed."""

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def _as_a_worker():
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch._dynamo.config.recompile_limit = 1000
