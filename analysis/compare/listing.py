"""A comparison as a table: an arm a row, and as lines of values for programs."""

import json
from collections.abc import Mapping
from typing import Any

from analysis.compare.comparison import Compared
from analysis.compare.pair import Pair
from analysis.compare.words import p_value, short, word
from analysis.statistics.interval import Interval
from analysis.tables.listing import NOTHING, Listing, signed
from plasticity_lab.records.measures import EVERY_SUMMARY, Measure

SCORE = Measure("score", "Score", places=3, better="more")
"""What is compared over several benchmarks."""
BESIDE = {measure.name: measure for measure in EVERY_SUMMARY}
TESTS = ("Welch p", "paired p", "Holm p", "g", "P(better)")
GAP = "optimality gap"


def name_of(by: str) -> str:
    """Of the files of a comparison."""
    return f"compare_{by.replace('.', '_')}"


def title_of(compared: Compared) -> str:
    """What is compared, and of which runs where there are several tables."""
    if compared.task is None:
        what = f"scores over {len(compared.ends)} benchmarks"
    else:
        what = f"{measure_of(compared).title}{f' on {compared.task}' if compared.task else ''}"
    words = f" ({compared.section.words})" if compared.section.words else ""
    return f"{short(compared.by).capitalize()} compared: {what}{words}"


def measure_of(compared: Compared) -> Measure:
    """What the numbers are of."""
    return compared.measure or SCORE


def arms_table(compared: Compared) -> Listing:
    """The table of arms: what each came to, and how it stands against the reference."""
    shown = measure_of(compared)
    first = ["n", "mean ± SD", "IQM [95 %]"] if compared.task is not None else [
        "n", "IQM [95 %]", "median", "mean", "opt. gap"
    ]  # fmt: skip
    beside = [BESIDE[name].label for name in BESIDE]
    header = [short(compared.by), *first, *beside, "difference [95 %]", *TESTS]
    body, bold, lines = [], set(), []
    for arm in compared.arms:
        numbers = _one(compared, arm.label) if compared.task is not None else _several(compared, arm.label)
        n, expected = arm_n(compared, arm.label)
        cost = [NOTHING if (of := arm.beside(name)) is None else BESIDE[name].number(of) for name in BESIDE]
        if arm.label in compared.alike:
            bold.add((len(body), 2))
        body.append(
            [
                arm.label,
                f"{n}" if n == expected else f"{n}/{expected}",
                *numbers,
                *cost,
                *_against(compared, arm.label, shown),
            ]
        )
        lines.append(_line(compared, arm.label))
    split = 1 + len(first) + len(beside)
    return Listing(
        name=name_of(compared.by),
        title=title_of(compared),
        header=header,
        body=body,
        lines=lines,
        right=frozenset({1, *range(split - len(beside), split), *range(split + 1, len(header))}),
        bold=frozenset(bold),
        blocks=(range(1, split), range(split, len(header))),
    )


def arm_n(compared: Compared, label: str) -> tuple[int, int]:
    """How many runs of an arm have a value, and how many should be there, in what a table is of."""
    arm = next(arm for arm in compared.arms if arm.label == label)
    cells = [cell for task, cell in arm.cells.items() if compared.task in (None, task)]
    return sum(cell.n for cell in cells), sum(cell.expected for cell in cells)


def with_interval(found: Interval, number: Any) -> str:
    """A number with its interval, where it has one."""
    if found.value is None:
        return NOTHING
    ends = found.ends
    return number(found.value) if ends is None else f"{number(found.value)} [{number(ends[0])}, {number(ends[1])}]"


def test_words(pair: Pair) -> list[str]:
    """Welch's p, the paired p and Holm's."""
    return [p_value(p) or NOTHING for p in (pair.test.p, pair.paired.p, pair.holm)]


def difference_words(pair: Pair, shown: Measure) -> str:
    """The difference with its sign, and its interval."""
    return with_interval(pair.difference, lambda value: signed(value, shown.places))


