"""What has been written where, and whether a key is there."""

import pytest
from wandb.sdk.lib import urls

from launch.tracking.key import CLOUD, EARLIER, key_configured
from launch.tracking.marks import Place, mark_written, written

HERE, THERE = Place(False, "", "lab"), Place(True, "team", "lab")


def test_marks_add_up_for_each_place_and_pack(store):
    assert written(store, "pack", HERE) == set()
    mark_written(store, "pack", HERE, ["a", "b"])
    mark_written(store, "pack", HERE, ["c"])
    mark_written(store, "pack", THERE, ["a"])
    assert written(store, "pack", HERE) == {"a", "b", "c"}
    assert written(store, "pack", THERE) == {"a"}
    assert written(store, "pack", Place(True, "", "lab")) == set()
    assert written(store, "another", HERE) == set()


def test_an_offline_run_is_of_one_project(store):
    mark_written(store, "pack", HERE, ["a", "b"])
    mark_written(store, "pack", Place(False, "", "other"), ["a"])
    assert written(store, "pack", HERE) == {"b"}


def test_a_damaged_mark_counts_for_nothing(store):
    mark_written(store, "pack", HERE, ["a"])
    store.tracked("pack").write_text('{"offli')
    assert written(store, "pack", HERE) == set()
    mark_written(store, "pack", HERE, ["b"])
    assert written(store, "pack", HERE) == {"b"}


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
