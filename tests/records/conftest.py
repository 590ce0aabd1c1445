import subprocess

import pytest

from plasticity_lab.records.store import Store


@pytest.fixture
def store(tmp_path):
    found = Store(tmp_path / "a store, with 'odd' = signs")
    found.prepare()
    return found


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"mounting a small disk needs root: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def make_read_only(small_disk):
    def remount():
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    return remount
