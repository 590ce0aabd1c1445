"""Records: format 1 kept no `targets`, and the first of format 2 neither `measures` nor `files`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.damage import DamagedFile, fault_of_parquet, read_file, read_mapping, seal
from plasticity_lab.records.files import names
from plasticity_lab.records.kept_files import ADVICE, FILES, FINISHED
from plasticity_lab.records.migration.changed import Changed
from plasticity_lab.records.record import FORMAT, check_record, write_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.tensors import tensors_of

_CONF = Path(__file__).resolve().parents[3] / "conf"


def migrate_records(store: Store, changed: Changed, dry_run: bool) -> None:
    """Rewrites the records that an earlier version wrote.  Raises StoreError."""
    for first in names(store.runs_folder):
        for run in names(store.runs_folder / first):
            path = store.record(run)
            try:
                record = read_mapping(path, ADVICE)
                if record is None:
                    continue
                new = of_today(store, record)
                check_record(store, run, new)
            except DamagedFile as error:
                changed.unreadable.append(str(error))
                continue
            if new == record:
                changed.today["record"] += 1
                continue
            changed.old["record"] += 1
            if not dry_run:
                write_record(store, new)


def of_today(store: Store, record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as this version writes it, with all that it held; the same where it is so already, or is none.

    Classes that format 1 did not keep are those that conf/ names today: `targets_assumed` says so. Where conf/ has the
    option no longer, `targets` is without it. Who kept no measures is a classifier.  Raises StoreError.
    """
    new = dict(record)
    if record.get("format") == 1 and isinstance(record.get("science"), dict):
        new |= {"format": FORMAT, "targets": _targets_of_today(record["science"]), "targets_assumed": True}
    if record.get("format") in (1, FORMAT) and record.get("status") in FINISHED:
        if "measures" not in record and _is_a_classifier(record):
            new["measures"] = CLASSIFIER.as_json()
        if not record.get("files") and (found := _seals(store, str(record.get("run")))):
            new["files"] = found
    return new


def _is_a_classifier(record: Mapping[str, Any]) -> bool:
    """Whether it is of the one agent that there was before agents declared what they measure."""
    science = record.get("science")
    agent = science.get("agent", {"name": "supervised"}) if isinstance(science, dict) else None
    return isinstance(agent, dict) and agent.get("name") == "supervised"


def _targets_of_today(science: Mapping[str, Any]) -> dict[str, str]:
    named = {group: each["name"] for group, each in science.items() if isinstance(each, Mapping) and "name" in each}
    found = {group: _of_conf(group, str(name)) for group, name in named.items()}
    return {group: target for group, target in found.items() if target is not None}


@cache
def _of_conf(group: str, name: str) -> str | None:
    try:
        return yaml.safe_load((_CONF / group / f"{name}.yaml").read_text(encoding="utf-8")).get("_target_")
    except (OSError, yaml.YAMLError, AttributeError):
        return None


def _seals(store: Store, run: str) -> dict[str, dict[str, int]]:
    """Name → size and checksum of the files beside a record; none where one is not whole, which its readers will say.

    Raises StoreError.
    """
    if fault_of_parquet(store.metrics(run)) is not None:
        return {}
    found = {}
    for name in FILES[1:]:
        try:
            content = read_file(store.run_folder(run) / name, ADVICE)
            if content is not None and name != FILES[1]:
                tensors_of(content)
        except (DamagedFile, ValueError):
            return {}
        if content is not None:
            found[name] = seal(content)
    return found
