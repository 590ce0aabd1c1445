"""What computed the runs of a table: code, device and mode, and where runs that were made differently are averaged."""

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from analysis.rows import Row
from plasticity_lab.records.own_classes import same_code

Made = Mapping[str, Any]
MOST = 4
"""How many cells a caption names before it only counts them."""


def _commit(made: Made, shared: bool = False) -> str | None:
    """«1234567890ab», with a digest if it does not tell the code.  shared: if other code has the same commit."""
    commit, code, dirty = made.get("commit"), made.get("code"), made.get("dirty")
    if commit is None:
        return f"none (code {code})" if code else None
    more = [*(["changed checkout"] if dirty else []), *([f"code {code}"] if code and (dirty or shared) else [])]
    return f"{commit[:12]} ({', '.join(more)})" if more else commit[:12]


def _torch(made: Made) -> str | None:
    return (made.get("versions") or {}).get("torch")


def _data(made: Made) -> str | None:
    name = made.get("data")
    return f"part of {name or 'the data'}" if made.get("data_part") else name


def _classes(made: Made) -> str | None:
    """Classes of somebody's own, each with the digest of its code."""
    if not (classes := made.get("classes")):
        return None
    return " and ".join(f"{target} {digest}" for target, digest in sorted(classes.items()))


CODE: Mapping[str, Callable[[Made], str | None]] = {"commit": _commit, "torch": _torch}
MACHINE: Mapping[str, Callable[[Made], str | None]] = {
    "data": _data,
    "own code": _classes,
    "mode": lambda made: made.get("mode"),
    "device": lambda made: made.get("device"),
}
"""What must not differ between the runs of a mean without being said; precision is a setting, and splits columns."""


def mixed(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """In what the making of these runs differs: data, own code, mode or device → of how many runs it was which."""
    found = {name: _counts(rows, of) for name, of in MACHINE.items()}
    return {name: dict(counts) for name, counts in found.items() if len(counts) > 1}


def made_lines(rows: Sequence[Row], mixes: Mapping[str, Mapping[str, Mapping[str, int]]]) -> list[str]:
    """What a caption says of it: by which code and on what the finished runs were computed, and which means mix.

    mixes: what a mean is of → what `mixed` says of its runs.
    """
    ended = [row for row in {row.run: row for row in rows}.values() if row.status == "done"]
    named = {name: _counts(ended, of) for name, of in {**CODE, **MACHINE}.items() if name != "data"}
    named["precision"] = Counter(row.study["precision"] for row in ended if "precision" in row.study)
    words = [_said(name, counts) for name, counts in named.items() if counts]
    lines = [f"Computed by {', '.join(words)}."] if words else []
    if begun := _counts_of_earlier_parts(ended, _other_code):
        lines.append(f"Begun by other code than ended them: {_said('', begun)}.")
    if begun := _counts_of_earlier_parts(ended, _other_kind):
        lines.append(f"Begun on another kind of device than ended them: {_said('device', begun)}.")
    blends = [
        f"{what} ({'; '.join(_said(name, counts) for name, counts in differing.items())})"
        for what, differing in mixes.items()
        if differing
    ]
    if blends:
        more = f", and {len(blends) - MOST} more" if len(blends) > MOST else ""
        lines.append(f"Means over runs that were not made alike: {', '.join(blends[:MOST])}{more}.")
    return lines


def _counts(rows: Iterable[Row], of: Callable[[Made], str | None]) -> Counter[str]:
    return Counter(word for row in rows if (word := of(row.provenance)))


def _other_code(part: Made, later: Made) -> str | None:
    """The code of a part, as far as the next part's differs from it; None if nothing differs."""
    words = []
    before, after = (made.get("code") or made.get("commit") for made in (part, later))
    if before != after:
        commit = _commit(part, shared=part.get("commit") == later.get("commit"))
        words.append(f"commit {commit}" if commit else "not known")
    for key, same in (("versions", operator.eq), ("classes", same_code)):
        earlier, now = part.get(key) or {}, later.get(key) or {}
        words += [f"{name} {value}" for name, value in earlier.items() if not same(value, now.get(name, value))]
    return " with ".join(words) or None


def _other_kind(part: Made, later: Made) -> str | None:
    """The kind of device of a part; None if the next part was trained on the same."""
    before, after = part.get("kind"), later.get("kind")
    return None if before == after else before or "not known"


def _counts_of_earlier_parts(rows: Iterable[Row], other: Callable[[Made, Made], str | None]) -> Counter[str]:
    """How many runs have a part that something else ended, by the words of `other` for a part and the next one."""
    pairs = (pair for row in rows for pair in pairwise(row.provenance.get("parts", [])))
    return Counter(words for part, later in pairs if (words := other(part, later)))


def _said(name: str, counts: Mapping[str, int]) -> str:
    if len(counts) == 1:
        return f"{name} {next(iter(counts))}".lstrip()
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    several = name if name in ("", "data", "own code") else f"{name}s"
    return f"{several} {', '.join(f'{word} ({count} runs)' for word, count in ordered)}".lstrip()
