"""A comparison as tables: one arm per row, one pair per row, and both as lines of values for programs."""

import json
from collections.abc import Callable, Mapping

from analysis.compare.arm import Arm
from analysis.compare.comparison import LEVEL, SCORE, Compared
from analysis.compare.pair import Pair
from analysis.compare.setting import short, word
from analysis.statistics.interval import Interval
from analysis.tables.listing import NOTHING, Listing, signed
from plasticity_lab.records.measures import EVERY_SUMMARY

COSTS = {measure.name: measure for measure in EVERY_SUMMARY}
TESTS = ("Welch p", "paired p", "Holm p", "g", "P(better)")
COUNTS = ("diverged", "failed", "waiting", "collapsed", "superseded", "no_value", "no_episode", "stopped")


def name_of(by: str) -> str:
    """The name of a comparison's files."""
    return f"compare_{by.replace('.', '_')}"


def arms_table(compared: Compared) -> Listing:
    """The table of arms: their results, and how they compare with the reference."""
    first = ["n", "mean ± SD", "IQM [95 %]"]
    if compared.task is None:
        first = ["n", "IQM [95 %]", "median", "mean", "opt. gap"]
    header = [short(compared.by), *first, *(cost.label for cost in COSTS.values()), "difference [95 %]", *TESTS]
    split = 1 + len(first) + len(COSTS)
    return Listing(
        name=name_of(compared.by),
        title=_title(compared),
        header=header,
        body=[_cells(compared, arm) for arm in compared.arms],
        lines=[_line(compared, arm) for arm in compared.arms],
        right=frozenset({1, *range(split - len(COSTS), split), *range(split + 1, len(header))}),
        bold=frozenset((line, 2) for line, arm in enumerate(compared.arms) if arm.label in compared.alike),
        blocks=(range(1, split), range(split, len(header))),
    )


def pairs_table(compared: Compared) -> Listing:
    """One pair per row: first arm minus second, and the probability that a run of the first is better."""
    return Listing(
        name=name_of(compared.by),
        title=f"{_title(compared)}: all pairs",
        header=("pair", "difference [95 %]", "Welch p", "paired p", "Holm p", "g [95 %]", "P(better)"),
        body=[[pair.words, *_pair_cells(compared, pair, with_ends=True)] for pair in compared.pairs],
        lines=[
            {**_about(compared), "kind": "pair", "arm": pair.ours, "against": pair.theirs, **_pair_line(pair)}
            for pair in compared.pairs
        ],
        right=frozenset({2, 3, 4, 6}),
        bold=frozenset(
            (line, 4) for line, pair in enumerate(compared.pairs) if pair.holm is not None and pair.holm < LEVEL
        ),
        blocks=(range(1, 5), range(5, 7)),
    )


def _title(compared: Compared) -> str:
    """The setting, the number, and the runs if there are several tables."""
    if compared.task is None:
        what = f"scores over {len(compared.ends)} benchmarks"
    else:
        what = f"{compared.measure.title}{f' on {compared.task}' if compared.task else ''}"
    words = f" ({compared.section.words})" if compared.section.words else ""
    return f"{short(compared.by).capitalize()} compared: {what}{words}"


def _cells(compared: Compared, arm: Arm) -> list[str]:
    """A row of the table of arms."""
    number, aggregates = compared.measure.number, compared.aggregates[arm.label]
    iqm = with_interval(aggregates["iqm"], number)
    if compared.task is None:
        plain = (aggregates[name] for name in ("median", "mean", "optimality gap"))
        numbers = [iqm, *(or_nothing(each.value, SCORE.number) for each in plain)]
    else:
        cell = arm.cells[compared.task]
        numbers = [or_nothing(cell.mean, number) + ("" if cell.sd is None else f" ± {number(cell.sd)}"), iqm]
    costs = [or_nothing(arm.costs[name], cost.number) for name, cost in COSTS.items()]
    pair = compared.against(arm.label)
    if pair is None:
        against = ["reference" if arm.label == compared.reference else NOTHING, *[NOTHING] * len(TESTS)]
    else:
        against = _pair_cells(compared, pair, with_ends=False)
    return [arm.label, f"{arm.n}" if arm.n == arm.expected else f"{arm.n}/{arm.expected}", *numbers, *costs, *against]


