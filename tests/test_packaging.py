"""How plasticity_lab is installed: from a clone, in place. A wheel would lack half of it, and is refused."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("setuptools")

import build_backend

ROOT = Path(build_backend.__file__).parent


@pytest.mark.parametrize("hook", ["get_requires_for_build_wheel", "build_wheel"])
def test_a_wheel_is_refused_in_a_sentence_that_says_what_to_do(hook):
    with pytest.raises(SystemExit, match=r"`pip install -e \.`") as refused:
        getattr(build_backend, hook)({})
    assert "\n" not in str(refused.value)


def test_packages_say_that_they_are_typed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for package in project["tool"]["setuptools"]["packages"]:
        assert (ROOT / package / "py.typed").exists()


@pytest.mark.slow
def test_pip_refuses_a_wheel_with_the_sentence(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", str(ROOT), "-w", tmp_path]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 1
    assert build_backend.INSTEAD in found.stdout + found.stderr
    assert "Traceback" not in found.stdout + found.stderr
    assert list(tmp_path.iterdir()) == []


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
