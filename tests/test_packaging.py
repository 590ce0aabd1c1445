"""How plasticity_lab is installed: a wheel with the package alone, or a clone with the extra `lab` for commands."""

import ast
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

pytest.importorskip("setuptools")
pytest.importorskip("packaging")

from plasticity_lab import __version__
from plasticity_lab.process.whole_lab import NEEDED, objection
from tests.docs.pages import fences
from tests.helpers.empty_environment import ROOT, environment, install, wheel

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
AT_HAND = {"torch", "numpy", "plasticity_lab", *sys.stdlib_module_names}
IMPORT = """
import time
import numpy, torch
before = time.process_time()
import plasticity_lab.outside as outside
assert [getattr(outside, name) for name in outside.PLACES]
print(time.process_time() - before)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(tmp_path_factory, built):
    """The Python of an environment with the wheel, torch and numpy: the index is not asked for more."""
    python = environment(tmp_path_factory.mktemp("empty"))
    install(python, str(built))
    return python


def run(python, folder, *words, **variables):
    return subprocess.run([python, *words], cwd=folder, capture_output=True, text=True, env={**os.environ, **variables})


def test_a_wheel_holds_the_package_with_all_its_files_and_nothing_else(built):
    kept = subprocess.run(
        [*"git ls-files --cached --others --exclude-standard plasticity_lab".split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    if not kept:
        pytest.skip("no clone of Git")
    with zipfile.ZipFile(built) as archive:
        names = set(archive.namelist())
        facts = archive.read(f"plasticity_lab-{__version__}.dist-info/METADATA").decode()
    assert {name for name in names if not name.startswith("plasticity_lab-")} == set(kept.split())
    assert {"plasticity_lab/py.typed", "plasticity_lab/kernels/conv.cpp", "plasticity_lab/kernels/adam.h"} <= names
    needed = [line for line in facts.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert sorted(line.split()[1].partition(">")[0] for line in needed) == ["numpy", "torch"]
    assert f"\nVersion: {__version__}\n" in facts


def test_the_extra_lab_has_the_packages_that_commands_check_and_dev_includes_it():
    assert set(NEEDED.values()) <= {line.partition(">")[0] for line in EXTRAS["lab"]}
    (ours,) = [line for line in EXTRAS["dev"] if line.startswith("plasticity-lab[")]
    assert "lab" in ours.removeprefix("plasticity-lab[").rstrip("]").split(",")
    assert objection() is None


def test_commands_of_a_wheel_and_of_a_clone_without_the_extra_end_in_a_sentence(python, tmp_path):
    found = run(python, tmp_path, "-m", "plasticity_lab.main", "activation=relu")
    assert (found.returncode, found.stdout) == (1, "")
    assert "from a clone" in found.stderr
    assert found.stderr.count("\n") == 1
    for module in ("plasticity_lab.main", "launch", "analysis"):
        found = run(python, tmp_path, "-m", module, PYTHONPATH=str(ROOT))
        assert (found.returncode, found.stdout) == (1, "")
        assert "-e '.[lab]'" in found.stderr
        assert "hydra-core" in found.stderr
        assert found.stderr.count("\n") == 1


def test_outside_needs_torch_and_numpy_alone_and_is_imported_at_once(python, tmp_path):
    for _ in range(2):  # the first process compiles the modules
        found = run(python, tmp_path, "-c", IMPORT, PYTHONDONTWRITEBYTECODE="")
        assert found.returncode == 0, found.stderr
    assert float(found.stdout) <= 0.2


@pytest.mark.slow
def test_the_examples_of_the_page_run_in_order_with_the_wheel_alone(python, tmp_path):
    page = (ROOT / "docs/pages/how_to/outside.md").read_text()
    blocks = [content for language, content in fences(page) if language == "python" and imported(content) <= AT_HAND]
    assert blocks
    (tmp_path / "page.py").write_text("\n".join(blocks))
    found = run(python, tmp_path, "page.py")
    assert found.returncode == 0, found.stderr


def imported(block):
    """The top-level modules that an example imports."""
    nodes = [*ast.walk(ast.parse(block))]
    names = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    return {name.partition(".")[0] for name in [*names, *(n.module for n in nodes if isinstance(n, ast.ImportFrom))]}


def test_packages_say_that_they_are_typed():
    for package in ("plasticity_lab", "launch", "analysis"):
        assert (ROOT / package / "py.typed").exists()


@pytest.mark.slow
def test_a_source_archive_holds_all_that_a_clone_holds(tmp_path):
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in kept:
        (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    build = f"import build_backend; build_backend.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path / "clone", check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert not {name for name in kept if not name.startswith(".")} - names
