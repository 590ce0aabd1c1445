"""Ids from content: the id of a run, a sweep or a pack is a short hash of its parts."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from plasticity_lab.errors import ConfigError

_DIGITS = 12


def canonical_json(value: Any, where: str = "the value") -> str:
    """The canonical JSON of a value: sorted keys, no spaces, one form for equal numbers (1, 1.0, 1e0), tuples as lists.

    Floats have the shortest digits that read back as the same float.  Raises ConfigError for NaN and infinity, for keys
    that are not strings, and for values that JSON cannot hold; `where` names the value.
    """
    plain = _plain(value, where)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def run_id(canonical: Mapping[str, Any]) -> str:
    """12 hex digits for a canonical science config."""
    return run_id_of(spelled(canonical))


def spelled(canonical: Mapping[str, Any]) -> dict[str, str]:
    """The members of a canonical science config, each with its key as `canonical_json` spells it."""
    return {
        key: f"{json.dumps(key, ensure_ascii=False)}:{canonical_json(value, f'the value.{key}')}"
        for key, value in canonical.items()
    }


def run_id_of(members: Mapping[str, str]) -> str:
    """The run id of a science config with spelled members: many runs share most of them."""
    return _digits(f"{{{','.join(members[key] for key in sorted(members))}}}")


def sweep_id(run_ids: Iterable[str]) -> str:
    """12 hex digits for a set of runs, in any order."""
    return _short_hash(sorted(set(run_ids)))


def pack_id(run_ids: Iterable[str], attempt: int, part_of: str | None = None) -> str:
    """12 hex digits for runs and an attempt, so that an old lease never binds a new attempt.

    part_of: the pack that was divided into this one and another; the same runs may also have been a planned pack.
    """
    part = {} if part_of is None else {"part_of": part_of}
    return _short_hash({"runs": sorted(set(run_ids)), "attempt": attempt} | part)


def _short_hash(value: Any) -> str:
    return _digits(canonical_json(value))


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _plain(value: Any, where: str) -> Any:
    """The value in JSON's own types, whole numbers as int."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(f"{where} is {value}; it must be a finite number.")
        return int(value) if value.is_integer() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ConfigError(f"{where} has the key {key!r}; keys must be strings.")
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    raise ConfigError(f"{where} is a {type(value).__name__}; it must be null, a number, a word, a list or a mapping.")
