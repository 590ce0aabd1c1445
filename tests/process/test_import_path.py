"""Files of somebody's own in the current folder are not taken for modules of ours, or of libraries."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plasticity_lab.process.import_path import for_children, importing_alike

pytestmark = pytest.mark.sample(2)

ROOT = Path(__file__).resolve().parents[2]
MAIN = ("-m", "plasticity_lab.main", "dry_run=true", "tracking=store", "schedule=smoke")


@pytest.fixture
def here(tmp_path):
    """Gives a Python its words in a folder → how it ended."""

    def give(*words):
        environment = {
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")
        }
        return subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)

    return give


@pytest.mark.parametrize("name", ["launch", "yaml"])
def test_a_module_of_the_current_folder_hides_none_of_ours(here, tmp_path, name):
    (tmp_path / f"{name}.py").write_text("raise SystemExit('mine')")
    ended = here(*MAIN)
    assert (ended.returncode, "1 run to train" in ended.stdout) == (0, True), ended.stderr
    assert (f"python -P -m {name}" in ended.stderr) == (name in ("launch", "analysis"))


def test_every_command_moves_the_current_folder_before_all_else():
    folders = ("plasticity_lab/*", "launch", "launch/*", "analysis")
    commands = [path for folder in folders for path in ROOT.glob(f"{folder}/__main__.py")]
    for path in (*commands, ROOT / "plasticity_lab/main.py"):
        first = next(node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom))
        assert ast.unparse(first) == "import plasticity_lab.process.import_path", path


def test_variables_for_others_children_are_gone_afterwards(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "before")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with importing_alike():
        assert for_children().items() <= os.environ.items()
    assert (os.environ["PYTHONPATH"], "PYTHONSAFEPATH" in os.environ) == ("before", False)


def test_the_way_out_that_is_named_runs_ours(here, tmp_path):
    (tmp_path / "launch.py").write_text("raise SystemExit('mine')")
    ended = here("-P", "-m", "launch", "--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "doctor" in ended.stdout


def test_classes_of_the_current_folder_are_found_all_the_same(here, tmp_path):
    (tmp_path / "mine.py").write_text("from plasticity_lab.activations.tanh import Tanh as Mine\n")
    (tmp_path / "conf" / "activation").mkdir(parents=True)
    (tmp_path / "conf" / "activation" / "mine.yaml").write_text("_target_: mine.Mine\n")
    ended = here(*MAIN, "--config-dir", "conf", "activation=mine")
    assert (ended.returncode, "1 run to train" in ended.stdout) == (0, True), ended.stderr


def test_children_look_where_this_process_looks():
    script = "import plasticity_lab; print(plasticity_lab.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | for_children(), capture_output=True, text=True
    )
    assert found.stdout.strip() == str(ROOT / "plasticity_lab" / "__init__.py")
