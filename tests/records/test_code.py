import subprocess

import pytest

from plasticity_lab.records import provenance
from plasticity_lab.records.provenance import code_here, other_code
from tests.helpers.sweeps import never, planned, work

NAME = ("-c", "user.name=n", "-c", "user.email=e@e")


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A checkout of one file, in whose place the laboratory is thought to run."""
    folder = tmp_path / "clone"
    (folder / "launch").mkdir(parents=True)
    monkeypatch.setattr(provenance, "CHECKOUT", folder)
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "launch" / "a.py").write_text("1")
    commit(folder)
    return folder


def commit(folder):
    subprocess.run(["git", "-C", folder, "add", "-A"], check=True)
    subprocess.run(["git", "-C", folder, *NAME, "commit", "-q", "-m", "one more", "--allow-empty"], check=True)


def here():
    """What a process says that is started now."""
    provenance._commit.cache_clear()
    code_here.cache_clear()
    return code_here()


@pytest.fixture(autouse=True)
def _forget():
    yield
    provenance._commit.cache_clear()
    code_here.cache_clear()


def test_a_change_of_any_file_that_counts_is_another_code(clone):
    seen = [here()]
    assert len(seen[0]["commit"]) == 40
    assert seen[0]["changes"] is None
    for file, content in (("a.py", "2"), ("a.py", "3"), ("new.py", "1"), ("new.py", "2")):
        (clone / "launch" / file).write_text(content)
        seen.append(here())
    commit(clone)
    seen.append(here())
    assert len({tuple(each.values()) for each in seen}) == len(seen) == 6
    (clone / "notes.md").write_text("no code")
    assert here() == seen[-1]


def test_outside_of_a_checkout_there_is_nothing_to_compare(tmp_path, monkeypatch, clone):
    planned_by = here()
    monkeypatch.setattr(provenance, "CHECKOUT", tmp_path)
    assert here() == {"commit": None, "changes": None}
    assert other_code(planned_by, "feedfeedfeed") is None


@pytest.mark.parametrize("unknown", [{}, {"commit": None, "changes": None}])
def test_nothing_is_said_of_a_plan_that_does_not_know(unknown, clone):
    here()
    assert other_code(unknown, "feedfeedfeed") is None


def test_a_worker_that_runs_other_code_says_so(store, clone, caplog):
    here()
    plan = planned(store, "seed=0")
    assert plan.code == code_here()
    first = plan.code["commit"][:12]
    (clone / "launch" / "a.py").write_text("2")
    commit(clone)
    second = here()["commit"][:12]
    assert work(store, plan.sweep, "cpu", never)
    (said,) = [each.getMessage() for each in caplog.records if "planned by" in each.getMessage()]
    assert plan.sweep in said
    assert said.index(first) < said.index(second)
