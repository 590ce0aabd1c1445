"""`python -m plasticity_lab.taxonomy derive|facts|curves`: what kinds of functions the activations are, as data."""

import plasticity_lab.process.import_path  # noqa: F401 (from now on the current folder comes last)

# isort: split
import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from plasticity_lab.errors import ConfigError
from plasticity_lab.process.empty_words import check_words
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.records.files import write_atomically
from plasticity_lab.taxonomy.derive import RANGE, activations, as_text, curves
from plasticity_lab.taxonomy.described import definitions, drawn, facts
from plasticity_lab.taxonomy.options import AN_EXAMPLE, CONF, by_words

DERIVED = Path(__file__).resolve().parents[2] / "analysis/derived"
"""Where the files lie that `python -m analysis` reads."""
POINTS = 481


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says → its exit status, as `status_of` has it."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return status_of(lambda: _done(given))


def _done(given: Sequence[str]) -> int:
    check_words(given)
    asked = _parser().parse_args(given)
    return asked.make(asked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m plasticity_lab.taxonomy", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    derive = commands.add_parser("derive", help="writes what analysis reads: properties, dead bands, curves")
    derive.add_argument("--out", type=Path, default=DERIVED, help="the folder; default analysis/derived")
    derive.set_defaults(make=_derive)
    some = commands.add_parser(
        "curves", help="the curves of any activations; `python -m analysis figure activations --curves FILE` draws them"
    )
    some.add_argument("--between", nargs=2, type=float, default=RANGE, metavar=("LOW", "HIGH"), help="default -6 6")
    some.set_defaults(make=_curves)
    what = commands.add_parser("facts", help="properties, dead band, floor, kinks and side of any activations")
    what.set_defaults(make=_facts)
    for command in (some, what):
        command.add_argument(
            "words", nargs="+", metavar="WORD", help=f"as in a sweep: {AN_EXAMPLE}; several values: a,b"
        )
        command.add_argument("--config-dir", type=Path, default=CONF, help="a folder with activations of your own")
        command.add_argument("--out", type=Path, help="the file; default standard output")
    return parser


def _derive(asked: argparse.Namespace) -> int:
    texts = {"activations.json": as_text(activations()), "curves.json": as_text(curves())}
    for name, text in texts.items():
        write_atomically(asked.out / name, text.encode())
    print(f"Written: {asked.out}/{{{','.join(texts)}}}")
    return 0


def _curves(asked: argparse.Namespace) -> int:
    low, high = asked.between
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(f"--between is {low:g} {high:g}; the first number must be below the second, both finite.")
    some = by_words(asked.words, asked.config_dir)
    return _put(as_text({"curves": [drawn(one, low, high, POINTS) for one in some]}), asked)


def _facts(asked: argparse.Namespace) -> int:
    some = by_words(asked.words, asked.config_dir)
    return _put(as_text({"definitions": definitions(), "shapes": [facts(one) for one in some]}), asked)


def _put(text: str, asked: argparse.Namespace) -> int:
    """Into the file that is asked for, else onto standard output."""
    if asked.out is None:
        sys.stdout.write(text)
    else:
        write_atomically(asked.out, text.encode())
        print(f"Written: {asked.out}")
    return 0


if __name__ == "__main__":
    leave(main())
