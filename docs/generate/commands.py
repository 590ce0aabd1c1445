"""The page of the commands: what --help prints of each, from its own parser."""

import argparse
import contextlib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import yaml

from analysis.__main__ import COMMANDS
from docs.generate.conf_files import CONF
from docs.generate.markdown import block, code, plain, table
from launch import commands

ROOT = Path(__file__).parents[2]
ADDRESS = "reference/commands.md"
OTHERS = ("plasticity_lab.data", "plasticity_lab.environments", "plasticity_lab.taxonomy")
"""Modules with a command line of their own."""


class Parser(BaseException):
    """A command has built its parser, and shall do nothing more."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__(parser)
        self.parser = parser


def pages() -> dict[str, str]:
    """Address below docs/pages → Markdown."""
    parts = [
        "# Commands\n\nThe command that trains, then all others. Made from their parsers; `--help` prints the same.",
        "## plasticity_lab.main\n\nTrains. [Settings](options/settings.md) and [options](options/index.md) follow it.",
        block(_help_of_training(), "text"),
    ]
    for module, words in _all_commands():
        parts += _command(parser_of(module, words))
    return {ADDRESS: "\n\n".join(parts) + "\n"}


def parser_of(module: str, words: list[str]) -> argparse.ArgumentParser:
    """The parser of a module's command line."""

    def stop(parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        raise Parser(parser)

    names = ("parse_args", "parse_intermixed_args")
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(mock.patch.object(argparse.ArgumentParser, name, stop))
        try:
            importlib.import_module(f"{module}.__main__").main(words)
        except Parser as found:
            return found.parser
    raise RuntimeError(f"python -m {module} {' '.join(words)} has no parser")


def _all_commands() -> Iterator[tuple[str, list[str]]]:
    for module in sorted(each.name for each in pkgutil.iter_modules(commands.__path__)):
        yield "launch", [module]
    for name in COMMANDS:
        yield "analysis", [name]
    for module in OTHERS:
        yield module, []


def _help_of_training() -> str:
    """The part of its --help before the options and settings, which have pages of their own."""
    config = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))
    return config["hydra"]["help"]["template"].partition("\nChoices (")[0]


def _command(parser: argparse.ArgumentParser, level: str = "##") -> list[str]:
    """The sections of a command and of those below it."""
    name = parser.prog.removeprefix("python -m ")
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    parts = [f"{level} {name}", _described(parser.description or ""), block(_usage(parser), "text")]
    rows = [_argument(parser, action) for action in parser._actions if action.dest != "help" and action not in inner]
    parts = [part for part in parts if part]
    if rows:
        parts.append(table(("argument", "default", "meaning"), rows))
    for action in inner:
        for each in action.choices.values():
            parts += _command(each, level + "#")
    return parts


def _usage(parser: argparse.ArgumentParser) -> str:
    with mock.patch.dict("os.environ", {"COLUMNS": "100"}):
        return re.sub(r"^usage: ", "", parser.format_usage())


def _argument(parser: argparse.ArgumentParser, action: argparse.Action) -> list[str]:
    formatter = parser._get_formatter()
    value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
    names = ", ".join(action.option_strings)
    shown = f"{names} {value}".strip() if names else formatter._format_args(action, action.dest)
    default = (
        "" if action.default in (None, False, argparse.SUPPRESS, []) else str(action.default).replace(f"{ROOT}/", "")
    )
    meaning = formatter._expand_help(action) if action.help else ""
    return [code(shown), code(default), plain(meaning, ADDRESS)]


def _described(text: str) -> str:
    """A description; its indented lines are examples."""
    parts = []
    for paragraph in re.split(r"\n{2,}", inspect.cleandoc(text)):
        if paragraph.startswith("    "):
            parts.append(block(inspect.cleandoc(paragraph), "text"))
        else:
            parts.append(plain(" ".join(paragraph.split()), ADDRESS))
    return "\n\n".join(parts)
