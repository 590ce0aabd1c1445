"""What the caption of a comparison says: what numbers are, by which methods, and what a test could not say."""

from collections.abc import Callable, Iterable, Sequence

from analysis.compare.comparison import LEVEL, Compared
from analysis.compare.listing import measure_of
from analysis.compare.pair import Pair
from analysis.compare.runs_said import rows_of, runs_said
from analysis.compare.scores import said
from analysis.compare.setting import TUNED, is_own
from analysis.compare.verdict import against_reference, verdict
from analysis.compare.words import listed
from analysis.rows import varying
from analysis.setting_words import words_of
from analysis.statistics.covered import with_coverage
from analysis.statistics.interval import Interval
from analysis.statistics.method import EFFECT
from plasticity_lab.records.measures import Measure


def caption(compared: Compared, measures: dict[str, Measure], notes: Iterable[str]) -> tuple[str, ...]:
    """The sentences, one a line. measures: of each benchmark. notes: about runs that are not compared."""
    return (
        *welch_verdict(compared),
        *_what(compared, measures),
        *_tests(compared),
        *_why_not(compared),
        *_own(compared),
        *runs_said(compared),
        *notes,
    )


def pairs_caption(compared: Compared) -> tuple[str, ...]:
    """The sentences below the table of all pairs."""
    return (
        f"The first of a pair less the second. Bold: Holm p < {LEVEL}, corrected for the {tests_of(compared)} tests.",
        *_effect(compared),
    )


def tests_of(compared: Compared) -> int:
    """For how many tests Holm's correction is made."""
    return sum(pair.test.p is not None for pair in compared.pairs)


def welch_verdict(compared: Compared) -> list[str]:
    """Which arms are told apart from the reference, after Holm's correction."""
    if len(compared.arms) < 2:
        return ["There is one arm here, and nothing to compare it with."]
    higher = "" if measure_of(compared).better else " (better: greater, as the metric names no direction)"
    against = f"Against {compared.reference} ({compared.chosen})"
    words = verdict(compared, [(pair, pair.holm, pair.test.t) for pair in against_reference(compared)])
    return [f"{against}, by Welch's test after Holm's correction: {words}{higher}."]


def _what(compared: Compared, measures: dict[str, Measure]) -> list[str]:
    over = len(compared.ends) if compared.task is None else 1
    middle = _methods([of["iqm"] for of in compared.aggregates.values()], "iqm", over)
    if compared.task is None:
        first = listed(sorted({f"{measure.title}" for measure in measures.values()}))
        return [
            f"{first} as scores over {over} benchmarks, each of which weighs the same; n: all runs.",
            *said({**compared.ends, **compared.left_out}, measures),
            *_left_out(compared),
            "Ends that are means of these runs are taken as they are: intervals do not know that they vary.",
            f"IQM: interquartile mean{middle}. Median: of the benchmarks' means. Opt. gap: by how much scores are "
            "below 1 on average, less is better.",
        ]
    measure = measure_of(compared)
    unit = f" ({measure.unit})" if measure.unit else ""
    least = ", less is better" if measure.better == "less" else ""
    return [f"{measure.title}{unit}{least}, mean ± SD over runs; IQM: interquartile mean{middle}."]


def _left_out(compared: Compared) -> list[str]:
    """How many benchmarks have no scores, and are in none of these numbers."""
    many = len(compared.left_out)
    return [f"Left out of the scores: {many} of {many + len(compared.ends)} benchmarks."] if many else []


def _methods(found: Sequence[Interval], of: str, tasks: int) -> str:
    """By what the intervals are made, and how often such hold the truth: behind a comma."""
    by_method: dict[str, Interval] = {}
    for each in found:
        if each.ends is not None:
            known = by_method.setdefault(each.method.name, each)
            if min(each.runs) < min(known.runs):
                by_method[each.method.name] = each
    words = [with_coverage(each.method, of, min(each.runs), tasks) for each in by_method.values()]
    return f", with its {' or '.join(words)}" if words else ""


def _tests(compared: Compared) -> list[str]:
    pairs = [pair for arm in compared.arms if (pair := compared.against(arm.label))]
    if not pairs:
        return []
    one = compared.task is not None
    over = 1 if one else len(compared.ends)
    made = _methods([pair.difference for pair in pairs], "difference of means", over)
    tests = tests_of(compared)
    seeds = sorted({pair.paired.n for pair in pairs})
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    shared = "same seeds" if one else "same seeds of the same benchmark"
    spread = "" if one else " of the mean score, the variances of benchmarks added up"
    g = "g: Hedges' effect size, the difference in SDs over seeds" + ("" if one else ", mean over benchmarks")
    return [
        f"Difference: the mean{'' if one else ' score'} less that of {compared.reference}{made}.",
        f"Welch p: two-sided test of equal means{spread}, unequal variances; paired p: the t-test of differences at "
        f"the {shared} ({many} pairs); Holm p: Welch's, corrected for the {tests} "
        f"test{'s' * (tests != 1)} of this table.",
        f"{g}; P(better): the probability that a run is better than one of {compared.reference}, a tie is half.",
        f"Bold: the best, and those from which it is not told apart (Welch p ≥ {LEVEL}, not corrected).",
        *(_effect(compared) if one and not compared.shows_pairs else []),
    ]


def _effect(compared: Compared) -> list[str]:
    """By what intervals of g are made, where there are some."""
    runs = [min(pair.effect.n) for pair in compared.pairs if pair.effect.low is not None]
    return [f"g with its {with_coverage(EFFECT, 'effect', min(runs), 1)}."] if runs else []


def _why_not(compared: Compared) -> list[str]:
    """Why numbers are missing."""
    lines = []
    kinds: dict[str, Callable[[Pair], str | None]] = {
        "Welch p": lambda pair: pair.test.reason,
        "paired p": lambda pair: pair.paired.reason,
        "g": lambda pair: pair.effect.reason,
        "interval of the difference": lambda pair: pair.difference.reason,
    }
    found: dict[str, dict[str, list[str]]] = {}
    for name, reason_of in kinds.items():
        for pair in compared.pairs:
            if reason := reason_of(pair):
                found.setdefault(reason, {}).setdefault(name, []).append(f"{pair.ours} − {pair.theirs}")
    for reason, by_name in found.items():
        pairs = list(dict.fromkeys(pair for of in by_name.values() for pair in of))
        lines.append(f"No {listed([*by_name])} of {', '.join(pairs)}: {reason}.")
    reasons: dict[str, list[str]] = {}
    for arm, of in compared.aggregates.items():
        if of["iqm"].reason:
            reasons.setdefault(of["iqm"].reason, []).append(arm)
    lines += [f"No interval of the IQM of {', '.join(arms)}: {reason}." for reason, arms in reasons.items()]
    return lines


def _own(compared: Compared) -> list[str]:
    """The settings that each arm has of its own, where they were chosen for it."""
    rows = rows_of(compared)
    every = [row for of in rows.values() for row in of]
    names = varying({name: value for name, value in row.own.items() if is_own(name)} for row in every)
    names = [name for name in names if not name.startswith(f"{compared.by}.") and name != compared.by]
    tuned = compared.by == "hyperparams" or all(row.hyperparams in TUNED for row in every)
    if not (tuned and names) or compared.task is None:
        return []
    own = {arm: dict.fromkeys(words_of(row.own, names) for row in of) for arm, of in rows.items() if of}
    return [
        f"Each arm has settings of its own: {'; '.join(f'{arm}: {listed([*words])}' for arm, words in own.items())}."
    ]
