"""How commands end: one exit status and at most one sentence, whatever happened."""

import subprocess
import sys
from pathlib import Path

import pytest

from plasticity_lab.errors import ConfigError
from plasticity_lab.exits import TRACE, status_of

ROOT = Path(__file__).resolve().parents[1]
DOORS = {
    "plasticity_lab.main": ["--help"],
    "launch": ["--help"],
    "launch.bench": ["--help"],
    "analysis": ["--help"],
}


def raises(error):
    def command():
        raise error

    return command


def test_a_mistake_is_one_sentence_and_status_1(monkeypatch, capsys):
    monkeypatch.delenv(TRACE, raising=False)
    assert status_of(raises(ConfigError("seed is x; it must be a whole number."))) == 1
    assert capsys.readouterr().err == "seed is x; it must be a whole number.\n"


def test_the_traceback_of_a_mistake_is_there_for_who_asks(monkeypatch):
    monkeypatch.setenv(TRACE, "1")
    with pytest.raises(ConfigError):
        status_of(raises(ConfigError("seed is x.")))


def test_ctrl_c_is_one_line_and_status_130(capsys):
    assert status_of(raises(KeyboardInterrupt()), "Interrupted; resume goes on.") == 130
    assert capsys.readouterr().err == "Interrupted; resume goes on.\n"


def test_a_command_ends_with_its_own_status():
    assert status_of(lambda: 7) == 7


@pytest.mark.parametrize("module", DOORS)
def test_no_door_complains_of_a_reader_that_has_gone(module):
    """As with `| head`: whoever read the output has closed it before it is written."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *DOORS[module]], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() in (0, 1)
    assert said == b""


@pytest.mark.parametrize("module", ["plasticity_lab.main", "launch", "analysis"])
def test_each_door_says_which_version_it_is(module):
    import plasticity_lab

    command = [sys.executable, "-m", module, "--version"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(f"plasticity_lab {plasticity_lab.__version__}")
    assert found.stdout.count("\n") == 1
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert git.returncode or git.stdout.strip() in found.stdout
