"""`python -m analysis preregister`: a hypothesis and its test are fixed before training, or what is fixed is listed."""

import argparse
import sys
from typing import Any

from analysis.asked import FILTERS, add_options, folder_of, rows_asked_for
from analysis.compare.preregistered.beside import beside
from analysis.compare.preregistered.fixing import (
    check_metric,
    check_not_begun,
    check_whole,
    reference_of,
    runs_of,
    the_section,
)
from analysis.compare.preregistered.registration import DIGITS, TESTS, WELCH, Registration, all_names, read, write
from analysis.compare.preregistered.state import state_of
from analysis.rows import rows_in
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.provenance import provenance, utc_now
from plasticity_lab.records.store import Store

PLANNING = "python -m plasticity_lab.main … plan_only=true"
REQUIRED = ("hypothesis", "metric")
FIXED = (*REQUIRED, "by", "against")
"""The options of a registration; REQUIRED ones have no default."""
NEEDED = "required with a name"


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    command.add_argument("name", nargs="?", help="under which it is kept; without one, what is fixed is listed")
    command.add_argument("--hypothesis", metavar="SENTENCE", help=f"the expected outcome, in your words; {NEEDED}")
    command.add_argument(
        "--by",
        metavar="SETTING",
        help="the compared setting, as `compare` takes it; required if the runs differ in several settings",
    )
    command.add_argument(
        "--against",
        metavar="ARM",
        help="the arm that others are compared with; default none of interventions, and required of other settings",
    )
    command.add_argument("--metric", help=f"the compared number, a name of the records' summary; {NEEDED}")
    command.add_argument("--test", choices=[*TESTS], default=WELCH, help="which decides; default %(default)s")
    add_options(command, "preregistered")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    if asked.out is not None:
        raise ConfigError("A preregistration lies in its store; leave --out out.")
    if asked.name is None:
        if given := [f"--{option}" for option in FIXED if getattr(asked, option)]:
            raise ConfigError(f"{' and '.join(given)} say what is fixed; give it a name, as `preregister NAME …`.")
        _list(Store(folder_of(asked)))
        return
    if missing := [f"--{option}" for option in REQUIRED if not getattr(asked, option)]:
        raise ConfigError(f"What is fixed needs {' and '.join(missing)}; --help says what each is.")
    folder, rows = rows_asked_for(asked, PLANNING, unfinished=True)
    by, section = the_section(rows, asked.by)
    against = reference_of(section, by, asked.against)
    check_whole(section)
    store = Store(folder)
    check_not_begun(store, section)
    if note := check_metric(store, section, asked.metric):
        print(note, file=sys.stderr)
    runs = runs_of(section)
    filters: dict[str, Any] = {name: given for name in FILTERS if (given := getattr(asked, name))}
    fixed = Registration(
        name=asked.name,
        hypothesis=asked.hypothesis,
        by=by,
        arms=[*section.arms],
        against=against,
        metric=asked.metric,
        test=asked.test,
        filters=filters,
        where=asked.where or [],
        runs=runs,
        beside=[row.run for _, row in beside(rows_in(store.root)[0], by, runs)],
        registered=utc_now(),
        commit=provenance()["commit"],
    )
    write(store, fixed)
    seeds = {run["seed"] for run in fixed.runs.values()}
    print(
        f"Preregistered as {fixed.name}, hash {fixed.hash[:DIGITS]}: {', '.join(fixed.arms)} against {against}, "
        f"{len(seeds)} seeds, {len(fixed.runs)} runs, {fixed.metric} by {TESTS[fixed.test]} after Holm's correction.\n"
        "Train them by their command without plan_only=true; "
        f"then: python -m analysis compare --preregistered {fixed.name}"
    )


def _list(store: Store) -> None:
    """Each registration with its hash and what became of it.  Raises StoreError where there is none."""
    names = all_names(store)
    if not names:
        raise StoreError(f"Nothing is preregistered in {store.root}; plan runs with `{PLANNING}`, and name it.")
    rows, _ = rows_in(store.root)
    for name in names:
        found = read(store, name)
        print(f"{name} ({found.registration.hash[:DIGITS]}): {state_of(store, found, rows).words}")
