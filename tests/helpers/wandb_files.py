"""A reader of W&B's offline files, for tests only: W&B has no public one."""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2 as pb

from launch.tracking.wandb import content
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store

HEADER, BLOCK = 7, 32768


@dataclass
class Offline:
    """What an offline run holds. rows: `_step` → values, without W&B's own keys. times, seconds: `_step` → `_timestamp`
    and `_runtime`.
    """

    id: str = ""
    name: str = ""
    project: str = ""
    group: str = ""
    job_type: str = ""
    notes: str = ""
    tags: set[str] = field(default_factory=set)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    axes: dict[str, str] = field(default_factory=dict)
    ended: bool = False
    exit_code: int = 0


def read_offline(folder: Path) -> list[Offline]:
    """The offline runs in a folder."""
    return [_run(path) for path in sorted(folder.glob("offline-run-*/*.wandb"))]


def _run(path: Path) -> Offline:
    found = Offline()
    for record in _records(path.read_bytes()):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run = record.run
            found.id, found.project, found.group, found.name = run.run_id, run.project, run.run_group, run.display_name
            found.job_type, found.notes, found.tags = run.job_type, run.notes, set(run.tags)
            found.config |= _values(run.config.update)
        elif kind == "config":
            found.config |= _values(record.config.update)
        elif kind == "summary":
            found.summary |= _values(record.summary.update)
        elif kind == "metric" and record.metric.step_metric:
            found.axes[record.metric.glob_name or record.metric.name] = record.metric.step_metric
        elif kind == "history":
            values = _values(record.history.item)
            number = values["_step"]
            assert number not in found.rows, f"row {number} of {path} is there twice"
            found.times[number], found.seconds[number] = values["_timestamp"], values["_runtime"]
            found.rows[number] = {key: value for key, value in values.items() if not key.startswith("_")}
        elif kind == "exit":
            found.ended, found.exit_code = True, record.exit.exit_code
    return found


def _values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def _records(content: bytes) -> Iterator[pb.Record]:
    """The file is a LevelDB log: parts with a header of checksum, length and kind, in blocks of 32 KiB."""
    assert content[:4] == b":W&B"
    at, part = HEADER, b""
    while at + HEADER <= len(content):
        left = BLOCK - at % BLOCK
        if left < HEADER:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", content, at)
        assert at + HEADER + length <= len(content), "the file is cut off"
        part += content[at + HEADER : at + HEADER + length]
        at += HEADER + length
        if kind in (1, 4):  # whole, or last of several
            record = pb.Record()
            record.ParseFromString(part)
            part = b""
            yield record


def rows_of(store: Store, run: str) -> dict[int, dict[str, Any]]:
    """The rows that W&B gets of a run, from its metrics."""
    return content.merged(content.rows(read_metrics(store, run), declared_in(read_record(store, run))))
