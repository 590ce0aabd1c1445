"""`python -m analysis compare`: arms compared by a setting, as a table in every format and as a figure."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console

from analysis.asked import FILTERS, add_options, folder_of, places_of, rows_asked_for, tell
from analysis.compare.caption import verdict, welch_verdict
from analysis.compare.comparison import BEST, FEW, comparison
from analysis.compare.preregistered.registration import DIGITS, PAIRED, TESTS, Read, Registration, read, registered_too
from analysis.compare.preregistered.state import State, state_of
from analysis.compare.result import Result, shown
from analysis.frames import metrics_of
from analysis.rows import Row, rows_in
from analysis.statistics.two_groups import holm
from analysis.tables.listing import add_columns, with_columns
from analysis.tables.render import terminal
from analysis.where import some_of
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.first_readings import registered
from plasticity_lab.records.store import Store

FIXED = ("by", "against", "metric", "pairs", *FILTERS, "where")
"""The options of `compare` that a registration has fixed."""


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and the function that runs it."""
    command.add_argument(
        "--by",
        metavar="SETTING",
        help="the compared setting: any group or setting by its key, such as intervention, activation.negative_slope; "
        "arm: all settings that differ between the runs, together; default the only one that differs",
    )
    command.add_argument(
        "--against",
        metavar="ARM",
        help=f"the reference arm, or {BEST}; default none of interventions, otherwise {BEST}",
    )
    command.add_argument("--metric", help="a name of the records' summary; default the agents' main metric")
    command.add_argument(
        "--pairs",
        action=argparse.BooleanOptionalAction,
        help=f"whether all pairs of arms are shown; default with 3 to {FEW} arms",
    )
    command.add_argument(
        "--preregistered",
        metavar="NAME",
        help="read what `analysis preregister` fixed under that name, by its runs, metric and test, and say whether "
        "all was kept",
    )
    command.add_argument(
        "--seal",
        metavar="HASH",
        help="with --preregistered: also check the hash that `preregister NAME --seal` printed",
    )
    command.add_argument(
        "--figure", action=argparse.BooleanOptionalAction, default=True, help="whether a figure is drawn; default yes"
    )
    add_columns(command)
    add_options(command, "tables")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    told: list[str] = []

    def left_out(sentence: str) -> None:
        if (said := f"Left out: {sentence}") not in told:  # metrics are read for several panels
            told.append(said)
            tell(sentence)

    if asked.seal is not None and not asked.preregistered:
        raise ConfigError("--seal checks a registration; name it with --preregistered.")
    if asked.seal is not None and len(asked.seal) < DIGITS:
        raise ConfigError(f"--seal is {asked.seal!r}; give the hash that was printed, or its first {DIGITS} digits.")
    fixed = fixed_for(asked) if asked.preregistered else None
    folder, rows = rows_asked_for(asked, told=left_out)
    store, place, state = Store(folder), folder / "tables", None
    if fixed is None:
        told += notes_beside(store, rows)
    else:
        stored = rows_in(folder)[0]
        state = state_of(store, fixed, stored, asked.seal)
        rows = those_fixed(rows, fixed.registration, state)
        state = with_left_out(state, stored, rows, fixed.registration)
        place = place / f"preregistered_{asked.preregistered}"
    notes = [*told]
    metrics = partial(metrics_of, places_of(asked), rows, told=left_out) if asked.figure else None
    compared = comparison(rows, asked.by, asked.against, asked.metric, asked.pairs)
    found = shown(compared, metrics, asked.metric, notes, Console(stderr=True))
    if fixed and state:
        found = with_heading(found, fixed.registration, state, registered_too(store, fixed.registration), rows)
    found = replace(found, listings=with_columns(found.listings, asked.columns))
    if sys.stdout.isatty():
        terminal(found.once, Console())
    else:
        print(found.text())
    if asked.out or folder.is_dir():
        print(found.write(asked.out or place))


# A comparison read as it was preregistered.


