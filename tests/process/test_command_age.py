"""When a command was given, also where its process has imported for a while before it could know that."""

import subprocess
import sys

from plasticity_lab.process.exits import LONGEST_START_SECONDS, command_begins, seconds_since_command


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
