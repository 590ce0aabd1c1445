"""Facts of a record: flags, failures, its digest, and the files next to it, which `check_files` compares."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plasticity_lab.records.damage import DamagedFile, fault_of_file
from plasticity_lab.records.identity import canonical_json
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import TASK_WEIGHTS, Store

FINISHED = ("done", "diverged")
"""The statuses of runs that are trained again only on request."""
STOPPED = "stopped"
"""The status of runs that a search has stopped early: the search does not train them again, other commands do."""
MEASURED = (*FINISHED, STOPPED)
"""The statuses of runs that have metrics."""
REPLACING = "replacing"
"""The key of a record for files that are being replaced: name → size and checksum of the new one."""
FILES = ("record.json", "metrics.parquet", "weights.pt", "statistics.pt")
"""The files of a run; if a run has one of them, it has all before it."""
ADVICE = "the command of its run sets the record aside, and trains the run again"
RERUN = "the command of its run trains it again with rerun=true"
"""The advice for damage that only reading the whole file shows, which commands do not do for every finished run."""
DIGEST = "digest"
"""The key of a record for its digest."""
TRAINED_BEFORE = "trained_before"
"""The key of a record for earlier trainings of its run that had ended, which `rerun=true` replaced."""
ADDED = "added"
"""The key for columns measured after the run had ended, which the digest leaves out."""
FIXED = ("run", "status", "collapsed", "science", "targets", "error", "diverged_at_step", "stopped_at_step",
         TRAINED_BEFORE)  # fmt: skip
MADE = ("start", "commit", "code", "device", "pack", "mode")
"""The part of the provenance in the digest: a run that is trained again has another start."""


class CorruptRecord(DamagedFile):
    """A file of a finished run is missing or damaged; `path` names the file and `run` the run."""

    def __init__(self, path: Path, reason: str, advice: str = ADVICE) -> None:
        super().__init__(path, reason, advice)
        self.run = path.parent.name


def flags_of(record: Mapping[str, Any]) -> list[str]:
    """The names of the flags that are set, `collapsed` first."""
    flags = {"collapsed": record.get("collapsed"), **record.get("flags", {})}
    return [name for name, is_set in flags.items() if is_set]


def failures(record: Mapping[str, Any] | None) -> int:
    """How many times in a row the run of a record has failed; 0 without a record."""
    if record is None or record["status"] != "failed":
        return 0
    return record["provenance"].get("failures", 1)


def pack_of(record: Mapping[str, Any]) -> str | None:
    """The pack that recorded a run; None if the record names none."""
    pack = record["provenance"].get("pack")
    return pack if isinstance(pack, str) else None


def digest_of(record: Mapping[str, Any]) -> str:
    """64 hexadecimal digits of the parts of a record that never change after the run has ended.

    It leaves out `asked_as`, which grows with later requests, and added columns.
    """
    made, measures = record.get("provenance") or {}, record.get("measures") or {}
    added = record.get(ADDED, ())
    content = {key: record[key] for key in FIXED if key in record} | {
        "provenance": {key: made[key] for key in MADE if key in made},
        "summary": {name: value for name, value in record["summary"].items() if name not in added},
        "headline": measures.get("headline"),
        "summaries": [each for each in measures.get("summaries", ()) if each.get("name") not in added],
    }
    return hashlib.sha256(canonical_json(content, "the record").encode()).hexdigest()


def trainings_of(record: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The ended trainings of a run, the oldest first: the start of each, its code, mode and kind of device, and its
    status.
    """
    if record is None or record["status"] not in MEASURED:
        return []
    made = {key: record["provenance"].get(key) for key in ("start", "commit", "code", "device", "mode")}
    return [*record.get(TRAINED_BEFORE, ()), {**made, "status": record["status"], DIGEST: digest_of(record)}]


def is_as_written(record: Mapping[str, Any]) -> bool:
    """Whether a record is unchanged; True for records of earlier versions, which have no digest."""
    return record.get(DIGEST) in (None, digest_of(record))


def ended_for(settings: Settings) -> tuple[str, ...]:
    """The statuses of runs that a command with these settings trains again only on request."""
    return FINISHED if settings.stopping is None else MEASURED


def seals_of(record: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Name → size and checksum of the files that a record lists; {} for records older than such lists."""
    listed = record.get("files")
    return listed if isinstance(listed, dict) else {}


def seals_allowed(record: Mapping[str, Any], name: str) -> list[dict[str, int]]:
    """The seals that a listed file may have: the old file's, or the new one's while it is being replaced.

    Two files cannot be replaced at once. First the record lists the new file under REPLACING, then the file is written,
    then the record lists it. An interruption in between leaves whole files.
    """
    replacing = record.get(REPLACING)
    return [each[name] for each in (seals_of(record), replacing) if isinstance(each, dict) and name in each]


def keeps_weights(store: Store, record: Mapping[str, Any]) -> bool:
    """Whether a finished run has kept its final parameters."""
    seals = seals_of(record)
    # Records of earlier versions list no files.
    return FILES[2] in seals if seals else os.path.lexists(store.weights(record["run"]))


def keeps_statistics(record: Mapping[str, Any]) -> bool:
    """Whether a run has kept the statistics that scale its observations; False if it has none, or is older."""
    return FILES[3] in seals_of(record)


def files_beside(store: Store, record: Mapping[str, Any]) -> Sequence[str]:
    """The names of a run's files according to its record, the record first; without weights of task ends and films."""
    if record["status"] not in MEASURED:
        return FILES[:1]
    if not keeps_weights(store, record):
        return FILES[:2]
    return FILES if keeps_statistics(record) else FILES[:3]


def check_files(store: Store, record: Mapping[str, Any]) -> None:
    """Raises CorruptRecord if a file of a finished run is missing or damaged.

    Compares sizes and first and last bytes only, so that commands can check whole stores; reading a file finds flipped
    bits. Raises StoreError if the disk does not answer.
    """
    if record["status"] not in MEASURED:
        return
    folder = store.run_folder(record["run"])
    of_tasks = [name for name in seals_of(record) if name.startswith(TASK_WEIGHTS)]
    for name in (*files_beside(store, record)[1:], *of_tasks):
        faults = [fault_of_file(folder / name, each) for each in seals_allowed(record, name) or [None]]
        if all(faults):
            raise CorruptRecord(folder / name, str(faults[0]))
