"""What a record says of how its run ended, read out of the mapping that it is."""

from collections.abc import Mapping
from typing import Any


def flags_of(record: Mapping[str, Any]) -> list[str]:
    """What a record says of its run beside its status: the names of the flags that are set, `collapsed` first."""
    flags = {"collapsed": record.get("collapsed"), **record.get("flags", {})}
    return [name for name, is_so in flags.items() if is_so]


def failures(record: Mapping[str, Any] | None) -> int:
    """How often in turn the run of a record, if it has one, has failed."""
    if record is None or record["status"] != "failed":
        return 0
    return record["provenance"].get("failures", 1)


def pack_of(record: Mapping[str, Any]) -> str | None:
    """The pack that recorded a run; None of records that do not say."""
    pack = record["provenance"].get("pack")
    return pack if isinstance(pack, str) else None
