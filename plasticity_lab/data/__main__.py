"""python -m plasticity_lab.data fetch|check NAME [--folder DIR]: download an image set ahead of time, or verify it."""

import plasticity_lab.process.import_path  # noqa: F401 (from now on the current folder comes last)

# isort: split
import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.sources import source_named, sources, verified
from plasticity_lab.process.empty_words import check_words
from plasticity_lab.process.exits import leave, status_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says → its exit status, as `status_of` has it."""
    return status_of(lambda: _done(arguments))


def _done(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser("python -m plasticity_lab.data", description="Download or verify an image set.")
    parser.add_argument("action", choices=["fetch", "check"], help="fetch: download what is missing; check: verify")
    parser.add_argument("name", help=" or ".join(sources()))
    parser.add_argument("--folder", help="folder of data sets (default: PLASTICITY_DATA, else in the user's cache)")
    given = sys.argv[1:] if arguments is None else list(arguments)
    check_words(given)
    asked = parser.parse_intermixed_args(given)
    print((fetch if asked.action == "fetch" else verified)(asked.name, data_folder(asked.folder)))
    return 0


def fetch(name: str, folder: Path) -> str:
    """Download what is missing, then check; a line that says where the data is."""
    source = source_named(name)
    if source.fetch is None:
        return f"Nothing needs fetching. {verified(name, folder)}"
    source.fetch(folder)
    return verified(name, folder)


if __name__ == "__main__":
    leave(main())
