"""First readings of preregistered runs: the digests of their records when a command first showed their results.

A table, a figure, a report, a comparison, a data frame and an export are readings. If a record has another digest
later, it was changed, or its run trained again, after its result could be known.
"""

import contextlib
import itertools
import json
import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Any

from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import read_mapping
from plasticity_lab.records.files import create_once, names
from plasticity_lab.records.provenance import utc_now
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import FINISHED, digest_of
from plasticity_lab.records.store import Store

NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
"""The name of a registration."""
COPY = "only a copy of it can replace it"


@dataclass(frozen=True)
class FirstReadings:
    """The readings of a registration's runs.

    count: their number. since: the time of the first one (UTC, ISO 8601); None without any. digests: run → the digest
    of its record when it was first read. hashes: the hashes of the registration at these readings.
    """

    count: int
    since: str | None
    digests: Mapping[str, str]
    hashes: Set[str]


def registered(store: Store) -> list[str]:
    """The names of all registrations in a store, sorted."""
    if not store.registrations_folder.is_dir():
        return []
    files = [name.removesuffix(".json") for name in names(store.registrations_folder) if name.endswith(".json")]
    return sorted(name for name in files if NAME.fullmatch(name))


def first_readings(store: Store, name: str) -> FirstReadings:
    """The readings of a registration's runs until now.  Raises StoreError for a file that is not whole."""
    readings: list[dict[str, Any]] = []
    for number in itertools.count(1):
        path = store.first_reading(name, number)
        reading = read_mapping(path, COPY)
        if reading is None:
            break
        if not reading.keys() >= {"hash", "read", "records"}:
            raise StoreError(f"{path} was changed: it lacks hash, read or records.")
        readings.append(reading)
    digests: dict[str, str] = {}
    for reading in readings:
        digests = {**reading["records"], **digests}
    since = readings[0]["read"] if readings else None
    return FirstReadings(len(readings), since, digests, {reading["hash"] for reading in readings})


def keep_first_reading(store: Store, runs: Collection[str] | None = None) -> None:
    """Keeps the digests of preregistered runs that have ended and were not read before.

    runs: the runs that are shown now; None for all. A store that cannot be written, and damaged files, are left to
    `compare --preregistered`, which names them.
    """
    for name in registered(store):
        with contextlib.suppress(StoreError):
            _keep(store, name, runs)


def _keep(store: Store, name: str, runs: Collection[str] | None) -> None:
    content = read_mapping(store.registration(name), COPY) or {}
    of_study = content.get("runs")
    if not isinstance(of_study, dict):
        return
    shown = of_study.keys() if runs is None else of_study.keys() & set(runs)
    kept = False
    while not kept:  # another reader may take the next name at the same moment
        before = first_readings(store, name)
        records = {run: _ended(store, run) for run in sorted(shown - before.digests.keys())}
        digests = {run: digest_of(record) for run, record in records.items() if record}
        if not digests:
            return
        reading = {"hash": content.get("hash"), "read": utc_now(), "records": digests}
        kept = create_once(store.first_reading(name, before.count + 1), json.dumps(reading, indent=1).encode())


def _ended(store: Store, run: str) -> Mapping[str, Any] | None:
    with contextlib.suppress(StoreError):  # damaged: it is named when the registration is read
        record = read_record(store, run)
        if record and record["status"] in FINISHED:
            return record
    return None
