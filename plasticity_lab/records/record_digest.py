"""What of a record never changes once its run has ended, as a few digits: by them a later change is noticed."""

import hashlib
from collections.abc import Mapping
from typing import Any

from plasticity_lab.records.identity import canonical_json

DIGEST = "digest"
"""The key of a record under which its own digest stands."""
ADDED = "added"
"""The key for the columns that were measured after the run had ended: none of them is in the digest."""
FIXED = ("run", "status", "collapsed", "science", "targets", "error", "diverged_at_step", "stopped_at_step")
MADE = ("start", "commit", "code", "device", "pack", "mode")
"""What of its provenance: a run that is trained again differs in its start."""


def digest_of(record: Mapping[str, Any]) -> str:
    """The digest that belongs to a record, whichever it has: 64 hexadecimal digits.

    Names under which the run is asked for again, and columns that are added, are not in it.
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


def is_as_written(record: Mapping[str, Any]) -> bool:
    """Whether a record still is what was written; true of those that earlier versions wrote, which do not say."""
    return record.get(DIGEST) in (None, digest_of(record))
