"""The caption of a comparison: the numbers, their methods, and why a test is missing."""

from collections.abc import Iterable, Sequence

from analysis.compare.comparison import LEVEL, Compared
from analysis.compare.pair import Pair
from analysis.compare.runs_said import rows_of, runs_said
from analysis.compare.scores import said
from analysis.compare.setting import TUNED, is_own, listed
from analysis.rows import varying
from analysis.setting_words import words_of
from analysis.statistics.interval import Interval
from analysis.statistics.method import EFFECT, with_coverage


def caption(compared: Compared, notes: Iterable[str]) -> tuple[str, ...]:
    """The sentences, one a line.  notes: about runs that are not compared."""
    return (
        *welch_verdict(compared),
        *_numbers(compared),
        *_tests(compared),
        *_why_not(compared),
        *_tuned(compared),
        *runs_said(compared),
        *notes,
    )


def pairs_caption(compared: Compared) -> tuple[str, ...]:
    """The sentences below the table of all pairs."""
    return (
        f"The first of a pair minus the second. Bold: Holm p < {LEVEL}, corrected for the {_tested(compared)} tests.",
        *_effect(compared),
    )


def welch_verdict(compared: Compared) -> list[str]:
    """The arms that differ significantly from the reference, after Holm's correction."""
    if len(compared.arms) < 2:
        return ["There is one arm here, and nothing to compare it with."]
    higher = "" if compared.measure.better else " (better: greater, as the metric names no direction)"
    against = f"Against {compared.reference} ({compared.chosen})"
    words = verdict(compared, [(pair, pair.holm, pair.test.t) for pair in compared.against_reference])
    return [f"{against}, by Welch's test after Holm's correction: {words}{higher}."]


def verdict(compared: Compared, tests: Iterable[tuple[Pair, float | None, float | None]]) -> str:
    """The pairs by result, as in "better: snr; worse: l2_init".  tests: pairs, each with its corrected p and its t."""
    found: dict[str, list[str]] = {"better": [], "worse": [], "not significantly different": [], "no test": []}
    direction = -1 if compared.measure.better == "less" else 1
    for pair, p, t in tests:
        if p is None or t is None:
            found["no test"].append(pair.ours)
        elif p >= LEVEL:
            found["not significantly different"].append(pair.ours)
        else:
            found["better" if direction * t > 0 else "worse"].append(pair.ours)
    return "; ".join(f"{what}: {', '.join(arms)}" for what, arms in found.items() if arms)


def _tested(compared: Compared) -> int:
    """The number of tests that Holm's correction counts."""
    return sum(pair.test.p is not None for pair in compared.pairs)


def _numbers(compared: Compared) -> list[str]:
    middle = _methods(compared, [of["iqm"] for of in compared.aggregates.values()], "iqm")
    if compared.task is None:
        titles = sorted({measure.title for measure in compared.measures.values()})
        many, left_out = len(compared.ends), len(compared.left_out)
        return [
            f"{listed(titles)} as scores over {many} benchmarks with equal weights; n: all runs.",
            *said({**compared.ends, **compared.left_out}, compared.measures),
            *([f"Left out of the scores: {left_out} of {left_out + many} benchmarks."] if left_out else []),
            "Ends that are means of these runs are taken as they are: intervals do not know that they vary.",
            f"IQM: interquartile mean{middle}. Median of the benchmarks' means. Opt. gap: by how much scores are "
            "below 1 on average, less is better.",
        ]
    measure = compared.measure
    unit = f" ({measure.unit})" if measure.unit else ""
    least = ", less is better" if measure.better == "less" else ""
    return [f"{measure.title}{unit}{least}, mean ± SD over runs; IQM: interquartile mean{middle}."]


def _methods(compared: Compared, found: Sequence[Interval], of: str) -> str:
    """The methods of the intervals, with the coverage at the smallest number of runs; starts with a comma."""
    by_method: dict[str, Interval] = {}
    for each in found:
        if each.ends is not None:
            known = by_method.setdefault(each.method.name, each)
            if min(each.runs) < min(known.runs):
                by_method[each.method.name] = each
    tasks = len(compared.ends) or 1
    words = [with_coverage(each.method, of, min(each.runs), tasks) for each in by_method.values()]
    return f", with its {' or '.join(words)}" if words else ""


def _tests(compared: Compared) -> list[str]:
    pairs = compared.against_reference
    if not pairs:
        return []
    one = compared.task is not None
    made = _methods(compared, [pair.difference for pair in pairs], "difference of means")
    tests = _tested(compared)
    seeds = sorted({pair.paired.n for pair in pairs})
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    shared = "same seeds" if one else "same seeds of the same benchmark"
    spread = "" if one else ", for the mean score, with the variances of benchmarks added"
    g = "g: Hedges' effect size, the difference in SDs over seeds" + ("" if one else ", mean over benchmarks")
    return [
        f"Difference: the mean{'' if one else ' score'} minus the one of {compared.reference}{made}.",
        f"Welch p: two-sided test of equal means{spread}, unequal variances; paired p: the t-test of differences at "
        f"the {shared} ({many} pairs); Holm p: Welch's, corrected for the {tests} "
        f"test{'s' * (tests != 1)} of this table.",
        f"{g}; P(better): the probability that a run is better than one of {compared.reference}, a tie is half.",
        f"Bold: the best, and those not significantly different from it (Welch p ≥ {LEVEL}, not corrected).",
        *(_effect(compared) if one and not compared.shows_pairs else []),
    ]


def _effect(compared: Compared) -> list[str]:
    """The method of the intervals of g; empty if no pair has one."""
    runs = [min(pair.effect.n) for pair in compared.pairs if pair.effect.low is not None]
    return [f"g with its {with_coverage(EFFECT, 'effect', min(runs), 1)}."] if runs else []


def _why_not(compared: Compared) -> list[str]:
    """Why numbers are missing."""
    missing: dict[str, dict[str, list[str]]] = {}
    for name in ("Welch p", "paired p", "g", "interval of the difference"):
        for pair in compared.pairs:
            result = {"Welch p": pair.test, "paired p": pair.paired, "g": pair.effect}.get(name, pair.difference)
            if result.reason:
                missing.setdefault(result.reason, {}).setdefault(name, []).append(pair.words)
    lines = []
    for reason, pairs_of in missing.items():
        pairs = dict.fromkeys(pair for pairs in pairs_of.values() for pair in pairs)
        lines.append(f"No {listed([*pairs_of])} of {', '.join(pairs)}: {reason}.")
    arms_of: dict[str, list[str]] = {}
    for arm, of in compared.aggregates.items():
        if of["iqm"].reason:
            arms_of.setdefault(of["iqm"].reason, []).append(arm)
    return lines + [f"No interval of the IQM of {', '.join(arms)}: {reason}." for reason, arms in arms_of.items()]


def _tuned(compared: Compared) -> list[str]:
    """The tuned settings, if they were chosen for each arm separately and the arms differ in them."""
    rows_by_arm = rows_of(compared)
    rows = [row for rows in rows_by_arm.values() for row in rows]
    names = varying({name: value for name, value in row.own.items() if is_own(name)} for row in rows)
    names = [name for name in names if not name.startswith(f"{compared.by}.") and name != compared.by]
    tuned = compared.by == "hyperparams" or all(row.hyperparams in TUNED for row in rows)
    if not (tuned and names) or compared.task is None:
        return []
    arms = []
    for arm, of in rows_by_arm.items():
        if of:
            arms.append(f"{arm}: {listed([*dict.fromkeys(words_of(row.own, names) for row in of)])}")
    return [f"Each arm has its own settings: {'; '.join(arms)}."]
