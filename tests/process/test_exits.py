"""How commands end: one exit status and at most one sentence, whatever happened."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import LONGEST_START_SECONDS, TRACE, command_begins, seconds_since_command, status_of

ROOT = Path(__file__).resolve().parents[2]
DOORS = {
    "plasticity_lab.main": ["--help"],
    "launch": ["--help"],
    "launch.bench": ["--help"],
    "analysis": ["--help"],
    "plasticity_lab.data": ["--help"],
}
BUFFERED, UNBUFFERED = {"PYTHONUNBUFFERED": ""}, {"PYTHONUNBUFFERED": "1"}


def raises(error):
    def command():
        raise error

    return command


def test_a_mistake_and_an_interruption_are_one_sentence_and_a_status_and_a_traceback_for_who_asks(monkeypatch, capsys):
    monkeypatch.delenv(TRACE, raising=False)
    mistake = raises(ConfigError("seed is x; it must be a whole number."))
    assert (status_of(lambda: 7), status_of(mistake)) == (7, 1)
    assert capsys.readouterr().err == "seed is x; it must be a whole number.\n"
    assert status_of(raises(KeyboardInterrupt()), "Interrupted; resume goes on.") == 130
    assert capsys.readouterr().err == "Interrupted; resume goes on.\n"
    monkeypatch.setenv(TRACE, "1")
    with pytest.raises(ConfigError):
        status_of(mistake)


@pytest.mark.parametrize(
    "words",
    [
        ["plasticity_lab.main", "dry_run=true"],
        ["launch", "status"],
        ["launch", "calibrate"],
        ["analysis", "table", "--store", str(ROOT)],
        ["plasticity_lab.data", "check", "mnist"],
    ],
    ids=" ".join,
)
def test_a_current_folder_that_was_removed_is_one_sentence(tmp_path, words):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = shlex.join([sys.executable, "-m", *words])
    run = subprocess.run(
        ["bash", "-c", f"cd {shlex.quote(str(gone))} && rmdir {shlex.quote(str(gone))} && exec {command}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("module", DOORS)
def test_a_reader_that_has_gone_has_seen_enough(module):
    """As with `| head`: whoever read the output has closed it before it is written."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *DOORS[module]], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert said == b""


@pytest.mark.sample(1)
def test_a_plan_whose_reader_has_gone_has_been_seen(tmp_path):
    words = f"schedule=smoke tracking=store dry_run=true store={tmp_path}"
    ended = in_shell(f'set -o pipefail; "$0" -m plasticity_lab.main {words} 2>&1 | true')
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.sample(1)
def test_training_that_nobody_hears_of_any_longer_stops_and_is_not_done(tmp_path):
    words = f"schedule=smoke tracking=store mode=eager store={tmp_path}"
    ended = in_shell(f'set -o pipefail; "$0" -m plasticity_lab.main {words} 2>&1 | true')
    assert (ended.returncode, ended.stderr) == (1, "")
    assert list(tmp_path.glob("runs/*/*/record.json")) == []


@pytest.mark.sample(1)
def test_training_goes_on_where_its_words_cannot_be_written(tmp_path):
    words = f"schedule=smoke tracking=store mode=eager store={tmp_path}"
    with open("/dev/full", "w") as full:
        ended = in_shell(f'"$0" -m plasticity_lab.main {words}', stderr=full)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert len(list(tmp_path.glob("runs/*/*/record.json"))) == 1


@pytest.mark.parametrize("buffering", [BUFFERED, UNBUFFERED], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("module", DOORS)
def test_output_on_a_full_disk_is_a_sentence_and_status_1(module, buffering):
    with open("/dev/full", "w") as full:
        ended = in_shell(f'"$0" -m {module} {" ".join(DOORS[module])}', env=buffering, stdout=full)
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_whose_output_is_closed_does_what_it_is_to_do(closed):
    shown = in_shell(f'"$0" -m launch --help {closed}')
    assert (shown.returncode, shown.stderr) == (0, "")
    mistaken = in_shell(f'"$0" -m launch show nothing --store /nowhere {closed}')
    assert (mistaken.returncode, mistaken.stdout) == (1, "")
    assert mistaken.stderr == "" or "/nowhere" in mistaken.stderr


def test_what_a_process_opens_does_not_take_the_place_of_closed_output(tmp_path):
    """Otherwise what libraries print on standard error would be written into a file of the store."""
    begins = "from plasticity_lab.process.exits import begin_output as b; b()"
    script = f"{begins}; import os; f = open('kept', 'w'); os.write(2, b'!')"
    assert in_shell(f'"$0" -c "{script}" <&- >&- 2>&-', cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}).returncode == 0
    assert (tmp_path / "kept").read_text() == ""


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_signs_that_the_output_lacks_are_written_as_numbers(encoding):
    printed = "from plasticity_lab.process.exits import leave, status_of; leave(status_of(lambda: print('κ ±') or 0))"
    ended = in_shell(f'"$0" -c "{printed}"', env={"PYTHONIOENCODING": encoding}, text=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout == "κ ±\n".encode(encoding, "backslashreplace")


def in_shell(script, env=None, text=True, cwd=ROOT, **streams):
    """A script of bash as it ended; $0 is this Python."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    words = ["bash", "-c", script, sys.executable]
    return subprocess.run(words, cwd=cwd, env=os.environ | (env or {}), text=text, **streams)


@pytest.mark.parametrize("module", ["plasticity_lab.main", "launch", "analysis"])
def test_each_door_says_which_version_it_is(module):
    import plasticity_lab

    command = [sys.executable, "-m", module, "--version"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(f"plasticity_lab {plasticity_lab.__version__}")
    assert found.stdout.count("\n") == 1
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert git.returncode or git.stdout.strip() in found.stdout


def test_a_command_of_a_process_of_its_own_began_when_that_was_started():
    code = (
        "import time; time.sleep(0.5)\n"
        "from plasticity_lab.process.exits import command_begins, seconds_since_command\n"
        "command_begins(with_process=True); print(seconds_since_command())"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 0.5 < float(printed) < LONGEST_START_SECONDS


def test_one_of_several_in_a_process_begins_when_it_is_given():
    command_begins(with_process=False)
    assert 0 <= seconds_since_command() < 5
