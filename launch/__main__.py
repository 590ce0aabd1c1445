"""Commands around sweeps: python -m launch COMMAND. Each is a module of launch/commands."""

import plasticity_lab.process.import_path  # from now on the current folder comes last
import plasticity_lab.process.whole_lab  # noqa: F401 (ends the process with one sentence if packages are missing)

# isort: split
import argparse
import ast
import contextlib
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

from launch import commands
from plasticity_lab.errors import ConfigError
from plasticity_lab.named_code import check_options_folder
from plasticity_lab.process.account import expanded
from plasticity_lab.process.exits import check_words, command_begins, leave, status_of
from plasticity_lab.records.provenance import ShowVersion


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out a command; returns its exit status (see `status_of`)."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    command_begins(with_process=arguments is None)
    return status_of(lambda: _done(words))


def _done(words: Sequence[str]) -> int | None:
    check_words(words)
    known = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    if not words or words[0] not in known:
        _overview(known).parse_args(words)
        raise AssertionError("argparse ends the process: no command is named.")
    module = importlib.import_module(f"{commands.__name__}.{words[0]}")
    raw = argparse.RawDescriptionHelpFormatter  # keeps the lines of examples
    parser = argparse.ArgumentParser(f"python -m launch {words[0]}", description=module.__doc__, formatter_class=raw)
    module.add_arguments(parser)
    options = parser.parse_intermixed_args(words[1:])  # words may be on either side of a flag
    if getattr(options, "config_dir", None) is not None:
        _name_classes_in(options.config_dir)
    return module.run(options)


def _name_classes_in(folder: str) -> None:
    """Allows the import of classes that the options in this folder name.

    A file that is no option names none.  Raises ConfigError if there is no such folder, or if it is in a store.
    """
    from launch.runs.files import option_in
    from launch.runs.groups import COMPONENTS  # most commands need none of these
    from launch.runs.options import option_of

    path = expanded(folder)
    check_options_folder(path)
    if not path.is_dir():
        raise ConfigError(f"--config-dir is {folder}, but there is no such folder.")
    for group in COMPONENTS:
        for file in sorted((path / group).glob("*.yaml")):
            with contextlib.suppress(ConfigError):
                option_of(group, file.stem, option_in(file))


def _overview(known: Sequence[str]) -> argparse.ArgumentParser:
    """A parser that knows the names of all commands, for --help and for words that name none."""
    parser = argparse.ArgumentParser(prog="python -m launch", description="Commands around sweeps.")
    parser.add_argument("--version", action=ShowVersion)
    chosen = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in known:
        # Read, not imported: together they import a second's worth of libraries.
        text = Path(commands.__path__[0], f"{name}.py").read_text(encoding="utf-8")
        chosen.add_parser(name, help=str(ast.get_docstring(ast.parse(text))).splitlines()[0])
    return parser


if __name__ == "__main__":
    leave(main())
