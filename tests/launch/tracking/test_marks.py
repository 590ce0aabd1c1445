"""What has been written where, and whether a key is configured."""

import pytest
from wandb.sdk.lib import urls

from launch.tracking.wandb.key import CLOUD, EARLIER, key_configured
from launch.tracking.wandb.marks import Destination, count_written, destination_of, mark_written, written
from plasticity_lab.records.settings import TrackingSettings

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


def test_the_settings_of_a_plan_name_a_destination():
    settings = TrackingSettings(backend="wandb_online", project="lab", entity=None, live_runs=4)
    assert destination_of(settings) == Destination(True, "", "lab")
    offline = settings.model_copy(update={"backend": "wandb_offline", "entity": "team"})
    assert destination_of(offline) == Destination(False, "team", "lab")
    assert destination_of(settings.model_copy(update={"backend": "store"})) is None


def test_an_offline_run_is_of_one_project(store):
    mark_written(store, "pack", OFFLINE, ["a", "b"])
    mark_written(store, "pack", Destination(False, "", "other"), ["a"])
    assert written(store, "pack", OFFLINE) == {"b"}


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


def test_the_names_of_wandbs_server_are_those_that_wandb_uses():
    assert urls.DEFAULT_BASE_URL == CLOUD
    assert urls.forge_upstream_url(CLOUD) == f"https://{EARLIER}"


@pytest.mark.parametrize("host", ["api.forge.coreweave.com", "api.wandb.ai"])
def test_a_key_is_found_where_wandb_login_puts_it_and_where_it_did(home, monkeypatch, host):
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


def test_a_netrc_that_cannot_be_read_holds_no_key(home):
    (home / ".netrc").write_text("machine\n  nonsense")
    assert not key_configured()