def _pair_cells(compared: Compared, pair: Pair, with_ends: bool) -> list[str]:
    """Difference, Welch's p, the paired p, Holm's, g and P(better).  with_ends: whether g has its interval."""
    places, effect = compared.measure.places, pair.effect
    g = or_nothing(effect.g, lambda value: signed(value, 2))
    if with_ends and effect.ends is not None:
        g += f" [{signed(effect.ends[0], 2)}, {signed(effect.ends[1], 2)}]"
    return [
        with_interval(pair.difference, lambda value: signed(value, places)),
        *(or_nothing(p, "{:.2g}".format) for p in (pair.test.p, pair.paired.p, pair.holm)),
        g,
        or_nothing(pair.better.value, "{:.2f}".format),
    ]


def or_nothing(value: float | None, number: Callable[[float], str]) -> str:
    """A number as words; a dash instead of None."""
    return NOTHING if value is None else number(value)


def with_interval(found: Interval, number: Callable[[float], str]) -> str:
    """A number with its interval, if it has one."""
    ends = "" if found.ends is None else f" [{number(found.ends[0])}, {number(found.ends[1])}]"
    return or_nothing(found.value, number) + ends


def _about(compared: Compared) -> dict[str, object]:
    """The columns of every line of a CSV that name its table."""
    return {
        "table": name_of(compared.by),
        "runs_with": compared.section.words,
        "benchmark": "all, scores" if compared.task is None else compared.task,
        "metric": compared.measure.name,
        "unit": compared.measure.unit,
    }


def _line(compared: Compared, arm: Arm) -> dict[str, object]:
    pair = compared.against(arm.label)
    cells = arm.cells.values()
    return {
        **_about(compared),
        "kind": "arm",
        compared.by: word(arm.value),
        "arm": arm.label,
        "n": arm.n,
        "expected": arm.expected,
        **{name: sum(getattr(cell, name) for cell in cells) for name in COUNTS},
        **({"sd": arm.cells[compared.task].sd} if compared.task is not None else {}),
        **_aggregates(compared.aggregates[arm.label]),
        **arm.costs,
        "against": compared.reference,
        **(_pair_line(pair) if pair else {}),
        "not_told_from_best": arm.label in compared.alike,
        "values": json.dumps({task: list(cell.values) for task, cell in arm.cells.items()}),
        "seeds": json.dumps({task: [seeds[0] for seeds in cell.seeds] for task, cell in arm.cells.items()}),
        "runs": " ".join(run for cell in cells for run in cell.runs),
    }


def _aggregates(found: Mapping[str, Interval]) -> dict[str, object]:
    """Every aggregate with its interval and the interval's method, or the reason why it has no interval."""
    line: dict[str, object] = {}
    for name, of in found.items():
        key = name.replace(" ", "_")
        line |= _ends(key, of)
        line[f"{key}_interval"] = of.method.name if of.ends else of.reason
    return line


def _ends(key: str, of: Interval) -> dict[str, object]:
    return {key: of.value, f"{key}_low": of.low, f"{key}_high": of.high}


def _pair_line(pair: Pair) -> dict[str, object]:
    return {
        **_ends("difference", pair.difference),
        **_ends("difference_of_iqms", pair.of_iqms),
        "welch_t": pair.test.t,
        "welch_df": pair.test.df,
        "welch_p": pair.test.p,
        "no_p_because": pair.test.reason,
        "paired_p": pair.paired.p,
        "paired_n": pair.paired.n,
        "no_paired_p_because": pair.paired.reason,
        "holm_p": pair.holm,
        "g": pair.effect.g,
        "g_low": pair.effect.low,
        "g_high": pair.effect.high,
        **_ends("p_better", pair.better),
    }
