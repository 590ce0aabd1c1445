"""Accounts of containers: without a home, without an entry in the system's list, or with a name nobody has."""

import getpass
import os
import pwd
import stat
from pathlib import Path

import pytest

from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import ConfigError
from plasticity_lab.process import account
from plasticity_lab.process.account import NAMES, cache_folder, expanded, settle_account, user_name


@pytest.fixture
def nobody(monkeypatch, tmp_path):
    """No HOME, no name, and a number that the system's list does not have; → the folder for temporary files."""

    def unlisted(number):
        raise KeyError(f"getpwuid(): uid not found: {number}")

    for name in ("HOME", "XDG_CACHE_HOME", "PLASTICITY_DATA", *NAMES):
        monkeypatch.setenv(name, "")  # so that it is put back, whatever is set meanwhile
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", unlisted)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    account._temporary_home.cache_clear()
    yield tmp_path
    account._temporary_home.cache_clear()


def test_an_account_without_home_and_name_gets_both(nobody):
    settle_account()
    assert Path.home() == nobody / f"plasticity_lab_{os.getuid()}"
    assert stat.S_IMODE(Path.home().stat().st_mode) == 0o700
    assert getpass.getuser() == user_name() == str(os.getuid())
    assert cache_folder() == Path.home() / ".cache"
    assert data_folder(None).is_relative_to(Path.home())


def test_a_home_that_others_may_write_into_is_not_taken(nobody):
    taken = nobody / f"plasticity_lab_{os.getuid()}"
    taken.mkdir()
    taken.chmod(0o777)
    settle_account()
    assert Path.home() != taken
    assert Path.home().parent == nobody
    assert stat.S_IMODE(Path.home().stat().st_mode) == 0o700


def test_an_account_with_a_home_keeps_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "ann")
    settle_account()
    assert (os.environ["HOME"], os.environ["LOGNAME"]) == (str(tmp_path), "ann")


def test_a_home_of_nobody_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expanded("~/store") == tmp_path / "store"
    assert expanded("a/~b") == Path("a/~b")
    with pytest.raises(ConfigError, match=r"no account nosuchaccount.*\./~nosuchaccount"):
        expanded("~nosuchaccount/store")
