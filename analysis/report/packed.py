"""Data small enough for a page: columns of a few different values as numbers, and everything compressed."""

import base64
import gzip
import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

DIGITS = 5
"""Significant digits of numbers."""


def packed(content: Any) -> str:
    """JSON, compressed, as text that can stand in a page: nothing in it is read as HTML."""
    written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(written.encode(), mtime=0)).decode("ascii")


def coded(values: Iterable[Any]) -> dict[str, list]:
    """A column as its different values and, for each line, the place of its value among them."""
    places: dict[Any, int] = {}
    different, codes = [], []
    for value in values:
        text = None
        if not (value is None or isinstance(value, str | int | float)):
            text = json.dumps(value, sort_keys=True, default=str)
        word = (type(value), value) if text is None else text
        if word not in places:
            places[word] = len(different)
            different.append(value if text is None else json.loads(text))
        codes.append(places[word])
    return {"values": different, "codes": codes}


def rounded(value: float | None, digits: int = DIGITS) -> float | int | None:
    """A number short enough for a page; None for none and for what is not finite, which JSON has not."""
    if value is None or not isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short
