"""The command: python -m plasticity_lab.main activation=leaky_relu seed=0,1,2."""

import plasticity_lab.process.import_path  # from now on the current folder comes last
import plasticity_lab.process.whole_lab  # noqa: F401 (ends the process with one sentence if packages are missing)

# isort: split
import sys

from launch.command import run_command
from plasticity_lab.process.exits import leave


def main() -> None:
    """Trains the runs that the command line names; --help lists the possible names."""
    leave(run_command(sys.argv[1:], with_process=True))


if __name__ == "__main__":
    main()
