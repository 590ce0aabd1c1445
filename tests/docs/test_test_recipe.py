"""The recipe of a test: its file, beside the files of the activation, passes; and it fails for a broken class."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, files_of

RECIPES = ROOT / "docs/pages/how_to/add"


def ended(folder: Path, chosen: str) -> subprocess.CompletedProcess:
    """Runs the chosen tests of the page in a process of their own."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, str(folder / "test_softsign.py")]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.fixture
def ideas(tmp_path):
    """A folder with the files of both recipes."""
    for name, content in {**files_of(RECIPES / "activation.md"), **files_of(RECIPES / "test.md")}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.mark.slow
def test_the_file_of_the_page_passes(ideas):
    found = ended(ideas, "test")
    assert found.returncode == 0, found.stdout
    assert "3 passed" in found.stdout


@pytest.mark.slow
def test_its_tests_fail_for_a_class_that_takes_the_first_runs_setting(ideas):
    file = ideas / "softsign.py"
    file.write_text(file.read_text().replace('along_run_axis(site.shape["sharpness"], x)', "self.sharpness"))
    found = ended(ideas, "by_hand or packed_run")
    assert "2 failed" in found.stdout, found.stdout
