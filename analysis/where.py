"""Rows by the keys of a command: which runs have `benchmark.batch_size=16`."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.rows import Row
from plasticity_lab.errors import ConfigError

Where = Mapping[str, Any]
"""Key → the value that a run must have there, or a list of those that it may have."""
MADE_BY = ("commit", "dirty", "code", "device", "cpu", "mode", "data", "data_part")
"""What of a run's provenance it can be chosen by, beside its torch."""
SHOWN = 12
"""How many keys or values a message lists at most."""


def chosen(rows: Sequence[Row], where: Where) -> list[Row]:
    """The rows that have, at each key, the value that is wanted.

    Values are compared as a command reads them: 16, 16.0 and "16" are one, and so are None and "null".
    Raises ConfigError, naming what there is, for a key that no row has and where no row is left.
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
        found = [row for row in left if comparable(settings[id(row)].get(name)) in values]
        if left and not found:
            there = sorted({comparable(settings[id(row)].get(name)) for row in left}, key=by_size)
            shown = ", ".join(sorted(map(spelled, values)))
            raise ConfigError(f"No run has {key}={shown}; there are {some_of([*map(spelled, there)])}.")
        left = found
    return left


def settings_of(row: Row, known: dict[tuple[int, int], Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """All that a row can be chosen by: its outcome, its settings, and the machine that computed it.

    known: shared and sorted settings of rows by the objects that hold them; for callers with many rows.
    """
    return {**_became(row), **asked_for(row, known), **_made_by(row)}


def _became(row: Row) -> dict[str, Any]:
    return {"run": row.run, "status": row.status, "collapsed": row.collapsed, **row.flags}


def asked_for(row: Row, known: dict[tuple[int, int], Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Choices and settings by the keys of a command; a choice's option stands under the name of its group.

    known: as in `settings_of`.
    """
    names = ("activation", "benchmark", "intervention", "protocol", "schedule", "hyperparams")
    seeds = dict(zip(("seed", "stream_seed", "init_seed"), row.seeds, strict=True))
    known, same = ({} if known is None else known), (id(row.study), id(row.own))
    if same not in known:
        settings = {key.removesuffix(".name"): value for key, value in sorted((*row.study.items(), *row.own.items()))}
        known[same] = {key: value for key, value in settings.items() if "." not in key} | settings
    return {**{name: getattr(row, name) for name in names}, **known[same], **seeds}


def _made_by(row: Row) -> dict[str, Any]:
    made = row.provenance
    torch = (made.get("versions") or {}).get("torch")
    return {**{name: made.get(name) for name in MADE_BY}, "torch": torch}


def comparable(value: Any) -> float | str:
    """A value so that it equals the word by which a command gives it."""
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
    """A comparable value as a command gives it."""
    return value if isinstance(value, str) else f"{value:g}"


def by_size(value: float | str) -> tuple[bool, float, str]:
    """A sort key of comparable values: numbers by size, then words."""
    return (True, 0.0, value) if isinstance(value, str) else (False, value, "")


def _nearest(name: str, keys: Sequence[str]) -> list[str]:
    """The keys of the same group first; all of them where the name has none."""
    group = name.partition(".")[0]
    return [key for key in keys if key.partition(".")[0] == group] or list(keys)


def some_of(words: Sequence[str]) -> str:
    """At most `SHOWN` of the words, and how many more there are."""
    more = len(words) - SHOWN
    return ", ".join([*words[:SHOWN], f"{more} more"] if more > 0 else words)
