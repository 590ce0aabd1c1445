"""The files that lie beside a record: which a run has kept, and whether they are whole."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plasticity_lab.records.damage import DamagedFile, fault_of_parquet, fault_of_tensors
from plasticity_lab.records.index_files import Outcome
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import TASK_WEIGHTS, Store

FINISHED = ("done", "diverged")
"""The statuses of runs that are not trained again unless asked."""
STOPPED = "stopped"
"""That of runs that a search has stopped early: it does not train them again, and any other command does."""
MEASURED = (*FINISHED, STOPPED)
"""The statuses of runs whose metrics lie beside the record."""
REPLACING = "replacing"
"""The key of a record for files that are being replaced: name → size and checksum of the new one."""
FILES = ("record.json", "metrics.parquet", "weights.pt", "statistics.pt")
"""In the order in which runs have them: whoever has one of them has all before it."""
ADVICE = "the command of its run sets the record aside, and trains the run again"
RERUN = "the command of its run trains it again with rerun=true"
"""For damage that shows only when the whole file is read, which a command does not do with every finished run."""


class CorruptRecord(DamagedFile):
    """A file of a finished run that is missing or cannot be read; `path` names it and `run` the run."""

    def __init__(self, path: Path, reason: str, advice: str = ADVICE) -> None:
        super().__init__(path, reason, advice)
        self.run = path.parent.name


def ended_for(settings: Settings) -> tuple[str, ...]:
    """The statuses of runs that a command with these settings does not train again unless asked."""
    return FINISHED if settings.stopping is None else MEASURED


def seals_of(record: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Name → size and checksum of the files that a record lists; nothing in records that are older than such lists."""
    listed = record.get("files")
    return listed if isinstance(listed, dict) else {}


def seals_allowed(record: Mapping[str, Any], name: str) -> list[dict[str, int]]:
    """What a file may be that a record lists: the one that was written, or the one that takes its place at this moment.

    Two files cannot be replaced as one: first the record says what will be there too (REPLACING), then the file is
    written, then the record says that it is there. Whatever ends this in between, the files are whole.
    """
    replacing = record.get(REPLACING)
    return [each[name] for each in (seals_of(record), replacing) if isinstance(each, dict) and name in each]


def keeps_weights(store: Store, record: Mapping[str, Any]) -> bool:
    """Whether the final parameters of a finished run lie beside its record."""
    seals = seals_of(record)
    # Records of earlier versions do not list their files, and so not say whether weights were kept.
    return FILES[2] in seals if seals else os.path.lexists(store.weights(record["run"]))


def keeps_statistics(record: Mapping[str, Any]) -> bool:
    """Whether the statistics that scale what the network is given lie beside the weights.

    False of runs that have none, and of those that were trained before they were kept.
    """
    return FILES[3] in seals_of(record)


def files_beside(store: Store, record: Mapping[str, Any]) -> Sequence[str]:
    """The names of the files that a record says its run has, itself first."""
    if record["status"] not in MEASURED:
        return FILES[:1]
    if not keeps_weights(store, record):
        return FILES[:2]
    return FILES if keeps_statistics(record) else FILES[:3]


def files_of(outcome: Outcome) -> Sequence[str]:
    """The names of the files of a run that its outcome was made of: each has three marks."""
    return FILES[: max(1, len(outcome.marks) // 3)]


def check_files(store: Store, record: Mapping[str, Any]) -> None:
    """Raises CorruptRecord if a file that a finished run left beside its record is missing or not whole.

    Looks at sizes and at first and last bytes only, so that a store can be looked through each time; flipped bits
    inside are found when the file is read. Raises StoreError if the disk does not answer.
    """
    if record["status"] not in MEASURED:
        return
    metrics, seals = store.metrics(record["run"]), seals_of(record)
    allowed = seals_allowed(record, metrics.name) or [None]
    faults = [fault_of_parquet(metrics, each) for each in allowed]
    if all(faults):
        raise CorruptRecord(metrics, str(faults[0]))
    kept = [store.weights(record["run"])] if keeps_weights(store, record) else []
    kept += [store.statistics(record["run"])] if keeps_statistics(record) else []
    kept += [metrics.with_name(name) for name in seals if name.startswith(TASK_WEIGHTS)]
    for path in kept:
        if fault := fault_of_tensors(path, seals.get(path.name)):
            raise CorruptRecord(path, fault)
