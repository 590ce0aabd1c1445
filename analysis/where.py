"""The selection of rows by the keys of a command, such as runs with `benchmark.batch_size=16`."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.rows import SEEDS, Row
from plasticity_lab.errors import ConfigError

Where = Mapping[str, Any]
"""Key → the value that a run must have, or a list of values that it may have."""
CHOICES = ("activation", "benchmark", "intervention", "protocol", "schedule", "hyperparams")
MADE_BY = ("commit", "dirty", "code", "device", "cpu", "mode", "data", "data_part")
"""The parts of the provenance that can select runs, in addition to the version of torch."""
SHOWN = 12
"""The maximum number of keys or values that a message lists."""


def chosen(rows: Sequence[Row], where: Where) -> list[Row]:
    """The rows that have a wanted value at each key.

    Values are compared as a command reads them: 16, 16.0 and "16" are equal, and so are None and "null".
    Raises ConfigError, with the existing keys or values, if no row has the key, or if no row is left.
    """
    left = list(rows)
    if not where:
        return left
    settings = {id(row): settings_of(row) for row in left}
    keys = {key: None for of_row in settings.values() for key in of_row}
    for key, wanted in where.items():
        name = key.removesuffix(".name")
        if left and name not in keys:
            raise ConfigError(f"No run has the setting '{key}'; there are {some_of(_nearest(name, [*keys]))}.")
        values = {comparable(value) for value in (wanted if isinstance(wanted, list | tuple | set) else [wanted])}
        matching = [row for row in left if comparable(settings[id(row)].get(name)) in values]
        if left and not matching:
            there = sorted({comparable(settings[id(row)].get(name)) for row in left}, key=by_size)
            shown = ", ".join(sorted(map(spelled, values)))
            raise ConfigError(f"No run has {key}={shown}; there are {some_of([*map(spelled, there)])}.")
        left = matching
    return left


def settings_of(row: Row, known: dict[tuple[int, int], Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """All values that can select a row: its outcome, its settings, and the machine that computed it.

    known: a cache of the sorted settings that rows share, by the ids of their objects; for callers with many rows.
    """
    outcome = {"run": row.run, "status": row.status, "collapsed": row.collapsed, **row.flags}
    made = {name: row.provenance.get(name) for name in MADE_BY}
    made["torch"] = (row.provenance.get("versions") or {}).get("torch")
    return {**outcome, **asked_for(row, known), **made}


def asked_for(row: Row, known: dict[tuple[int, int], Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Choices and settings by the keys of a command; the key of an option is the name of its group.

    known: as for `settings_of`.
    """
    chosen = {name: getattr(row, name) for name in CHOICES}
    known, shared = ({} if known is None else known), (id(row.study), id(row.own))
    if shared not in known:
        settings = {key.removesuffix(".name"): value for key, value in sorted((*row.study.items(), *row.own.items()))}
        known[shared] = {key: value for key, value in settings.items() if "." not in key} | settings
    return {**chosen, **known[shared], **dict(zip(SEEDS, row.seeds, strict=True))}


def comparable(value: Any) -> float | str:
    """A value in a form that is equal for a setting and for the same setting in a command's words."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{','.join(map(spelled, map(comparable, value)))}]"
    try:
        return float(value)
    except (TypeError, ValueError):
        words = "null" if value is None else str(value).strip()
        return words.replace(" ", "") if words.startswith("[") else words


def spelled(value: float | str) -> str:
    """A comparable value as it is written in a command."""
    return value if isinstance(value, str) else f"{value:g}"


def by_size(value: float | str) -> tuple[bool, float, str]:
    """A sort key of comparable values: numbers by size, then words."""
    return (True, 0.0, value) if isinstance(value, str) else (False, value, "")


def _nearest(name: str, keys: Sequence[str]) -> list[str]:
    """The keys of the same group; all keys, if the name has no group."""
    group = name.partition(".")[0]
    return [key for key in keys if key.partition(".")[0] == group] or list(keys)


def some_of(words: Sequence[str]) -> str:
    """At most `SHOWN` of the words, and the number of the others."""
    more = len(words) - SHOWN
    return ", ".join([*words[:SHOWN], f"{more} more"] if more > 0 else words)
