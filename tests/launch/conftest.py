import subprocess
import threading

import pytest

from plasticity_lab.records.store import Store
from tests.wandb_server import Server


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 4 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"mounting a small disk needs root: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def server(monkeypatch):
    """A server that W&B takes for its own, and a key for it."""
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("WANDB_BASE_URL", server.address)
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        yield server
        server.shutdown()
