"""`python -m analysis table|figure|report|…`: the results of runs, next to the paper's."""

import plasticity_lab.process.import_path  # from now on the current folder comes last
import plasticity_lab.process.whole_lab  # noqa: F401 (ends the process with one sentence if packages are missing)

# isort: split
import argparse
import importlib
import sys
from collections.abc import Sequence

from plasticity_lab.process.exits import check_words, leave, status_of
from plasticity_lab.records.provenance import ShowVersion

COMMANDS = {
    "table": ("analysis.tables.command", "a table of the papers, from the runs of a store"),
    "figure": ("analysis.figures.command", "a figure, from the runs of a store"),
    "compare": ("analysis.compare.command", "does X help? arms compared by a setting, with tests and a figure"),
    "preregister": ("analysis.compare.preregistered.command", "a hypothesis and its test, fixed before training"),
    "cite": ("analysis.cite.command", "BibTeX of everything that the runs of a store used"),
    "report": ("analysis.report.command", "everything that a store holds, as one HTML page"),
    "check-paper": ("analysis.check_paper.command", "the paper's claims, recomputed from its own printed numbers"),
    "coverage": ("analysis.coverage.command", "how often each interval holds the truth, by simulation"),
    "reproduction": ("analysis.reproduction.command", "how closely analysis/measured reproduces the paper"),
}
"""Command → its module and its purpose. Only the module of the given command is imported."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line → its exit status, from `status_of`."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    return status_of(lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    check_words(words)
    if not words or words[0] not in COMMANDS:
        _overview().parse_args(words)
        raise AssertionError("argparse ends the process: no command is named.")
    module, what = COMMANDS[words[0]]
    parser = argparse.ArgumentParser(prog=f"python -m analysis {words[0]}", description=f"{what[0].upper()}{what[1:]}.")
    importlib.import_module(module).add_command(parser)
    asked = parser.parse_intermixed_args(words[1:])  # words may be on either side of a flag
    asked.make(asked)
    return 0


def _overview() -> argparse.ArgumentParser:
    """A parser of the names of all commands, for --help and for words that name no command."""
    parser = argparse.ArgumentParser(prog="python -m analysis", description="Results of the runs of a store.")
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, what) in COMMANDS.items():
        commands.add_parser(name, help=what)
    return parser


if __name__ == "__main__":
    leave(main())
