"""`python -m analysis check-paper`: what of the paper agrees with its own numbers."""

import argparse

from analysis.check_paper.checks import findings
from analysis.check_paper.text import text


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    command.add_argument("--disagreements", action="store_true", help="only what does not agree")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    print(text(findings(), asked.disagreements), end="")
