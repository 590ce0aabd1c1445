"""Code that lies in a store, as one that came from somebody else, is never run: wherever it lies, whoever names it."""

import json
import os
import py_compile
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field

import pytest

from launch.command import run_command
from plasticity_lab.records.record_facts import DIGEST, digest_of
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import SMOKE, planned, trained

pytestmark = pytest.mark.sample(2)

OURS = "plasticity_lab.activations.relu.ReLU"
CODE = """
from pathlib import Path
Path({mark!r}).touch()
from plasticity_lab.activations.relu import ReLU
class Evil(ReLU): ...
class Plasticity(dict): ...
"""
COMMAND = ("-m", "plasticity_lab.main", *SMOKE, "activation=relu")
READING = {
    "observe": ("-m", "launch", "observe", "--store", "{store}", "diagnostics=dead_units"),
    "dry_run": (*COMMAND, "store={store}", "dry_run=true"),
    "show": ("-m", "launch", "show", "{run}", "--store", "{store}"),
    "show_planned": ("-m", "launch", "show", "{planned}", "--store", "{store}"),
    "status": ("-m", "launch", "status", "--store", "{store}"),
    "estimate": ("-m", "launch", "estimate", "{sweep}", "--store", "{store}"),
    "doctor": ("-m", "launch", "doctor", "--store", "{store}"),
    "check": ("-m", "launch", "check", "activation=relu"),
    "table": ("-m", "analysis", "table", "--store", "{store}"),
    "same_plan": (*COMMAND, "seed=7", "store={store}", "dry_run=true"),
}
TRAINING = {
    "train": (*COMMAND, "seed=5", "store={store}"),
    "train_planned": (*COMMAND, "seed=7", "store={store}"),
    "resume": ("-m", "launch", "resume", "{sweep}", "--store", "{store}"),
    "worker": ("-m", "launch.work.worker", "--store", "{store}", "--sweep", "{sweep}"),
}


@dataclass(frozen=True)
class Way:
    """How code gets into a process.

    target: the class that the store's records and plans name. files: name below the store's parent → what it is.
    inside: whether the current folder is the store, else its parent. path: PYTHONPATH, below the parent. words: more.
    """

    target: str
    files: tuple[str, ...]
    inside: bool = False
    path: str | None = None
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)


