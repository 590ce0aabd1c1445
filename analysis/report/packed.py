"""Data small enough for a page: columns of a few different values as numbers, and everything compressed."""

import base64
import gzip
import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

DIGITS = 5
"""Significant digits of numbers."""
PLAIN = (str, int, float, type(None))
"""Types of values that JSON has, too."""


def packed(content: Any) -> str:
    """JSON, compressed, as text that can stand in a page: nothing in it is read as HTML."""
    written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(written.encode(), mtime=0)).decode("ascii")


def coded(values: Iterable[Any]) -> dict[str, list]:
    """A column as its different values and, for each line, the place of its value among them."""
    places: dict[Any, int] = {}
    codes = []
    for value in values:
        plain = isinstance(value, PLAIN)
        word = (type(value), value) if plain else json.dumps(value, sort_keys=True, default=str)
        codes.append(places.setdefault(word, len(places)))
    different = [json.loads(word) if isinstance(word, str) else word[1] for word in places]
    return {"values": different, "codes": codes}


def rounded(value: float | None, digits: int = DIGITS) -> float | int | None:
    """A number short enough for a page; None for none and for what is not finite, which JSON has not."""
    if value is None or not isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short
