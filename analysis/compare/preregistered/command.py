"""`python -m analysis preregister`: fixes a hypothesis and its test before training, or lists the registrations."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from analysis.asked import FILTERS, add_options, folder_of, rows_asked_for
from analysis.compare.comparison import BEST
from analysis.compare.preregistered.registration import (
    DIGITS,
    TESTS,
    WELCH,
    Registration,
    read,
    registered_too,
    seal_of,
    write,
)
from analysis.compare.preregistered.state import beside, state_of
from analysis.compare.sections import Section, sections
from analysis.compare.setting import chosen_setting
from analysis.conf import groups
from analysis.rows import Row, rows_in
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.files import stands
from plasticity_lab.records.first_readings import registered
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.provenance import provenance, utc_now
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of
from plasticity_lab.records.training_code import code_digest

PLANNING = "python -m plasticity_lab.main … plan_only=true"
REQUIRED = ("hypothesis", "metric")
FIXED = (*REQUIRED, "by", "against")
"""The options of a registration; REQUIRED ones have no default."""
NEEDED = "required with a name"
FIRST = "a hypothesis is fixed before its runs are trained"


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and the function that runs it."""
    command.add_argument("name", nargs="?", help="the registration's name; without one, all registrations are listed")
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
    command.add_argument(
        "--seal",
        action="store_true",
        help="print one hash of the registration, its plan and its code, for a commit, a mail or OSF; "
        "`compare --preregistered NAME --seal HASH` checks it",
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
            raise ConfigError(f"{' and '.join(given)} describe a registration; give it a name: `preregister NAME …`.")
        _list(Store(folder_of(asked)))
        return
    if asked.seal and (given := [f"--{option}" for option in FIXED if getattr(asked, option)]):
        raise ConfigError(f"--seal is of a registration that exists; leave {' and '.join(given)} out.")
    if asked.seal:
        store = Store(folder_of(asked))
        print(seal_of(store, read(store, asked.name).registration))
        return
    if missing := [f"--{option}" for option in REQUIRED if not getattr(asked, option)]:
        raise ConfigError(f"A registration needs {' and '.join(missing)}; --help describes each.")
    folder, rows = rows_asked_for(asked, PLANNING, unfinished=True)
    store = Store(folder)
    fixed = _registration(asked, store, rows)
    write(store, fixed)
    seeds = {run["seed"] for run in fixed.runs.values()}
    for sentence in registered_too(store, fixed):
        print(sentence)
    print(
        f"Preregistered as {fixed.name}, hash {fixed.hash[:DIGITS]}: {', '.join(fixed.arms)} against {fixed.against}, "
        f"{len(seeds)} seeds, {len(fixed.runs)} runs, {fixed.metric} by {TESTS[fixed.test]} after Holm's correction.\n"
        "Train them by their command without plan_only=true; "
        f"then: python -m analysis compare --preregistered {fixed.name}"
    )


def _list(store: Store) -> None:
    """Prints each registration with its hash and its state.  Raises StoreError if the store has no registration."""
    names = registered(store)
    if not names:
        raise StoreError(f"Nothing is preregistered in {store.root}; plan runs with `{PLANNING}`, and name it.")
    rows, _ = rows_in(store.root)
    for name in names:
        found = read(store, name)
        print(f"{name} ({found.registration.hash[:DIGITS]}): {state_of(store, found, rows).words}")


def _registration(asked: argparse.Namespace, store: Store, rows: Sequence[Row]) -> Registration:
    """A registration of planned runs.  Raises ConfigError, for example if a run has begun."""
    by, section = _the_section(rows, asked.by)
    against = _reference(section, by, asked.against)
    _check_whole(section)
    _check_not_begun(store, section)
    if note := _check_metric(store, section, asked.metric):
        print(note, file=sys.stderr)
    runs = {
        row.run: {"arm": arm, "task": task, "seed": row.seeds[0]}
        for task, arms in section.strata.items()
        for arm, of_arm in arms.items()
        for row in of_arm
    }
    filters: dict[str, Any] = {name: given for name in FILTERS if (given := getattr(asked, name))}
    return Registration(
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
        code=code_digest(),
    )


def _the_section(rows: Sequence[Row], by: str | None) -> tuple[str, Section]:
    """The compared setting, and the section of all rows.

    Raises ConfigError if the rows make several sections, or some are in no section.
    """
    setting = chosen_setting(rows, by)
    found, notes = sections(rows, setting)
    if len(found) > 1:
        words = "; ".join(section.words for section in found)
        raise ConfigError(f"These runs make {len(found)} comparisons ({words}); choose one with --where.")
    if notes:
        raise ConfigError(f"{notes[0]} Leave them out with --where.")
    return setting, found[0]


def _reference(section: Section, by: str, against: str | None) -> str:
    """The arm that others are compared with.  Raises ConfigError if it is not one of the arms, or not given."""
    names = ", ".join(section.arms)
    if against is None and by == "intervention" and "none" in section.arms:
        return "none"
    if against is None or against == BEST:
        raise ConfigError(f"The reference arm is fixed too: name it with --against ({names}).")
    if against not in section.arms:
        raise ConfigError(f"There is no arm '{against}' of {by}; --against takes {names}.")
    return against


def _check_whole(section: Section) -> None:
    """Raises ConfigError if an arm lacks a seed that another arm has: one of the two must be a mistake. Raises it also
    for a single seed, which decides nothing.
    """
    for task, arms in section.strata.items():
        seeds = {arm: {row.seeds for row in arms.get(arm, ())} for arm in section.arms}
        most = max(seeds, key=lambda arm: len(seeds[arm]))
        if len(seeds[most]) < 2:
            raise ConfigError("With one seed in each arm no test can decide; plan two seeds or more.")
        for arm, of in seeds.items():
            if lacking := seeds[most] - of:
                where = f" on {task}" if task else ""
                words = ", ".join(sorted(str(each[0]) for each in lacking))
                raise ConfigError(f"{arm} lacks seeds {words} of {most}{where}; plan all arms with the same seeds.")


def _check_not_begun(store: Store, section: Section) -> None:
    """Raises ConfigError if a run has ended, or its training has begun."""
    wanted = {row.run for row in section.rows}
    ended = [row.run for row in section.rows if row.status != "waiting"]
    if ended:
        raise ConfigError(
            f"{len(ended)} of the {len(wanted)} runs have ended already, as {ended[0]}; {FIRST}. Plan others, with "
            "plan_only=true, in another store or with other seeds."
        )
    for sweep in sweeps_of(store):
        for pack in read_plan(store, sweep).packs:
            if wanted & {*pack.runs} and stands(store.binding(pack.id)):
                raise ConfigError(f"The training of pack {pack.id}, which has some of these runs, has begun; {FIRST}.")


def _check_metric(store: Store, section: Section, metric: str) -> str | None:
    """Raises ConfigError for a metric that not all of these runs will have; a sentence if that is not known.

    The summary values of diagnostics are known when a run has ended.
    """
    planned = {name: run for sweep in sweeps_of(store) for name, run in read_plan(store, sweep).runs.items()}
    one_each = [planned[rows[0].run] for arms in section.strata.values() for rows in arms.values()]
    having = [measures_of(run.targets, run.science).declared.summaries.keys() for run in one_each]
    if all(metric in names for names in having):
        return None
    neutral = groups()["diagnostics"]["neutral"]
    if any(run.besides.get("diagnostics", {}).get("name", neutral) != neutral for run in one_each):
        return f"Whether '{metric}' comes from a diagnostic is known only when a run has ended."
    known = sorted(set.intersection(*map(set, having)))
    raise ConfigError(f"Not all runs will have '{metric}' in their summaries; they will have {', '.join(known)}.")