WAYS = {
    "below_runs": Way("store.runs.evil.Evil", ("store/runs/evil.py",)),
    "a_package": Way("store.evil.Evil", ("store/__init__.py", "store/evil.py")),
    "without_source": Way("store.runs.evil.Evil", ("store/runs/evil.pyc",)),
    "beside_a_record": Way("store.sweeps.aa.evil.Evil", ("store/sweeps/aa/evil.py",)),
    "current_folder": Way("evil.Evil", ("store/evil.py",), inside=True),
    "below_current_folder": Way("runs.evil.Evil", ("store/runs/evil.py",), inside=True),
    "python_path": Way("evil.Evil", ("store/packs/evil.py",), path="store/packs"),
    "python_path_above": Way("store.runs.evil.Evil", ("store/runs/evil.py",), path="."),
    "zip": Way("evil.Evil", ("store/runs/evil.zip",), path="store/runs/evil.zip"),
    "sitecustomize": Way(OURS, ("store/sitecustomize.py", "store/usercustomize.py"), inside=True),
    "pth": Way(OURS, ("store/evil.pth", "store/evil.py"), inside=True),
    "hydra_plugins": Way(OURS, ("store/hydra_plugins/evil.py",), inside=True),
    "hydra_plugins_on_path": Way(OURS, ("store/hydra_plugins/evil.py",), path="store"),
    "hides_a_library": Way(OURS, ("store/yaml.py", "store/contextlib.py"), inside=True),
    "users_own_that_no_word_names": Way("mine.Evil", ("mine.py",)),
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """A store with a finished run, and with another that is planned."""
    store = Store(tmp_path_factory.mktemp("planted") / "store")
    trained(store, "activation=relu", "save_weights=final")
    planned(store, "activation=relu", "seed=7")
    return store


def put(file, mark):
    """Code that leaves a mark when it is run, in the form that the file's name says."""
    file.parent.mkdir(parents=True, exist_ok=True)
    code = CODE.format(mark=str(mark))
    source = file if file.suffix == ".py" else mark.with_name("evil.py")
    source.write_text(code)
    if file.suffix == ".pyc":
        py_compile.compile(str(source), str(file), doraise=True)
    elif file.suffix == ".zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.write(source, "evil.py")
    elif file.suffix == ".pth":
        file.write_text(f"import os; open({str(mark)!r}, 'w')\n")


def poisoned(clean, folder, way):
    """The store below a folder, with the way's code in it and its class in all records and plans; the ids in it."""
    store = Store(folder / "store")
    shutil.copytree(clean.root, store.root)
    ids = {"store": str(store.root), "sweep": "?", "planned": "?", "run": "?"}
    for plan in store.root.glob("sweeps/*/plan.json"):
        content = json.loads(plan.read_text())
        ids |= {"sweep": plan.parent.name, "planned": next(iter(content["runs"]))} if "seed=7" in str(content) else {}
        plan.write_text(plan.read_text().replace(OURS, way.target))
    (record,) = store.root.glob("runs/*/*/record.json")
    ids["run"] = record.parent.name
    content = json.loads(record.read_text().replace(OURS, way.target))
    record.write_text(json.dumps(content | {DIGEST: digest_of(content)}))  # whoever plants code writes a digest too
    (folder / "marks").mkdir()
    for name in way.files:
        put(folder / name, folder / "marks" / "ran")
    return ids


def given(folder, way, words, ids):
    """A command, given in the way's folder with its PYTHONPATH → how it ended."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if way.path is not None:
        environment["PYTHONPATH"] = str(folder / way.path)
    return subprocess.run(
        [sys.executable, *(word.format(**ids) for word in words)],
        cwd=folder / "store" if way.inside else folder,
        env=environment | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


FAST = {("below_runs", "observe"), ("hydra_plugins", "same_plan")}
CASES = [(way, command) for way in WAYS for command in (*READING, *TRAINING)]


@pytest.mark.parametrize(
    ("way", "command"), [case if case in FAST else pytest.param(*case, marks=pytest.mark.slow) for case in CASES]
)
def test_no_command_runs_it(clean, tmp_path, way, command):
    ids = poisoned(clean, tmp_path, WAYS[way])
    ended = given(tmp_path, WAYS[way], (READING | TRAINING)[command], ids)
    assert "Traceback" not in ended.stderr, ended.stderr
    assert not (tmp_path / "marks" / "ran").exists(), ended.stderr


OPTIONS = {
    "an activation": ("activation/evil.yaml", "_target_: evil.Evil\n", "activation=evil"),
    "a log": (
        "hydra/job_logging/evil.yaml",
        "version: 1\nhandlers: {{x: {{(): pathlib.Path.touch, self: {mark}}}}}\n",
        "hydra/job_logging=evil",
    ),
    "a callback": (
        "experiment/evil.yaml",
        "# @package _global_\nhydra: {{callbacks: {{x: {{_target_: evil.Evil}}}}}}\n",
        "experiment=evil",
    ),
}


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("how", ["--config-dir={}", "hydra.searchpath=[file://{}]", "hydra.searchpath=[{}]"])
def test_no_options_are_read_from_a_store(clean, tmp_path, monkeypatch, capsys, kind, how):
    store = tmp_path / "store"
    shutil.copytree(clean.root, store)
    file, content, word = OPTIONS[kind]
    (store / "conf" / file).parent.mkdir(parents=True)
    (store / "conf" / file).write_text(content.format(mark=tmp_path / "ran"))
    put(store / "evil.py", tmp_path / "ran")
    monkeypatch.syspath_prepend(store)
    for more in (["dry_run=true"], ["--cfg", "job"], ["--info"]):
        assert run_command([*SMOKE, how.format(store / "conf"), word, f"store={store}", *more]) == 1
        assert "no options are read from a store" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()
