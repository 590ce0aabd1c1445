"""python -m plasticity_lab.data fetch|check NAME [--folder DIR]: download an image set ahead of time, or verify it."""

import plasticity_lab.process.import_path  # from now on the current folder comes last
import plasticity_lab.process.whole_lab  # noqa: F401 (ends the process with one sentence if packages are missing)

# isort: split
import argparse
import sys
from collections.abc import Sequence

from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.sources import MODULES, source_named, verified
from plasticity_lab.process.exits import check_words, leave, status_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status, as `status_of` does."""
    return status_of(lambda: _carried_out(sys.argv[1:] if arguments is None else list(arguments)))


def _carried_out(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m plasticity_lab.data", description="Download or verify an image set.")
    parser.add_argument("action", choices=["fetch", "check"], help="fetch: download missing files; check: verify")
    parser.add_argument("name", help=" or ".join(MODULES))
    parser.add_argument("--folder", help="folder of data sets (default: PLASTICITY_DATA, or in the user's cache)")
    check_words(words)
    options = parser.parse_intermixed_args(words)
    folder, nothing_to_do = data_folder(options.folder), ""
    if options.action == "fetch":
        fetch = source_named(options.name).fetch
        if fetch is None:
            nothing_to_do = "Nothing needs fetching. "
        else:
            fetch(folder)
    print(f"{nothing_to_do}{verified(options.name, folder)}")
    return 0


if __name__ == "__main__":
    leave(main())
