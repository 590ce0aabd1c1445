"""`python -m analysis table|figure|report|…`: what runs came to, and what the paper says."""

import plasticity_lab.import_path  # noqa: F401 (from now on the current folder comes last)

# isort: split
import argparse
import importlib
import sys
from collections.abc import Sequence

from plasticity_lab.exits import leave, status_of
from plasticity_lab.version import ShowVersion

COMMANDS = {
    "table": ("analysis.tables.command", "a table of the papers, from the runs of a store"),
    "figure": ("analysis.figures.command", "a figure, from the runs of a store"),
    "compare": ("analysis.compare.command", "does X help? arms compared by a setting, with tests and a figure"),
    "preregister": ("analysis.compare.preregistered.command", "a hypothesis and its test, fixed before training"),
    "report": ("analysis.report.command", "everything that a store holds, as one HTML page"),
    "check-paper": ("analysis.check_paper.command", "the paper's claims, recomputed from its own printed numbers"),
    "coverage": ("analysis.coverage.command", "how often each interval holds the truth, by simulation"),
    "reproduction": ("analysis.reproduction.command", "how closely analysis/measured reproduces the paper"),
}
"""Command → its module and what it is for. The module of the one that is given is imported, and no other."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says → its exit status, as `status_of` has it."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return status_of(lambda: _done(given))


def _done(given: Sequence[str]) -> int:
    asked = _parser(given).parse_args(given)
    asked.make(asked)
    return 0


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """A parser of the command that is given; of the others, and where none is, of their names alone."""
    parser = argparse.ArgumentParser(prog="python -m analysis", description="What the runs of a store came to.")
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (module, what) in COMMANDS.items():
        command = commands.add_parser(name, help=what)
        if given and given[0] == name:
            importlib.import_module(module).add_command(command)
    return parser


if __name__ == "__main__":
    leave(main())
