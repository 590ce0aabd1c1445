"""Check classes: names of methods, shapes, and a run in a pack against the run alone.

    python -m launch check --config-dir ~/ideas/conf activation=mine
    python -m launch check agent=dqn benchmark=catch intervention=redo

It takes the words of `python -m plasticity_lab.main`, and writes nothing into the store. It checks each class from
outside the package that the words name, and each choice of the package that they name. For each class it prints the
checks and their results. Every command makes the same checks before the first pack of a class from outside the package.

The exit status is 0 if all classes pass, 1 if a class fails, and 3 if none fails and a class was not tried: with these
words no small pack of it can be trained. 2: the command itself was misspelt.
"""

import argparse
import contextlib
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from launch.own_classes.check import Answer, Checked
from launch.packs.lookup import add_config_dir, config_dir_words
from plasticity_lab.errors import ConfigError, OwnClassError

if TYPE_CHECKING:
    from launch.runs.resolve import Resolved

BENCHMARKS = ("split_digits", "catch", "classic_cycle", "mujoco_cycle", "cale")
"""Tried with their agents if a class does not fit the default benchmark: images, discrete and continuous actions."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    add_config_dir(parser)
    parser.add_argument("words", nargs="*", metavar="WORD", help="as in activation=mine or hydra.searchpath=[file://…]")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises ConfigError, DataError; OwnClassError if a class fails a check."""
    from launch.own_classes.check import checked, mark  # Hydra and others: --help need not wait for them
    from launch.own_classes.named import own_classes
    from launch.runs.desk import Misfit

    words = [*config_dir_words(options), *options.words]
    try:
        resolved = _resolved(words)
    except Misfit as error:
        print(f"{Answer.NOT_TRIED.value}. {error}", file=sys.stderr)
        return Answer.NOT_TRIED.status
    classes = own_classes(resolved.runs, _named(options.words))
    if not classes:
        print("The words name no class. Name a class of yours, or of the package, as in activation=relu.")
        return Answer.NOT_TRIED.status
    results: list[Checked] = []
    for own in classes:
        print(own.description)
        results.append(checked(own, resolved.settings))
        answer = results[-1].answer
        print("".join(f"  {line}\n" for line in [*results[-1].lines, f"{answer.value}."]), flush=True)
        if answer is Answer.PASSED:
            mark(own)
    return _ended(results)


def _resolved(words: Sequence[str]) -> "Resolved":
    """The runs that the words name; if they do not fit the default benchmark, with the first one that fits.

    Raises ConfigError for words that no benchmark makes right.
    """
    from launch.command import resolve
    from launch.command_line import key_of
    from launch.runs.desk import Misfit

    keys = {key_of(word) for word in words}
    try:
        return resolve(words)
    except Misfit:
        for benchmark in () if {"benchmark", "experiment"} & keys else BENCHMARKS:
            with contextlib.suppress(ConfigError):
                resolved = resolve([*words, f"benchmark={benchmark}"])
                print(f"With benchmark={benchmark}: the words name none, and the default one does not fit.")
                return resolved
        raise


def _named(words: Sequence[str]) -> Collection[str]:
    """The groups with an option among the words; `auto` names no option."""
    from launch.command_line import key_of
    from launch.runs.groups import COMPONENTS

    options = {key_of(word): word.partition("=")[2] for word in words}
    return {group for group, option in options.items() if group in COMPONENTS and option != "auto"}


def _ended(results: Sequence[Checked]) -> int:
    """The status of the worst answer.  Raises OwnClassError if a class failed, with the first fault of each class."""
    if faulty := [result for result in results if result.faults]:
        raise OwnClassError("\n".join(dict.fromkeys(result.sentence for result in faulty)))
    return max(result.answer.status for result in results)
