"""What computed the runs of a table: code, device and mode, and where runs that were made differently are averaged."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from analysis.rows import Row

Made = Mapping[str, Any]
MOST = 4
"""How many cells a caption names before it only counts them."""


def _commit(made: Made) -> str | None:
    """«1234567890ab», with a digest where it does not tell the code."""
    commit, code = made.get("commit"), made.get("code")
    if commit is None:
        return f"none (code {code})" if code else None
    changed = f" (changed checkout{f', code {code}' if code else ''})" if made.get("dirty") else ""
    return commit[:12] + changed


def _torch(made: Made) -> str | None:
    return (made.get("versions") or {}).get("torch")


def _data(made: Made) -> str | None:
    name = made.get("data")
    return f"part of {name or 'the data'}" if made.get("data_part") else name


def _classes(made: Made) -> str | None:
    """Classes of somebody's own, each with the digest of its code."""
    return " and ".join(f"{target} {digest}" for target, digest in sorted((made.get("classes") or {}).items())) or None


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
    if begun := _counts_of_earlier_parts(ended, _code, _commit):
        lines.append(f"Begun by other code than ended them: {_said('commit', begun)}.")
    if begun := _counts_of_earlier_parts(ended, _kind, _kind):
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


def _code(part: Made) -> list[Any]:
    """What decides numbers in a part's code."""
    return [part.get("code") or part.get("commit"), part.get("versions"), part.get("classes")]


def _kind(part: Made) -> str | None:
    return part.get("kind")


def _counts_of_earlier_parts(
    rows: Iterable[Row], of: Callable[[Made], Any], name: Callable[[Made], str | None]
) -> Counter[str]:
    """By what runs were begun that something else ended; «not known» where a checkpoint did not keep it.

    of: in what parts are compared. name: what is said of one.
    """
    counts: Counter[str] = Counter()
    for row in rows:
        parts = row.provenance.get("parts", [])
        counts.update(name(part) or "not known" for part, later in pairwise(parts) if of(part) != of(later))
    return counts


def _said(name: str, counts: Mapping[str, int]) -> str:
    if len(counts) == 1:
        return f"{name} {next(iter(counts))}"
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    several = name if name in ("data", "own code") else f"{name}s"
    return f"{several} {', '.join(f'{word} ({count} runs)' for word, count in ordered)}"
