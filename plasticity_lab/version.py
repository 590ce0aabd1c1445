"""Which plasticity_lab this is: what `--version` prints."""

import argparse
from typing import Any

from plasticity_lab import __version__


def version_line() -> str:
    """«plasticity_lab 0.1.0 (commit 23e4bc2…, with changes)»; the version alone where this is no git checkout."""
    from plasticity_lab.records.provenance import provenance  # every parser of arguments imports this file

    made = provenance()
    if made["commit"] is None:
        return f"plasticity_lab {__version__}"
    return f"plasticity_lab {__version__} (commit {made['commit']}{', with changes' if made['dirty'] else ''})"


class ShowVersion(argparse.Action):
    """The flag --version of an argument parser: prints the line and ends, as --help does; asks git only then."""

    def __init__(self, option_strings: list[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and the commit, and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Called by argparse where the flag is given."""
        print(version_line())
        parser.exit()
