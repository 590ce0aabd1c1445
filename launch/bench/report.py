"""From timings to numbers, and from numbers to a table and a JSON file."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from launch.bench.comparisons import Comparison
from launch.plan.timing import Timing

CHECKPOINT_SECONDS = 300
"""Between two checkpoints by default: conf/config.yaml, checkpoint_minutes."""
HEADINGS = ("", "activation", "width", "run-steps/s", "ratio", "least – most", "of the limit", "first burst")


@dataclass(frozen=True)
class Row:
    """One contender's numbers.

    rate: run-steps a second, median. ratio: how many times the first contender's rate, median over the rounds, each
    against the same round; least and most of them. of_limit: rate by the machine's own limit. first: seconds of the
    first burst, compiling included. share: CPU time by wall time of its processes, 1 where it had the core alone.
    samples: seconds of each burst.
    """

    name: str
    facts: dict[str, Any]
    rate: float
    ratio: float
    least: float
    most: float
    of_limit: float | None
    first: float
    share: float
    samples: list[float]


def rows_of(comparison: Comparison) -> list[Row]:
    """A row for each contender, in their order."""
    base = _seconds(comparison, comparison.timings[0])
    return [_row(comparison, timing, base) for timing in comparison.timings]


def _row(comparison: Comparison, timing: Timing, base: Sequence[float]) -> Row:
    own, facts = _seconds(comparison, timing), dict(timing.contender.facts)
    ratios = [theirs / ours for theirs, ours in zip(base, own, strict=True)]
    of_limit = None
    if comparison.limits is not None and comparison.work is not None:
        of_limit = comparison.limits.seconds(comparison.work, facts["width"]) / median(own)
    return Row(
        name=timing.contender.name,
        facts=facts,
        rate=1 / median(own),
        ratio=median(ratios),
        least=min(ratios),
        most=max(ratios),
        of_limit=of_limit,
        first=timing.first,
        share=sum(timing.busy) / sum(timing.wall) / timing.contender.processes,
        samples=timing.busy if comparison.clock == "busy" else timing.wall,
    )


def _seconds(comparison: Comparison, timing: Timing) -> list[float]:
    """Of a run-step, burst by burst."""
    bursts = timing.busy if comparison.clock == "busy" else timing.wall
    return [seconds / timing.contender.run_steps for seconds in bursts]


def findings(comparison: Comparison) -> list[str]:
    """What a comparison says, in sentences."""
    return _FINDINGS[comparison.part](comparison, rows_of(comparison))


def _of_widths(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    best: dict[str, int] = {}
    for at, row in enumerate(rows):
        if row.name not in best or row.ratio > rows[best[row.name]].ratio:
            best[row.name] = at
    said = []
    for name, at in best.items():
        if at:
            said.append(f"{name}: {rows[at].ratio:.2f}× the usual script at width {rows[at].facts['width']}, its best.")
    if "JAX" in best:
        peer = _seconds(comparison, comparison.timings[best["JAX"]])
        for name, at in best.items():
            if name.startswith("packed"):
                own = _seconds(comparison, comparison.timings[at])
                ratio = median(theirs / ours for theirs, ours in zip(peer, own, strict=True))
                said.append(f"{name}, at its best width: {ratio:.2f}× JAX at its best width.")
    return said


def _of_activations(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    return [f"{row.facts['activation']}: {1 / row.ratio:.2f}× the seconds of {rows[0].facts['activation']}."
            for row in rows[1:]]  # fmt: skip


def _of_interventions(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    return [f"{row.facts['intervention']}: {1 / row.ratio:.2f}× the seconds of a plain step." for row in rows[1:]]


def _of_records(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    alone, recorded, kept = (row.samples for row in rows)
    record = _median_difference(recorded, alone) / rows[1].facts["width"]
    checkpoint = _median_difference(kept, recorded) / rows[2].facts["checkpoints"]
    return [f"Beside {median(alone):.2f} s of training, a run's record took {record * 1e3:.1f} ms, a checkpoint "
            f"of the whole pack {checkpoint * 1e3:.1f} ms: {checkpoint / CHECKPOINT_SECONDS:.2%} of the five minutes "
            "between two."]  # fmt: skip


def _median_difference(more: Sequence[float], less: Sequence[float]) -> float:
    """Round by round."""
    return median(one - other for one, other in zip(more, less, strict=True))


def _of_processes(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    one, two = (timing.busy for timing in comparison.timings)
    by_busy = median(4 * alone / both for alone, both in zip(one, two, strict=True))
    return [f"Two worker processes: {rows[1].ratio:.2f}× one; by their CPU time, which leaves out what others took of "
            f"the cores, {by_busy:.2f}×."]  # fmt: skip


def _of_bodies(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    """How packs stand against the plain script, and against the body's own step, round by round."""
    seconds = {(row.name, row.facts["width"]): _seconds(comparison, timing)
               for row, timing in zip(rows, comparison.timings, strict=True)}  # fmt: skip

    said = []
    for (name, width), own in seconds.items():
        if name.startswith("packed"):
            words = [f"{name}, {width} runs: {1 / median(own):,.0f} steps a second"]
            for (other, _), of in seconds.items():
                if "plain" in other:
                    words.append(f"{_times(of, own):.2f}× the {other}")
                elif "alone" in other:
                    words.append(f"{_times(of, own):.0%} of the rate of {other}")
            said.append(f"{', '.join(words)}.")
    return said


