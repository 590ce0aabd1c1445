"""Commands around sweeps: python -m launch COMMAND. Each is a module of launch/commands."""

import plasticity_lab.import_path  # noqa: F401 (from now on the current folder comes last)

# isort: split
import argparse
import ast
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

from launch import commands
from plasticity_lab.command_age import command_begins
from plasticity_lab.exits import leave, status_of
from plasticity_lab.version import ShowVersion


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says → its exit status, as `status_of` has it."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    command_begins(with_process=arguments is None)
    return status_of(lambda: _done(given))


def _done(given: Sequence[str]) -> int:
    options = _parser(given).parse_args(given)
    return options.run(options)


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """A parser of the command that is named; where none is, of all commands' names alone, for --help."""
    parser = argparse.ArgumentParser(prog="python -m launch", description="Commands around sweeps.")
    parser.add_argument("--version", action=ShowVersion)
    chosen = parser.add_subparsers(required=True, metavar="COMMAND")
    known = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    if given and given[0] in known:
        module = importlib.import_module(f"{commands.__name__}.{given[0]}")
        command = chosen.add_parser(given[0], description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
        return parser
    for name in known:
        # Read, not imported: together they import a second's worth of libraries.
        text = Path(commands.__path__[0], f"{name}.py").read_text(encoding="utf-8")
        chosen.add_parser(name, help=str(ast.get_docstring(ast.parse(text))).splitlines()[0])
    return parser


if __name__ == "__main__":
    leave(main())
