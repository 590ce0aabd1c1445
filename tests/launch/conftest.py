import logging
import os
import signal
import subprocess
from functools import cache

import pytest

from launch.tracking import client
from plasticity_lab.records.store import Store
from tests.helpers.login_node import LoginNode
from tests.helpers.sweeps import PATIENCE, all_kept, runs_of, trained
from tests.helpers.wandb_server import serving


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def signals_as_before():
    """What a test does to this process's signals is undone."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
    handlers, blocked = {number: signal.getsignal(number) for number in numbers}, signal.pthread_sigmask(0, ())
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """From a command's words to what its runs come to when nobody disturbs them."""

    @cache
    def numbers(*words):
        store = Store(tmp_path_factory.mktemp("undisturbed"))
        trained(store, *words)
        return all_kept(store, runs_of(*words))

    return numbers


@pytest.fixture
def nothing_of_wandb_left():
    """A service that is left would serve the next test too, with this one's address: it fails the test it is of."""
    yield
    assert "WANDB_SERVICE" not in os.environ


@pytest.fixture(autouse=True)
def _patient(nothing_of_wandb_left, monkeypatch):
    """A worker waits for its tracker, which is the last to get a busy machine's time, as long as a test does."""
    monkeypatch.setattr(client, "SILENCE_SECONDS", PATIENCE)
    monkeypatch.setattr(client, "STOPPED_SECONDS", PATIENCE)


@pytest.fixture(autouse=True)
def _no_logger_left():
    """Hydra sets the root logger up for its own flags, with a stderr that is closed after the test."""
    before = list(logging.root.handlers)
    yield
    for handler in [each for each in logging.root.handlers if type(each) is logging.StreamHandler]:
        if handler not in before:
            logging.root.removeHandler(handler)


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Stand-ins for Slurm's commands, on a machine that has no others."""
    (tmp_path / "machine").mkdir()
    return LoginNode(tmp_path / "machine", monkeypatch)


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
    with serving() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.address)
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        yield server
