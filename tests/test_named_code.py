"""Classes from outside the package are imported where a command's words name them, and never out of a store."""

import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from plasticity_lab import named_code
from plasticity_lab.component import load
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.import_path import for_children
from plasticity_lab.stored_files import store_around

CODE = """
from pathlib import Path
Path({mark!r}).touch()
{more}
from plasticity_lab.activations.relu import ReLU
class Mine(ReLU): ...
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of somebody's own with a store in it; what is named and imported there is forgotten afterwards."""
    monkeypatch.setattr(named_code, "_NAMED", set())
    monkeypatch.setattr(named_code, "_NAMED_BY_STORES", set())
    record = tmp_path / "store" / "runs" / "ab" / ("ab" * 6) / "record.json"
    record.parent.mkdir(parents=True)
    record.write_text("{}")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("store", "runs", "evil", "mine"):
            del sys.modules[name]
    load.cache_clear()


def put(file, more=""):
    """Code that leaves a mark, as the file's name asks for it → the mark."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mark = file.with_name("mark")
    source = file.with_suffix(".py")
    source.write_text(CODE.format(mark=str(mark.parent.parent / "mark" if file.suffix == ".zip" else mark), more=more))
    if file.suffix == ".pyc":
        py_compile.compile(str(source), str(file), doraise=True)
    if file.suffix == ".zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.write(source, source.name)
    if file != source:
        source.unlink()
    return mark.parent.parent / "mark" if file.suffix == ".zip" else mark


@pytest.mark.parametrize(
    ("file", "path", "target"),
    [
        ("store/runs/evil.py", ".", "store.runs.evil.Mine"),
        ("store/runs/evil.pyc", ".", "store.runs.evil.Mine"),
        ("store/__init__.py", ".", "store.Mine"),
        ("store/evil.py", "store", "evil.Mine"),
        ("store/runs/ab/abababababab/evil.py", "store", "runs.ab.abababababab.evil.Mine"),
        ("store/evil.zip", "store/evil.zip", "evil.Mine"),
    ],
)
@pytest.mark.parametrize("who", ["the words name it", "PYTHONPATH names it", "a store names it"])
def test_nothing_is_imported_from_a_store(folder, monkeypatch, file, path, target, who):
    mark = put(folder / file)
    monkeypatch.syspath_prepend(folder / path)
    if who == "a store names it":
        named_code.named_by_store([target])
    elif who == "the words name it":
        named_code.name_class(target)
    else:
        named_code.name_again([str(folder / path)])
    with pytest.raises(ConfigError, match="lies in the store"):
        load(target)
    assert not mark.exists()
    assert target.rpartition(".")[0] not in sys.modules


@pytest.mark.parametrize("linked", [False, True], ids=["imported by one's own module", "linked"])
def test_nor_by_way_of_a_file_of_ones_own(folder, monkeypatch, linked):
    mark = put(folder / "store" / "evil.py")
    if linked:
        (folder / "mine.py").symlink_to(folder / "store" / "evil.py")
    else:
        put(folder / "mine.py", more="import store.evil")
    monkeypatch.syspath_prepend(folder)
    # A folder `store` of the checkout, as `make demo` leaves one, would be a second part of the package `store`.
    monkeypatch.setattr(sys, "path", [each for each in sys.path if not (Path(each) / "pyproject.toml").exists()])
    named_code.name_class("mine.Mine")
    with pytest.raises(ConfigError, match="lies in the store"):
        load("mine.Mine")
    assert not mark.exists()


def test_a_class_that_only_a_store_names_is_not_imported(folder, monkeypatch):
    mark = put(folder / "mine.py")
    monkeypatch.syspath_prepend(folder)
    named_code.named_by_store(["mine.Mine", "this.Mine"])
    for target in ("mine.Mine", "this.Mine"):
        with pytest.raises(ConfigError, match="only a store names"):
            load(target)
        assert target.rpartition(".")[0] not in sys.modules
    assert not mark.exists()


@pytest.mark.parametrize("naming", ["by words", "by its folder", "by the command that started this process"])
def test_it_is_imported_where_it_is_named(folder, monkeypatch, naming):
    put(folder / "mine.py")
    monkeypatch.syspath_prepend(folder)
    named_code.named_by_store(["mine.Mine"])
    if naming == "by words":
        named_code.name_class("mine.Mine")
    elif naming == "by its folder":
        named_code.name_again([str(folder)])
    else:
        named_code.name_class("mine.Other")
        passed_on = for_children()[named_code.VARIABLE]
        monkeypatch.setattr(named_code, "_NAMED", set())
        named_code.name_again(passed_on.split(os.pathsep))
    assert load("mine.Mine").__name__ == "Mine"


def test_what_is_named_reaches_another_python_and_no_folder_of_a_store_does(folder, monkeypatch):
    mark = put(folder / "store" / "sitecustomize.py")
    monkeypatch.syspath_prepend(folder / "store")
    named_code.name_class("mine.Mine")
    script = "from plasticity_lab.named_code import named; print(named())"
    ended = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | for_children(), capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "['mine']", "nor the folders of this process, which PYTHONPATH holds for that one"
    assert not mark.exists()


def test_a_store_is_known_by_what_lies_in_it(folder):
    store = folder / "store"
    assert store_around(store / "wandb" / "deep" / "evil.py") == str(store)
    assert store_around(folder / "mine.py") is None
    for name in ("runs/Nov28_host/events", "done/list.txt", "packs/notes/progress.json", "sweeps/a/plan.json"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch()
    assert store_around(folder / "mine.py") is None, "other programs have folders of these names too"


def test_the_package_in_a_folder_that_is_a_store_too_stays_usable():
    assert store_around(Path(named_code.__file__)) is None
    assert store_around(os.__file__) is None
    assert store_around(pytest.__file__) is None