def _of_values(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    """How packs stand against both forms of the plain script, round by round, and what a pack spends its time on."""
    seconds = [_seconds(comparison, timing) for timing in comparison.timings]
    plain = [at for at, row in enumerate(rows) if row.name.startswith("plain")]
    said = []
    for at, row in enumerate(rows):
        if at not in plain:
            times = [f"{_times(seconds[other], seconds[at]):.2f}× the {rows[other].name}" for other in plain]
            parts = row.facts["seconds"]
            shares = [f"{name} {spent / parts['all']:.0%}" for name, spent in parts.items() if name != "all"]
            said.append(f"{row.name}, {row.facts['width']} runs: {'; '.join(times)}. {', '.join(shares)}.")
    return said


def _of_heads(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    return [f"{row.name}: {1 / row.ratio:.2f}× the seconds of the {rows[0].name} baseline." for row in rows[1:]]


def _times(theirs: Sequence[float], ours: Sequence[float]) -> float:
    return median(one / other for one, other in zip(theirs, ours, strict=True))


_FINDINGS: dict[str, Callable[[Comparison, Sequence[Row]], list[str]]] = {
    "widths": _of_widths,
    "activations": _of_activations,
    "interventions": _of_interventions,
    "records": _of_records,
    "processes": _of_processes,
    "bodies": _of_bodies,
    "values": _of_values,
    "heads": _of_heads,
}


def as_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison as the JSON file holds it."""
    return {
        "part": comparison.part,
        "name": comparison.name,
        "clock": comparison.clock,
        "limits": None if comparison.limits is None else asdict(comparison.limits),
        "work": None if comparison.work is None else asdict(comparison.work),
        "rows": [asdict(row) for row in rows_of(comparison)],
        "findings": findings(comparison),
    }


def as_text(comparison: Comparison) -> str:
    """A comparison as a table in plain text, with what it says below."""
    rows = rows_of(comparison)
    clock = "CPU time" if comparison.clock == "busy" else "wall clock"
    share = min(row.share for row in rows)
    lines = [f"{comparison.name} ({clock}; each process had at least {share:.0%} of its core)", ""]
    table = [HEADINGS, *(_cells(row) for row in rows)]
    sizes = [max(len(row[column]) for row in table) for column in range(len(HEADINGS))]
    for row in table:
        cells = [cell.ljust(size) if column < 2 else cell.rjust(size)
                 for column, (cell, size) in enumerate(zip(row, sizes, strict=True))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    if comparison.limits is not None and comparison.work is not None:
        limits, work = comparison.limits, comparison.work
        speeds = sorted({round(value / 1e9) for value in limits.bandwidth.values()})
        lines += ["", f"A run-step is {work.flops / 1e6:.2f} MFLOP of products and {work.parameters:,} parameters; "
                  f"the machine does {limits.flops / 1e9:,.0f} GFLOP/s ({limits.products / 1e9:,.0f} in torch's matrix "
                  f"products) and moves {speeds[0]:,}–{speeds[-1]:,} GB/s (arrays as large as the packs' "
                  "states)."]  # fmt: skip
    return "\n".join([*lines, *([""] if findings(comparison) else []), *findings(comparison)])


def _cells(row: Row) -> tuple[str, ...]:
    intervention = str(row.facts.get("intervention", "none"))
    activation = str(row.facts["activation"]) + (f" + {intervention}" if intervention != "none" else "")
    spread = f"{row.least:.2f} – {row.most:.2f}"
    rate = f"{row.rate:,.0f}" if row.rate >= 100 else f"{row.rate:.1f}"
    limit = "" if row.of_limit is None else f"{row.of_limit:.0%}"
    return (row.name, activation, str(row.facts["width"]), rate, f"{row.ratio:.2f}", spread, limit,
            f"{row.first:.1f} s")  # fmt: skip
