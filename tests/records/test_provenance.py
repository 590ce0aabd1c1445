import json
import subprocess
from datetime import datetime
from pathlib import Path

import torch

import plasticity_lab
from plasticity_lab.records import provenance as module
from plasticity_lab.records.provenance import provenance

ROOT = Path(plasticity_lab.__file__).parents[1]


def test_provenance_names_code_libraries_and_machine():
    found = json.loads(json.dumps(provenance()))
    assert found["versions"]["torch"] == torch.__version__
    assert set(found["versions"]) == {"plasticity_lab", "torch", "numpy", "hydra-core"}
    assert all(found[name] for name in ("python", "host", "platform", "cpu"))
    assert datetime.fromisoformat(found["start"]).utcoffset().total_seconds() == 0


def test_packages_that_matter_to_a_run_are_named_too():
    found = provenance(["pyarrow", "no-such-package"])["versions"]
    assert found["pyarrow"]
    assert found["no-such-package"] is None
    assert "pyarrow" not in provenance()["versions"]


def test_the_commit_is_that_of_the_checkout(monkeypatch):
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True)
    assert provenance()["commit"] == (head.stdout.strip() if head.returncode == 0 else None)


def test_outside_a_checkout_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    assert module._commit.__wrapped__() == {"commit": None, "dirty": None}
    # Somebody else's repository around an installed package says nothing of the package.
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(module, "CHECKOUT", tmp_path / "site-packages")
    (tmp_path / "site-packages").mkdir()
    assert module._commit.__wrapped__() == {"commit": None, "dirty": None}


def test_changes_and_new_files_make_a_checkout_dirty(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    name = ["-c", "user.name=n", "-c", "user.email=e@e"]
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, *name, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    assert module._commit.__wrapped__()["dirty"] is False
    (tmp_path / "new.py").write_text("")
    assert module._commit.__wrapped__()["dirty"] is True


def test_why_there_is_no_commit_is_said_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    assert "no git checkout" in module.why_no_commit()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert "git says: fatal: " in module.why_no_commit(), "it has no commit yet"
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # as git sees a checkout of another user
    assert f"git config --global --add safe.directory {tmp_path}" in module.why_no_commit()
    assert module._commit.__wrapped__() == {"commit": None, "dirty": None}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not installed" in module.why_no_commit()
