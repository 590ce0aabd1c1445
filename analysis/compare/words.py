"""How values, keys and lists read in a comparison."""

from collections.abc import Sequence
from typing import Any

from analysis.where import comparable, spelled


def word(value: Any) -> str:
    """A value as a command gives it."""
    return spelled(comparable(value))


def short(key: str) -> str:
    """A key without its group, and with spaces."""
    return key.rpartition(".")[2].replace("_", " ")


def listed(words: Sequence[str]) -> str:
    """Words in a sentence, as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def together(names: Sequence[str]) -> str:
    """Names in a row; semicolons separate them if some have commas, as "atari, pong" has."""
    return ("; " if any(", " in name for name in names) else ", ").join(names)
