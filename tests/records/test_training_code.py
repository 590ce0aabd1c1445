"""By which code runs are trained: the laboratory's files, versions, and the parts of a pack that met several."""

import importlib
import sys

import pytest

from plasticity_lab.records import training_code
from plasticity_lab.records.training_code import (
    code_digest,
    differences,
    flags_of_parts,
    made_by,
    other_code,
    other_kind,
    parts_from,
)


def by(code="aaaa", commit="1" * 40, torch="2.13.0", **classes):
    return {"commit": commit, "dirty": False, "code": code, "versions": {"torch": torch}, "classes": classes}


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    """A checkout in whose place the laboratory is thought to run."""
    folder = tmp_path / "plasticity_lab"
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "a.py").write_text("1")
    (folder / "kernel.cpp").write_text("1")
    monkeypatch.setattr(training_code, "CHECKOUT", tmp_path)
    yield folder
    training_code._files.cache_clear()


def begun_anew():
    """What a process says that is started now."""
    training_code._files.cache_clear()
    return code_digest()


def test_every_source_file_counts_and_nothing_else(laboratory):
    first = begun_anew()
    assert len(first) == 12
    seen = {first}
    for name, content in (("agents/a.py", "2"), ("kernel.cpp", "2"), ("new.py", ""), ("agents/b.py", "")):
        (laboratory / name).write_text(content)
        seen.add(begun_anew())
    assert len(seen) == 5
    last = begun_anew()
    (laboratory / "notes.md").write_text("no code")
    (laboratory.parent / "tests.py").write_text("no code that trains")
    assert begun_anew() == last


def test_an_edit_while_a_process_runs_is_not_its_code_until_it_imports_it(laboratory, monkeypatch):
    first = begun_anew()
    (laboratory / "agents" / "a.py").write_text("2")
    assert code_digest() == first, "it has been imported, or it is not needed"
    late = type(sys)("plasticity_lab.agents.imported_late")
    late.__file__ = str(laboratory / "agents" / "a.py")
    monkeypatch.setitem(sys.modules, late.__name__, late)
    changed = code_digest()
    assert changed != first
    assert changed == begun_anew()


def test_a_pack_that_goes_on_by_the_same_code_has_one_part():
    begun = parts_from([], by(), 0)
    assert begun == [{"from_step": 0, **by()}]
    assert parts_from(begun, by(commit="2" * 40), 100) == begun, "a commit that changed no code"
    assert "parts" not in made_by(begun)
    assert made_by(begun)["code"] == "aaaa"


@pytest.mark.parametrize("now", [by(code="bbbb"), by(torch="2.11.0"), by(**{"mine.Mine": "cccc"})])
def test_another_code_torch_or_class_begins_a_part(now):
    begun = parts_from([], by(**{"mine.Mine": "dddd"}), 0)
    parts = parts_from(begun, now, 100)
    assert [part["from_step"] for part in parts] == [0, 100]
    assert made_by(parts)["parts"] == parts
    assert parts_from(parts, now, 150) == parts
    # Back to the first code is a third part; one that trained nothing is none.
    assert [part["from_step"] for part in parts_from(parts, by(**{"mine.Mine": "dddd"}), 150)] == [0, 100, 150]
    assert parts_from(parts, by(**{"mine.Mine": "dddd"}), 100) == begun


def test_another_kind_of_device_begins_a_part_and_is_flagged_apart_from_code():
    begun = parts_from([], {**by(), "kind": None}, 0)
    now = {**by(), "kind": "cpu-avx2-00000a"}
    parts = parts_from(begun, now, 100)
    assert [part["from_step"] for part in parts] == [0, 100]
    assert parts_from(parts, now, 150) == parts
    assert flags_of_parts(parts) == ["mixed_kind"]
    assert flags_of_parts(begun) == []
    assert flags_of_parts(parts_from(parts, now | {"code": "bbbb"}, 200)) == ["mixed_code", "mixed_kind"]
    assert "cpu-avx2-00000a" in other_kind(*parts)


def test_what_differs_is_named_from_the_old_to_the_new():
    dirty = {**by(code="bbbb", torch="2.11.0"), "dirty": True}
    code, torch = differences(by(), dirty)
    assert code.index("1" * 12) < code.index("bbbb")
    assert torch.startswith("torch")
    assert torch.index("2.13.0") < torch.index("2.11.0")


def test_a_command_tells_from_the_parts_of_a_pack_whether_it_would_go_on_by_other_code():
    targets = {"activation": "plasticity_lab.activations.relu.ReLU"}
    now = training_code.trained_by(targets, ["pyarrow"])
    parts = parts_from([], now, 0)
    assert other_code(parts, targets) == []
    (words,) = other_code([{**parts[0], "versions": {"pyarrow": "0.1"}}], targets)
    assert words.startswith("pyarrow 0.1 → ")
    assert importlib.import_module("pyarrow").__version__ in words
