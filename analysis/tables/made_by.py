"""The code, device and mode that computed a table's runs, and the means over runs that were computed differently."""

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from analysis.rows import Row
from plasticity_lab.records.own_classes import same_code

Made = Mapping[str, Any]
MOST = 4
"""The maximum number of cells that a caption names; it only counts the others."""


def _commit(made: Made, shared: bool = False) -> str | None:
    """A commit such as "1234567890ab", with a digest of the code if the commit does not determine the code.

    shared: whether other code has the same commit.
    """
    commit, code, dirty = made.get("commit"), made.get("code"), made.get("dirty")
    if commit is None:
        return f"none (code {code})" if code else None
    more = ["changed checkout"] if dirty else []
    if code and (dirty or shared):
        more.append(f"code {code}")
    return f"{commit[:12]} ({', '.join(more)})" if more else commit[:12]


def _torch(made: Made) -> str | None:
    return (made.get("versions") or {}).get("torch")


def _data(made: Made) -> str | None:
    name = made.get("data")
    return f"part of {name or 'the data'}" if made.get("data_part") else name


def _classes(made: Made) -> str | None:
    """The classes from outside the package, each with the digest of its code."""
    classes = made.get("classes") or {}
    return " and ".join(f"{target} {digest}" for target, digest in sorted(classes.items())) or None


CODE: Mapping[str, Callable[[Made], str | None]] = {"commit": _commit, "torch": _torch}
MACHINE: Mapping[str, Callable[[Made], str | None]] = {
    "data": _data,
    "own code": _classes,
    "mode": lambda made: made.get("mode"),
    "device": lambda made: made.get("device"),
}
"""Facts that a caption names if they differ between the runs of a mean.

Precision is not among them: it is a setting, and splits columns.
"""


def mixed(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Differences in how these runs were computed: data, own code, mode or device → value → number of runs."""
    if len({row.made_with for row in rows}) < 2:
        return {}
    made = _different(rows)
    counts = {name: _counts(made, read) for name, read in MACHINE.items()}
    return {name: dict(of_value) for name, of_value in counts.items() if len(of_value) > 1}


def made_lines(rows: Sequence[Row], mixes: Mapping[str, Mapping[str, Mapping[str, int]]]) -> list[str]:
    """Sentences of a caption: the code and the machines of the finished runs, and means over runs that differ in them.

    mixes: the name of a mean → `mixed` of its runs.
    """
    done = [row for row in {row.run: row for row in rows}.values() if row.status == "done"]
    made = _different(done)
    counts = {name: _counts(made, read) for name, read in {**CODE, **MACHINE}.items() if name != "data"}
    counts["precision"] = Counter(precision for row in done if (precision := row.study.get("precision")))
    words = [_said(name, of_value) for name, of_value in counts.items() if of_value]
    lines = [f"Computed by {', '.join(words)}."] if words else []
    resumed = [row.provenance["parts"] for row in done if "parts" in row.provenance]
    if begun := _counts_of_earlier_parts(resumed, _other_code):
        lines.append(f"Begun by other code than ended them: {_said('', begun)}.")
    if begun := _counts_of_earlier_parts(resumed, _other_kind):
        lines.append(f"Begun on another kind of device than ended them: {_said('device', begun)}.")
    blends = []
    for mean, differing in mixes.items():
        if differing:
            blends.append(f"{mean} ({'; '.join(_said(name, of_value) for name, of_value in differing.items())})")
    if blends:
        more = f", and {len(blends) - MOST} more" if len(blends) > MOST else ""
        lines.append(f"Means over runs that were made differently: {', '.join(blends[:MOST])}{more}.")
    return lines


def _different(rows: Iterable[Row]) -> list[tuple[Made, int]]:
    """The provenances of the rows that differ in a fact of `CODE` or `MACHINE`, each with its number of rows.

    A caption describes thousands of rows, and most have one provenance.
    """
    found: dict[tuple[Any, ...], tuple[Made, int]] = {}
    for row in rows:
        made, count = found.get(row.made_with, (row.provenance, 0))
        found[row.made_with] = made, count + 1
    return list(found.values())


def _counts(different: Iterable[tuple[Made, int]], read: Callable[[Made], str | None]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for made, many in different:
        if word := read(made):
            counts[word] += many
    return counts


def _other_code(part: Made, later: Made) -> str | None:
    """The parts of the code of a run's part that differ from the next part's; None if nothing differs."""
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
    """The kind of device of a run's part; None if the next part was trained on the same kind."""
    before, after = part.get("kind"), later.get("kind")
    return None if before == after else before or "not known"


def _counts_of_earlier_parts(
    resumed: Iterable[Sequence[Made]], other: Callable[[Made, Made], str | None]
) -> Counter[str]:
    """The number of parts of resumed runs that differ from the next part, by the words of `other`."""
    pairs = (pair for parts in resumed for pair in pairwise(parts))
    return Counter(words for part, later in pairs if (words := other(part, later)))


def _said(name: str, counts: Mapping[str, int]) -> str:
    if len(counts) == 1:
        return f"{name} {next(iter(counts))}".lstrip()
    ordered = sorted(counts.items(), key=lambda count: (-count[1], count[0]))
    several = name if name in ("", "data", "own code") else f"{name}s"
    return f"{several} {', '.join(f'{word} ({count} runs)' for word, count in ordered)}".lstrip()
