"""What arms, settings and numbers of a comparison are called, in as few words as tell them apart."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.names import NAMES
from analysis.where import by_size, comparable, spelled

FIRST = ("none", "null", "false")
"""Values that stand for nothing, before all others."""


def word(value: Any) -> str:
    """A value as a command gives it."""
    return spelled(comparable(value))


def short(key: str) -> str:
    """A key without its group, and with spaces."""
    return key.rpartition(".")[2].replace("_", " ")


def label(value: Any, own: Mapping[str, Any]) -> str:
    """An arm: the value, and what tells it from others of that value."""
    return " ".join([word(value), *(f"{name.rpartition('.')[2]}={word(of)}" for name, of in own.items())])


def place(by: str, value: Any, own: Mapping[str, Any]) -> tuple[Any, ...]:
    """A sort key of arms: numbers by size; names as the papers have them, others by letter after those."""
    known = {name: at for at, name in enumerate(NAMES.get(by, {}))}
    as_word = word(value)
    is_first = as_word in FIRST
    return (
        not is_first,
        known.get(as_word, len(known)),
        by_size(comparable(value)),
        [by_size(comparable(of)) for of in own.values()],
    )


def p_value(p: float | None) -> str | None:
    """Two digits: 0.0012, 3e-08."""
    return None if p is None else f"{p:.2g}"


def listed(words: Sequence[str]) -> str:
    """Words as a sentence has them, as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def together(names: Sequence[str]) -> str:
    """Names in a row, which may have commas of their own, as "atari, pong" has."""
    return ("; " if any(", " in name for name in names) else ", ").join(names)
