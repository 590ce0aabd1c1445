"""The variables that W&B reads: none keeps it from writing runs without being named."""

import os

import pytest

from launch.__main__ import main
from launch.tracking.wandb.environment import OF_THE_NETWORK, PREFIX, named, only_heeded
from tests.helpers.sweeps import trained


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Nothing of this machine's."""
    for name in list(os.environ):
        if name.startswith(PREFIX) or name.upper() in OF_THE_NETWORK:
            monkeypatch.delenv(name)


def test_the_server_and_the_user_are_heeded_and_what_runs_are_is_not(monkeypatch):
    said = {"WANDB_MODE": "disabled", "WANDB_X_SKIP_TRANSACTION_LOG": "true", "WANDB_SERVICE": "2-1", "WANDB_NEW": "1"}
    heeded = {
        "WANDB_BASE_URL": "http://here",
        "WANDB_API_KEY": "0",
        "WANDB_INIT_TIMEOUT": "9",
        "WANDB__SERVICE_WAIT": "1",
    }
    for name, value in (said | heeded).items():
        monkeypatch.setenv(name, value)
    with only_heeded():
        assert {name: value for name, value in os.environ.items() if name.startswith(PREFIX)} == heeded
    assert said.items() <= os.environ.items()


def test_those_that_may_be_at_fault_are_named_and_their_values_are_not(monkeypatch):
    assert named() == ""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "https_proxy"):
        monkeypatch.setenv(name, "secret")
    assert all(name in named() for name in ("WANDB_API_KEY", "https_proxy"))
    assert "WANDB_MODE" not in named()
    assert "secret" not in named()


def test_a_heeded_one_that_wandb_refuses_is_named(store, monkeypatch, capsys):
    trained(store, "seed=0", "benchmark.tasks=1")
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "soon")
    assert main(["sync", "--offline", "--store", str(store.root)]) == 1
    assert "WANDB_INIT_TIMEOUT" in capsys.readouterr().err
