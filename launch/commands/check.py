"""Check your classes from outside the package: names of methods, shapes, and a run in a pack against the run alone.

    python -m launch check --config-dir ~/ideas/conf activation=mine

It takes the words of `python -m plasticity_lab.main`, and writes nothing into the store. For each class from outside
the package that the words name, it prints the checks and their results. Every command makes the same checks before the
first pack of such a class. The exit status is 1 if a class fails a check.
"""

import argparse
from collections.abc import Sequence

from launch.own_classes.check import Checked
from launch.packs.lookup import add_config_dir, config_dir_words
from plasticity_lab.errors import OwnClassError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_config_dir(parser)
    parser.add_argument("words", nargs="*", metavar="WORD", help="as in activation=mine or hydra.searchpath=[file://…]")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises ConfigError, DataError; OwnClassError if a class fails a check."""
    from launch.command import asked  # Hydra: --help need not wait for it
    from launch.own_classes.check import checked, mark
    from launch.own_classes.named import own_classes

    found = asked([*config_dir_words(options), *options.words]).resolved
    owns = own_classes(found.runs)
    if not owns:
        print("The words name no class from outside the package. The package's own are checked by its tests.")
        return 0
    results: list[Checked] = []
    for own in owns:
        print(own.description)
        results.append(checked(own, found.settings))
        lines = [*results[-1].lines, "NOT in order." if results[-1].faults else "in order."]
        print("".join(f"  {line}\n" for line in lines), flush=True)
        if not results[-1].faults:
            mark(own)
    return _ended(results)


def _ended(results: Sequence[Checked]) -> int:
    """0 if all classes passed.  Raises OwnClassError otherwise, with the first fault of each class."""
    faulty = [each for each in results if each.faults]
    if faulty:
        raise OwnClassError("\n".join(each.sentence for each in faulty))
    return 0
