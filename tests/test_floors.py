"""The rules that hold the house up, as far as a machine can check them."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import plasticity_lab

ROOT = Path(plasticity_lab.__file__).parents[1]
BARE_ROOMS = (
    "activations", "agents", "benchmarks", "diagnostics", "environments", "interventions", "networks", "randomness",
    "replay", "stacking",
)  # fmt: skip
BARE_MODULES = ("component", "errors", "trainer")
"""What the bench runs on a GPU machine that has torch and numpy alone; `assembly` too, save that it names ImageSet."""
THERE = {"torch", "numpy", "plasticity_lab"} | sys.stdlib_module_names
ALONE = {
    "plasticity_lab/environments/mujoco": "mujoco",
    "plasticity_lab/environments/atari": "ale_py",
    "plasticity_lab/environments/procgen/server.py": "procgen",
}
"""Room → the package that it alone is made of."""
"""Its files may import MuJoCo too, and are imported when such a body is built."""


def imported(path: Path) -> set[str]:
    """The top-level modules that a file imports anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module.split(".")[0])
    return found


def test_imports_run_downwards():
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    found = subprocess.run([sys.executable, "-c", command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_what_hydra_finds_is_thin():
    """import-linter does not look into a namespace package: what lies there imports these, and defines no function."""
    (path,) = (ROOT / "launch/_plugins").rglob("registered.py")
    allowed = {"hydra.core.config_store", "launch.launchers.plugins", "launch.launchers.slurm.parameters"}
    tree = ast.parse(path.read_text())
    assert {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} == allowed
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.FunctionDef | ast.Lambda)]
    others = set((ROOT / "launch/_plugins").rglob("*.py")) - {path}
    assert [other.read_text() for other in others] == [""]


@pytest.mark.parametrize("name", [*BARE_ROOMS, *(f"{module}.py" for module in BARE_MODULES), "assembly.py"])
def test_rooms_up_to_the_trainer_need_torch_and_numpy_only(name):
    at = ROOT / "plasticity_lab" / name
    files = [at] if at.is_file() else sorted(at.rglob("*.py"))
    assert files
    for path in files:
        allowed = {package for room, package in ALONE.items() if path.is_relative_to(ROOT / room)}
        assert imported(path) <= THERE | allowed, path


def test_the_engine_can_be_imported_where_there_is_only_torch_and_numpy():
    """As the bench does, with everything else that is installed hidden."""
    hide = """
import importlib.abc, sys
HIDDEN = {"ale_py", "gymnasium", "hydra", "mujoco", "omegaconf", "pooch", "pyarrow", "pydantic", "rich", "sklearn"}
HIDDEN |= {"scipy", "tabulate", "yaml"}
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import plasticity_lab.assembly, plasticity_lab.trainer, plasticity_lab.environments.bodies
"""
    found = subprocess.run([sys.executable, "-c", hide], cwd=ROOT, capture_output=True, text=True, env=dict(os.environ))
    assert found.returncode == 0, found.stderr


def test_the_trainer_is_short_and_knows_nobody_by_name():
    text = (ROOT / "plasticity_lab/trainer.py").read_text()
    assert len(text.splitlines()) < 300
    groups = ("activation", "agent", "benchmark", "intervention", "network", "optimizer")
    names = {path.stem for group in groups for path in (ROOT / "conf" / group).glob("*.yaml")} - {"auto", "none"}
    assert len(names) > 25
    words = set(re.findall(r"\w+", text.lower()))
    assert not names & words
    # Nor by the class that a choice names, whole or as part of a word.
    plain = text.lower().replace("_", "")
    classes = {
        line.rsplit(".", 1)[-1].split()[0].lower()
        for group in groups
        for path in (ROOT / "conf" / group).glob("*.yaml")
        for line in path.read_text().splitlines()
        if line.startswith("_target_")
    }
    assert not {name for name in classes if name in plain}


@pytest.mark.parametrize("folder", ["plasticity_lab", "launch", "analysis"])
def test_no_file_is_longer_than_300_lines(folder):
    for path in (ROOT / folder).rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 300, path