def better_words(pair: Pair) -> str:
    """The probability that a run of ours is the better."""
    return NOTHING if pair.better.value is None else f"{pair.better.value:.2f}"


def pair_line(pair: Pair) -> dict[str, object]:
    """What a program reads of a pair."""
    return {
        "difference": pair.difference.value,
        "difference_low": pair.difference.low,
        "difference_high": pair.difference.high,
        "difference_of_iqms": pair.of_iqms.value,
        "difference_of_iqms_low": pair.of_iqms.low,
        "difference_of_iqms_high": pair.of_iqms.high,
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
        "p_better": pair.better.value,
        "p_better_low": pair.better.low,
        "p_better_high": pair.better.high,
    }


def about(compared: Compared) -> dict[str, object]:
    """What every line of a CSV says of its table."""
    shown = measure_of(compared)
    return {
        "table": name_of(compared.by),
        "runs_with": compared.section.words,
        "benchmark": "all, scores" if compared.task is None else compared.task,
        "metric": shown.name,
        "unit": shown.unit,
    }


def _one(compared: Compared, label: str) -> list[str]:
    """Mean ± SD and IQM."""
    number = measure_of(compared).number
    cell = next(arm for arm in compared.arms if arm.label == label).cells[compared.task or ""]
    mean = NOTHING if cell.mean is None else number(cell.mean) + ("" if cell.sd is None else f" ± {number(cell.sd)}")
    return [mean, with_interval(compared.aggregates[label]["iqm"], number)]


def _several(compared: Compared, label: str) -> list[str]:
    """IQM, median, mean and optimality gap."""
    of = compared.aggregates[label]
    plain = [NOTHING if of[name].value is None else SCORE.number(of[name].number) for name in ("median", "mean", GAP)]
    return [with_interval(of["iqm"], SCORE.number), *plain]


def _against(compared: Compared, label: str, shown: Measure) -> list[str]:
    pair = compared.against(label)
    if pair is None:
        return ["reference" if label == compared.reference else NOTHING, *[NOTHING] * len(TESTS)]
    g = NOTHING if pair.effect.g is None else signed(pair.effect.g, 2)
    return [difference_words(pair, shown), *test_words(pair), g, better_words(pair)]


def _line(compared: Compared, label: str) -> dict[str, object]:
    arm = next(arm for arm in compared.arms if arm.label == label)
    cells = {task: cell for task, cell in arm.cells.items() if compared.task in (None, task)}
    n, expected = arm_n(compared, label)
    pair = compared.against(label)
    counts = {
        name: sum(getattr(cell, name) for cell in cells.values())
        for name in ("diverged", "failed", "waiting", "collapsed", "superseded", "no_value", "no_episode", "stopped")
    }
    return {
        **about(compared),
        "kind": "arm",
        compared.by: word(arm.value),
        "arm": label,
        "n": n,
        "expected": expected,
        **counts,
        **({"sd": cells[compared.task].sd} if compared.task is not None else {}),
        **_aggregates(compared.aggregates[label]),
        "parameters": arm.beside("parameters"),
        "seconds": arm.beside("seconds"),
        "against": compared.reference,
        **(pair_line(pair) if pair else {}),
        "not_told_from_best": label in compared.alike,
        "values": json.dumps({task: list(cell.values) for task, cell in cells.items()}),
        "seeds": json.dumps({task: [seeds[0] for seeds in cell.seeds] for task, cell in cells.items()}),
        "runs": " ".join(run for cell in cells.values() for run in cell.runs),
    }


def _aggregates(found: Mapping[str, Interval]) -> dict[str, object]:
    """Every aggregate with its interval, by what that is made, or why there is none."""
    line: dict[str, object] = {}
    for name, of in found.items():
        key = name.replace(" ", "_")
        line |= {key: of.value, f"{key}_low": of.low, f"{key}_high": of.high}
        line |= {f"{key}_interval": of.method.name if of.ends else of.reason}
    return line
