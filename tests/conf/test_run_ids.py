"""Run ids never change: a store must know its runs again, whatever is rebuilt around them.

`run_ids.json` holds, for each command, how many runs it names and a hash of their ids. A new command is added with
`python -m tests.conf.test_run_ids 'activation=relu optimizer.lr=0.5'`; a line that exists is never written anew.
"""

import hashlib
import json
import shlex
import sys
from pathlib import Path

import pytest

from launch.command import resolve

KNOWN = Path(__file__).with_name("run_ids.json")
COMMANDS = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}


def ids(command: str) -> str:
    """«57 runs 0123456789abcdef»: how many runs a command names, and a hash of their sorted ids."""
    found = sorted(run.id for run in resolve(shlex.split(command)).runs)
    return f"{len(found)} runs {hashlib.sha256(' '.join(found).encode()).hexdigest()[:16]}"


GRIDS = [command for command in COMMANDS if command.startswith("experiment=tableE2_")][1:]
"""Whole grids like the first, whose benchmarks and activations other commands name too."""


@pytest.mark.walk(12)
@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=pytest.mark.slow if each in GRIDS else ()) for each in COMMANDS]
)
def test_a_command_names_the_runs_it_always_did(command):
    assert ids(command) == COMMANDS[command]


if __name__ == "__main__":
    added = {command: ids(command) for command in sys.argv[1:] if command not in COMMANDS}
    KNOWN.write_text(json.dumps(COMMANDS | added, indent=0, ensure_ascii=False) + "\n")
