"""`python -m analysis reproduction`: how closely the measured tables come to the paper's."""

import argparse

from analysis.reproduction.cells import compared
from analysis.reproduction.text import text


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    command.add_argument("--markdown", action="store_true", help="as Markdown")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    print(text(compared(), asked.markdown), end="")