def fixed_for(asked: argparse.Namespace) -> Read:
    """The requested registration; its options replace the command's.

    Raises ConfigError if such an option was also given, if several stores are named, or if no registration has that
    name. Raises StoreError if its file cannot be read.
    """
    given = [f"--{name}" for name in FIXED if getattr(asked, name) is not None]
    if given:
        raise ConfigError(f"--preregistered {asked.preregistered} has fixed {', '.join(given)}; leave it out.")
    if len(places_of(asked)) > 1:
        raise ConfigError("A registration is read in its own store; name one with --store.")
    found = read(Store(folder_of(asked)), asked.preregistered)
    for name in ("by", "against", "metric"):
        setattr(asked, name, getattr(found.registration, name))
    for name in FILTERS:
        setattr(asked, name, found.registration.filters.get(name))
    asked.pairs, asked.where = False, [*found.registration.where]
    return found


def those_fixed(rows: Sequence[Row], registration: Registration, state: State) -> list[Row]:
    """The rows of the registered runs.  Raises ConfigError if fewer than two arms are left."""
    found = [row for row in rows if row.run in registration.runs]
    if len({registration.runs[row.run]["arm"] for row in found}) < 2:
        raise ConfigError(f"{_said(registration, state)[0]} Less than two of its arms are left in this store.")
    return found


def with_left_out(state: State, stored: Sequence[Row], shown: Sequence[Row], registration: Registration) -> State:
    """The state, broken if a registered run that has a row is not among those shown: its record was renamed."""
    left_out = {row.run for row in stored if row.run in registration.runs} - {row.run for row in shown}
    if not left_out:
        return state
    words = f"runs {some_of(sorted(left_out))} are left out by its filters, which they matched when it was written"
    return replace(state, broken=[*state.broken, words])


def with_heading(
    found: Result, registration: Registration, state: State, others: Sequence[str], rows: Sequence[Row]
) -> Result:
    """The result with the registration, its state, and the verdict of its test first below its table.

    others: sentences on other registrations of the same runs. rows: the rows of the registered runs.
    """
    first, *rest = found.listings
    compared = found.found.shown[0]
    pairs = compared.against_reference
    tests = [pair.paired if registration.test == PAIRED else pair.test for pair in pairs]
    corrected = holm([test.p for test in tests])
    words = verdict(compared, [(pair, p, test.t) for pair, p, test in zip(pairs, corrected, tests, strict=True)])
    test = TESTS[registration.test]
    decided = f"Against {compared.reference}, by {test} after Holm's correction, as fixed: {words}"
    decided += f"{_diverged(registration, rows)}."
    usual = welch_verdict(compared)
    left = [sentence for sentence in first.caption if sentence not in usual]
    caption = [*_said(registration, state), decided, *others, *left]
    return replace(found, listings=[replace(first, caption=caption), *rest])


def _diverged(registration: Registration, rows: Sequence[Row]) -> str:
    """The end of the verdict: how many runs of each arm have diverged; empty if none has."""
    words = []
    for arm in registration.arms:
        of_arm = {row.run: row.status for row in rows if registration.runs[row.run]["arm"] == arm}
        if diverged := [*of_arm.values()].count("diverged"):
            words.append(f"of {len(of_arm)} runs of {arm} {diverged} diverged")
    return f", over diverged runs too ({', '.join(words)})" if words else ""


def notes_beside(store: Store, rows: Sequence[Row]) -> list[str]:
    """The sentences of an ordinary table if some of its runs are preregistered."""
    lines = []
    for name in registered(store):
        try:
            runs = {row.run for row in rows} & read(store, name).registration.runs.keys()
        except StoreError as error:
            lines.append(str(error))
            continue
        if runs:
            lines.append(
                f"{len(runs)} of these runs are preregistered; --preregistered {name} reads them as was fixed."
            )
    return lines


def _said(registration: Registration, state: State) -> list[str]:
    at = registration.registered.replace("T", " ").replace("+00:00", " UTC")
    other = [f"{state.other_code} of the runs were trained by other code than the registered one."]
    return [
        f"Preregistered as {registration.name} ({registration.hash[:DIGITS]}) on {at}, {state.runs} runs: "
        f"{state.words}.",
        f"Hypothesis: {registration.hypothesis.rstrip('.')}.",
        *(other if state.other_code else ()),
    ]
