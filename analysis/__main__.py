"""`python -m analysis table|figure|report|check-paper|reproduction`: what runs came to, and what the paper says."""

import argparse
from collections.abc import Sequence

from analysis.check_paper.checks import findings
from analysis.check_paper.text import text as findings_text
from analysis.figures.command import add_command as add_figure_command
from analysis.report.command import add_command as add_report_command
from analysis.reproduction.cells import compared
from analysis.reproduction.text import text as reproduction_text
from analysis.tables.command import add_command as add_table_command
from plasticity_lab.exits import leave, status_of
from plasticity_lab.version import ShowVersion


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says → its exit status, as `status_of` has it."""
    return status_of(lambda: _done(arguments))


def _done(arguments: Sequence[str] | None) -> int:
    asked = _parser().parse_args(arguments)
    asked.make(asked)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis", description="What the runs of a store came to.")
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(dest="command", required=True)
    table = commands.add_parser("table", help="a table of the papers, from the runs of a store")
    add_table_command(table)
    figure = commands.add_parser("figure", help="a figure, from the runs of a store")
    add_figure_command(figure)
    report = commands.add_parser("report", help="everything that a store holds, as one HTML page")
    add_report_command(report)
    check = commands.add_parser("check-paper", help="the paper's claims, recomputed from its own printed numbers")
    check.add_argument("--disagreements", action="store_true", help="only what does not agree")
    check.set_defaults(make=_check_paper)
    reproduction = commands.add_parser("reproduction", help="how closely analysis/measured reproduces the paper")
    reproduction.add_argument("--markdown", action="store_true", help="as Markdown")
    reproduction.set_defaults(make=_reproduction)
    return parser


def _check_paper(asked: argparse.Namespace) -> None:
    print(findings_text(findings(), asked.disagreements), end="")


def _reproduction(asked: argparse.Namespace) -> None:
    print(reproduction_text(compared(), asked.markdown), end="")


if __name__ == "__main__":
    leave(main())
