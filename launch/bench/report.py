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
    compared with the same round; least and most: over the rounds. of_limit: rate by the machine's limit. first: seconds
    of the first burst, compiling included. share: CPU time by wall time of its processes, 1 if it had the core alone.
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
    seconds, facts = _seconds(comparison, timing), dict(timing.contender.facts)
    ratios = [first / packed for first, packed in zip(base, seconds, strict=True)]
    of_limit = None
    if comparison.limits is not None and comparison.work is not None:
        of_limit = comparison.limits.seconds(comparison.work, facts["width"]) / median(seconds)
    return Row(
        name=timing.contender.name,
        facts=facts,
        rate=1 / median(seconds),
        ratio=median(ratios),
        least=min(ratios),
        most=max(ratios),
        of_limit=of_limit,
        first=timing.first,
        share=sum(timing.busy) / sum(timing.wall) / timing.contender.processes,
        samples=timing.busy if comparison.clock == "busy" else timing.wall,
    )


def _seconds(comparison: Comparison, timing: Timing) -> list[float]:
    """Seconds of a run-step, burst by burst."""
    bursts = timing.busy if comparison.clock == "busy" else timing.wall
    return [seconds / timing.contender.run_steps for seconds in bursts]


def findings(comparison: Comparison) -> list[str]:
    """Sentences about a comparison."""
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
    for name, at in best.items():
        if "JAX" in best and name.startswith("packed"):
            ratio = _ratio(comparison, best["JAX"], at)
            said.append(f"{name}, at its best width: {ratio:.2f}× JAX at its best width.")
    return said


def _ratio(comparison: Comparison, base: int, at: int) -> float:
    """How many times the rate of contender `base` contender `at` has: the median over the rounds."""
    slower, faster = (_seconds(comparison, comparison.timings[place]) for place in (base, at))
    return median(one / other for one, other in zip(slower, faster, strict=True))


def _in_seconds_of(base: Callable[[Row], str], name: Callable[[Row], str]) -> Callable[..., list[str]]:
    """Findings that compare the seconds of each contender with the first one's."""
    return lambda _, rows: [f"{name(row)}: {1 / row.ratio:.2f}× the seconds of {base(rows[0])}." for row in rows[1:]]


def _of_records(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    alone, recorded, checkpointed = (row.samples for row in rows)
    record = _median_difference(recorded, alone) / rows[1].facts["width"]
    checkpoint = _median_difference(checkpointed, recorded) / rows[2].facts["checkpoints"]
    return [
        f"In addition to {median(alone):.2f} s of training, a run's record took {record * 1e3:.1f} ms, a checkpoint of "
        f"the whole pack {checkpoint * 1e3:.1f} ms: {checkpoint / CHECKPOINT_SECONDS:.2%} of the five minutes between "
        "two."
    ]


def _median_difference(more: Sequence[float], less: Sequence[float]) -> float:
    """The median over the rounds."""
    return median(one - other for one, other in zip(more, less, strict=True))


def _of_processes(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    one, two = (timing.busy for timing in comparison.timings)
    by_busy = median(4 * alone / both for alone, both in zip(one, two, strict=True))
    by_clock = f"Two worker processes: {rows[1].ratio:.2f}× one"
    return [f"{by_clock}; by their CPU time, which leaves out other processes on the cores, {by_busy:.2f}×."]


def _of_agents(comparison: Comparison, rows: Sequence[Row]) -> list[str]:
    """Packs of agents that act, compared with plain scripts and the environment alone, and the shares of their time."""
    said = []
    for at, row in enumerate(rows):
        if not row.name.startswith("packed"):
            continue
        words = [f"{row.name}, {row.facts['width']} runs: {row.rate:,.0f} a second"]
        for base, other in enumerate(rows):
            if "plain" in other.name:
                words.append(f"{_ratio(comparison, base, at):.2f}× the {other.name}")
            elif "alone" in other.name:
                words.append(f"{_ratio(comparison, base, at):.0%} of the rate of {other.name}")
        parts = dict(row.facts.get("seconds", {}))
        total = parts.pop("all", None)
        words += [f"{name} {spent / total:.0%}" for name, spent in parts.items()]
        said.append(f"{'; '.join(words)}.")
    return said


_FINDINGS: dict[str, Callable[[Comparison, Sequence[Row]], list[str]]] = {
    "widths": _of_widths,
    "activations": _in_seconds_of(lambda row: row.facts["activation"], lambda row: row.facts["activation"]),
    "interventions": _in_seconds_of(lambda row: "a plain step", lambda row: row.facts["intervention"]),
    "records": _of_records,
    "processes": _of_processes,
    "bodies": _of_agents,
    "values": _of_agents,
    "heads": _in_seconds_of(lambda row: f"the {row.name} baseline", lambda row: row.name),
}


def as_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison as the JSON file holds it."""
    return {
        "part": comparison.part,
        "name": comparison.name,
        "clock": comparison.clock,
        "limits": comparison.limits and asdict(comparison.limits),
        "work": comparison.work and asdict(comparison.work),
        "rows": [asdict(row) for row in rows_of(comparison)],
        "findings": findings(comparison),
    }


def as_text(comparison: Comparison) -> str:
    """A comparison as a table in plain text, with its findings below."""
    rows = rows_of(comparison)
    clock = "CPU time" if comparison.clock == "busy" else "wall clock"
    share = min(row.share for row in rows)
    lines = [f"{comparison.name} ({clock}; each process had at least {share:.0%} of its core)", ""]
    table = [HEADINGS, *(_cells(row) for row in rows)]
    sizes = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, activation, *numbers in table:
        cells = [name.ljust(sizes[0]), activation.ljust(sizes[1])]
        cells += [cell.rjust(size) for cell, size in zip(numbers, sizes[2:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    if comparison.limits is not None and comparison.work is not None:
        limits, work, speeds = comparison.limits, comparison.work, comparison.limits.bandwidth.values()
        lines += [
            "",
            f"A run-step is {work.flops / 1e6:.2f} MFLOP of products and {work.parameters:,} parameters; the machine "
            f"does {limits.flops / 1e9:,.0f} GFLOP/s ({limits.products / 1e9:,.0f} in torch's matrix products) and "
            f"moves {min(speeds) / 1e9:,.0f}–{max(speeds) / 1e9:,.0f} GB/s (arrays as large as the packs' states).",
        ]
    said = findings(comparison)
    return "\n".join([*lines, *([""] if said else []), *said])


def _cells(row: Row) -> tuple[str, ...]:
    intervention = str(row.facts.get("intervention", "none"))
    activation = str(row.facts["activation"]) + (f" + {intervention}" if intervention != "none" else "")
    rate = f"{row.rate:,.0f}" if row.rate >= 100 else f"{row.rate:.1f}"
    spread = f"{row.least:.2f} – {row.most:.2f}"
    limit = "" if row.of_limit is None else f"{row.of_limit:.0%}"
    first = f"{row.first:.1f} s"
    return row.name, activation, str(row.facts["width"]), rate, f"{row.ratio:.2f}", spread, limit, first
