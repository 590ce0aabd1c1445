"""The digest of the code holds all that runs in a worker's process, and nothing that only commands run."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from plasticity_lab.records import training_code
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.provenance import CHECKOUT
from plasticity_lab.records.record import read_record
from plasticity_lab.records.training_code import ENTRIES, code_digest, files_of_worker
from tests.helpers.sweeps import planned

pytestmark = pytest.mark.sample(1)

WORKER = """
import atexit, json, runpy, sys
import launch.launchers.slurm.job
listed = sys.argv.pop(1)
names = ("launch", "analysis", "plasticity_lab")
atexit.register(lambda: open(listed, "w").write(json.dumps(
    [module.__file__ for name, module in sys.modules.items()
     if name.partition(".")[0] in names and getattr(module, "__file__", None)])))
runpy.run_module("launch.work.worker", run_name="__main__")
"""


@pytest.mark.slow
def test_it_holds_every_module_that_a_worker_has_imported_by_its_end(store, tmp_path):
    plan = planned(store, "seed=0")
    listed = tmp_path / "modules.json"
    words = ["--store", str(store.root), "--sweep", plan.sweep, "--device", "cpu"]
    subprocess.run([sys.executable, "-c", WORKER, str(listed), *words], cwd=CHECKOUT, check=True, timeout=300)
    (run,) = read_plan(store, plan.sweep).asked
    assert read_record(store, run)["provenance"]["code"] == code_digest(), "a command finds the same as a worker"
    imported = {Path(path) for path in json.loads(listed.read_text())}
    held = set(training_code._files()._hashes)
    assert CHECKOUT / "launch" / "work" / "training.py" in imported
    assert imported <= held


@pytest.fixture
def checkout(tmp_path):
    """A checkout with a worker, and with a command of which a worker knows nothing."""
    files = {
        "launch/__init__.py": "",
        "launch/work/__init__.py": "",
        "launch/work/worker.py": """
            import launch.packs.pace
            from launch.plan.device import (
                kind_of,  # of the processor (or a GPU)
                by_itself,
            )
            from launch.work import process as worker_process

            def later():
                from launch.wording import counted
            """,
        "launch/work/process.py": "",
        "launch/packs/__init__.py": "",
        "launch/packs/pace.py": "import launch.plan.makespan",
        "launch/plan/__init__.py": "",
        "launch/plan/device/__init__.py": "kind_of = None",
        "launch/plan/device/by_itself.py": "",
        "launch/plan/makespan.py": "",
        "launch/wording.py": "",
        "launch/commands/__init__.py": "",
        "launch/commands/show.py": "from launch.work import worker",
        "plasticity_lab/trainer.py": "",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content))
    return tmp_path


def test_imports_are_followed_in_whatever_form_they_are_written(checkout):
    found = {str(path.relative_to(checkout / "launch")) for path in files_of_worker(checkout)}
    assert found == {
        "__init__.py", "work/__init__.py", "work/worker.py", "work/process.py", "packs/__init__.py", "packs/pace.py",
        "plan/__init__.py", "plan/device/__init__.py", "plan/device/by_itself.py", "plan/makespan.py", "wording.py",
    }  # fmt: skip
    names = {".".join(path.relative_to(CHECKOUT).with_suffix("").parts) for path in files_of_worker(CHECKOUT)}
    assert {*ENTRIES, "launch.work.process"} <= names
    assert not any(name.startswith(("launch.commands", "launch.bench", "launch.own_classes")) for name in names)


def test_an_edit_of_the_workers_process_is_another_code_and_one_of_a_command_is_not(checkout, monkeypatch):
    monkeypatch.setattr(training_code, "CHECKOUT", checkout)

    def begun_again():
        training_code._files.cache_clear()
        return code_digest()

    try:
        first = begun_again()
        (checkout / "launch" / "commands" / "show.py").write_text("edited = True")
        assert begun_again() == first
        (checkout / "launch" / "work" / "process.py").write_text("flushed = True")
        assert begun_again() != first
    finally:
        training_code._files.cache_clear()
