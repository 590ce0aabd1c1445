"""What has been written where, and whether a key is configured."""

import os

import pytest

from launch.__main__ import main
from launch.tracking.wandb.environment import OF_THE_NETWORK, PREFIX, key_configured, named, only_heeded
from launch.tracking.wandb.marks import Destination, count_written, destination_of, mark_written, written
from plasticity_lab.records.settings import TrackingSettings
from tests.helpers.sweeps import trained

OFFLINE, ONLINE = Destination(False, "", "lab"), Destination(True, "team", "lab")


def test_marks_add_up_for_each_destination_and_pack(store):
    assert written(store, "pack", OFFLINE) == set()
    mark_written(store, "pack", OFFLINE, ["a", "b"])
    mark_written(store, "pack", OFFLINE, ["c"])
    mark_written(store, "pack", ONLINE, ["a"])
    assert written(store, "pack", OFFLINE) == {"a", "b", "c"}
    assert written(store, "pack", ONLINE) == {"a"}
    assert written(store, "pack", Destination(True, "", "lab")) == set()
    assert written(store, "another", OFFLINE) == set()
    mark_written(store, "another", OFFLINE, ["d"])
    assert count_written(store, ["pack", "another", "a third"], OFFLINE) == 4
    mark_written(store, "pack", Destination(False, "", "other"), ["a"])
    assert written(store, "pack", OFFLINE) == {"b", "c"}, "an offline run is of one project"


def test_the_settings_of_a_plan_name_a_destination():
    settings = TrackingSettings(backend="wandb_online", project="lab", entity=None, live_runs=4)
    assert destination_of(settings) == Destination(True, "", "lab")
    offline = settings.model_copy(update={"backend": "wandb_offline", "entity": "team"})
    assert destination_of(offline) == Destination(False, "team", "lab")
    assert destination_of(settings.model_copy(update={"backend": "store"})) is None


def test_a_damaged_mark_counts_for_nothing(store):
    mark_written(store, "pack", OFFLINE, ["a"])
    store.tracked("pack").write_text('{"offli')
    assert written(store, "pack", OFFLINE) == set()
    mark_written(store, "pack", OFFLINE, ["b"])
    assert written(store, "pack", OFFLINE) == {"b"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("NETRC", "WANDB_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("host", ["api.forge.coreweave.com", "api.wandb.ai"])
def test_a_key_is_found_where_wandb_login_puts_it_and_where_it_did(home, monkeypatch, host):
    assert not key_configured()
    (home / ".netrc").write_text("machine\n  nonsense")
    assert not key_configured()
    (home / ".netrc").write_text(f"machine {host}\n  login user\n  password 0123\n")
    assert key_configured()
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org")
    assert not key_configured(), "of another server"
    monkeypatch.delenv("WANDB_BASE_URL")
    (home / ".config" / "wandb").mkdir(parents=True)
    (home / ".config" / "wandb" / "settings").write_text("[default]\nbase_url = https://wandb.example.org\n")
    assert not key_configured(), "of another server"
    monkeypatch.setenv("WANDB_API_KEY", "0123")
    assert key_configured()


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
