"""What a store holds, in a few counts: how runs ended, and what their numbers come from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.names import BENCHMARKS, DATA, display
from analysis.report.runs import flags_of, one_each
from analysis.rows import Row

STATUSES = ("done", "diverged", "failed", "stopped", "waiting")
SHORT = 10
"""Digits of a commit."""
NOT_YET = "not known yet"


@dataclass(frozen=True)
class Overview:
    """counts: status or flag → runs, without zeros. shared: heading → what all runs have in common of where they come
    from. groups: heading → value of each set of runs that are alike in the rest, with its counts by status; none where
    all are alike.
    """

    total: int
    counts: dict[str, int]
    shared: dict[str, str]
    groups: list[dict[str, Any]]

    @property
    def waiting(self) -> int:
        """How many runs have not ended."""
        return self.counts.get("waiting", 0)


def overview(rows: Sequence[Row]) -> Overview:
    """The counts of a store's rows, each run once."""
    runs = one_each(rows)
    froms = [_from(row) for row in runs]
    values = {name: {each[name] for each in froms} for name in (froms[0] if froms else ())}
    counts = Counter(row.status for row in runs)
    found: dict[tuple[tuple[str, str], ...], Counter[str]] = {}
    for row, each in zip(runs, froms, strict=True):
        differing = tuple((name, value) for name, value in each.items() if len(values[name]) > 1)
        found.setdefault(differing, Counter())[row.status] += 1
    groups = [{**dict(where), **{name: of[name] for name in STATUSES if counts[name]}} for where, of in found.items()]
    return Overview(
        total=len(runs),
        counts={name: many for name in STATUSES if (many := counts[name])} | Counter(_flags(runs)),
        shared={name: next(iter(of)) for name, of in values.items() if len(of) == 1 and of != {""}},
        groups=sorted(groups, key=str) if len(groups) > 1 else [],
    )


def _flags(runs: Sequence[Row]) -> list[str]:
    return [flag for row in runs for flag in flags_of(row)]


def _from(row: Row) -> dict[str, str]:
    """Where a run comes from: what must be alike where numbers are compared."""
    made = row.provenance
    source = row.study.get("benchmark.source")
    data = DATA.get(source, source) if source else made.get("data") or ""
    commit = (made.get("commit") or "none")[:SHORT] + (" with changes" if made.get("dirty") else "")
    if made.get("code") and (made.get("dirty") or not made.get("commit")):
        commit += f", code {made['code']}"
    known = {
        "device": str(made.get("device") or ""),
        "mode": str(made.get("mode") or ""),
        "torch": str((made.get("versions") or {}).get("torch", "")),
        "commit": commit,
    }
    return {
        "benchmark": display(BENCHMARKS, row.benchmark),
        "data": f"part of {data}" if made.get("data_part") else str(data),
        "agent": str(row.study.get("agent.name", "")),
        "protocol": row.protocol,
        "schedule": row.schedule,
        "hyperparameters": row.hyperparams,
        "intervention": row.intervention,
        "precision": str(row.study.get("precision", "")),
        **(known if made else dict.fromkeys(known, NOT_YET)),
    }
