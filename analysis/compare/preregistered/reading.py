"""A comparison read as it was preregistered: only by the runs, the metric and the test that were fixed."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from analysis.asked import FILTERS, folder_of, places_of
from analysis.compare.caption import verdict, welch_verdict
from analysis.compare.preregistered.registration import DIGITS, PAIRED, TESTS, Read, Registration, all_names, read
from analysis.compare.preregistered.state import State
from analysis.compare.result import Result
from analysis.rows import Row
from analysis.statistics.holm import holm
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.store import Store

FIXED = ("by", "against", "metric", "pairs", *FILTERS, "where")
"""The options of `compare` that a registration has fixed."""


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


def with_heading(found: Result, registration: Registration, state: State) -> Result:
    """The result with the registration, its state, and the verdict of its test first below its table."""
    first, *rest = found.listings
    compared = found.found.shown[0]
    pairs = compared.against_reference
    tests = [pair.paired if registration.test == PAIRED else pair.test for pair in pairs]
    corrected = holm([test.p for test in tests])
    words = verdict(compared, [(pair, p, test.t) for pair, p, test in zip(pairs, corrected, tests, strict=True)])
    test = TESTS[registration.test]
    decided = f"Against {compared.reference}, by {test} after Holm's correction, as fixed: {words}."
    usual = welch_verdict(compared)
    others = [sentence for sentence in first.caption if sentence not in usual]
    caption = [*_said(registration, state), decided, *others]
    return replace(found, listings=[replace(first, caption=caption), *rest])


def notes_beside(store: Store, rows: Sequence[Row]) -> list[str]:
    """The sentences of an ordinary table if some of its runs are preregistered."""
    lines = []
    for name in all_names(store):
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
    return [
        f"Preregistered as {registration.name} ({registration.hash[:DIGITS]}) on {at}, {state.runs} runs: "
        f"{state.words}.",
        f"Hypothesis: {registration.hypothesis.rstrip('.')}.",
    ]
