"""The caption of a comparison: the numbers, their methods, why a test is missing, and the compared runs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from analysis.compare.comparison import LEVEL, Compared
from analysis.compare.pair import Pair
from analysis.compare.scores import said
from analysis.compare.setting import TUNED, is_own, listed, together, word
from analysis.outcomes import Why, in_words, over_tasks
from analysis.rows import NAMED_BY_THE_ASKER, Row, varying
from analysis.setting_words import words_of
from analysis.statistics.interval import Interval
from analysis.statistics.method import EFFECT, with_coverage
from analysis.tables.caption import data_line
from analysis.tables.made_by import CODE, MACHINE, made_lines
from analysis.tables.result import Cell
from plasticity_lab.records.measures import POINTS

WHY: tuple[Why, ...] = ("diverged", "failed", "waiting", "no_episode", "no_value", "stopped")
"""The outcomes of runs without a value, in the order of the caption."""
OUTCOMES = ("better", "worse", "not significantly different", "no test")
"""The results of an arm compared with the reference."""


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
    found: dict[str, list[str]] = {what: [] for what in OUTCOMES}
    for pair, p, t in tests:
        found[outcome(compared, p, t)].append(pair.ours)
    return "; ".join(f"{what}: {', '.join(arms)}" for what, arms in found.items() if arms)


def outcome(compared: Compared, p: float | None, t: float | None) -> str:
    """One of `OUTCOMES`: a pair's result by its corrected p and its t."""
    better, worse, alike, no_test = OUTCOMES
    if p is None or t is None:
        return no_test
    return alike if p >= LEVEL else better if (t > 0) != (compared.measure.better == "less") else worse


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
    unit = f", in {POINTS}" if compared.measure.of_difference.unit == POINTS else ""
    shared = "same seeds" if one else "same seeds of the same benchmark"
    spread = "" if one else ", for the mean score, with the variances of benchmarks added"
    g = "g: Hedges' effect size, the difference in SDs over seeds" + ("" if one else ", mean over benchmarks")
    return [
        f"Difference: the mean{'' if one else ' score'} minus the one of {compared.reference}{unit}{made}.",
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


# The sentences about runs: runs without a value, and differences in code or machines.


def runs_said(compared: Compared) -> list[str]:
    """The sentences, in the order of a caption."""
    of_arm = rows_of(compared)
    rows = [row for rows in of_arm.values() for row in rows]
    cells = {  # one benchmark needs no name
        (arm.label, task if compared.task is None else ""): cell
        for arm in compared.arms
        for task, cell in arm.cells.items()
    }
    asked = [f"{name} {' and '.join(sorted({getattr(row, name) for row in rows}))}" for name in NAMED_BY_THE_ASKER]
    return [
        *_data(compared),
        f"Asked for by {', '.join(asked)}.",
        *_without_value(cells),
        *_seeds(compared, cells),
        *_flags(cells),
        *_shared(of_arm),
        *made_lines(rows, {_place(arm, task): cell.mixed for (arm, task), cell in cells.items()}),
        *_made_otherwise(of_arm),
    ]


def rows_of(compared: Compared) -> dict[str, list[Row]]:
    """Arm → its rows on the benchmarks of a table."""
    found: dict[str, list[Row]] = {arm.label: [] for arm in compared.arms}
    for task, arms in compared.section.strata.items():
        if compared.task in (None, task):
            for arm in found.keys() & arms.keys():
                found[arm] += arms[arm]
    return found


def _place(arm: str, task: str) -> str:
    return f"{arm} on {task}" if task else arm


def _data(compared: Compared) -> list[str]:
    places: dict[str, list[str]] = {}
    for task, arms in compared.section.strata.items():
        if compared.task in (None, task):
            for arm, rows in arms.items():
                places.setdefault(f"{data_line(rows)}.", []).append(task or arm)
    if len(places) < 2 and not any(compared.section.strata):
        return [f"Data: {words}" for words in places]
    return [f"{together([*dict.fromkeys(names)])}: {words}" for words, names in places.items()]


def _without_value(cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """Runs without a value, and the reasons; and runs that were run again."""
    said = []
    for (arm, task), cell in cells.items():
        counts: dict[Why, int] = {why: getattr(cell, why) for why in WHY}
        if words := in_words(counts, cell.n + sum(counts.values())):
            said.append(f"{_place(arm, task)}: {words}")
    lines = [f"Not in the numbers: {'. '.join(said)}."] if said else []
    if superseded := sum(cell.superseded for cell in cells.values()):
        lines.append(
            f"Left out: {superseded} runs with settings and a seed that were run again later under another id."
        )
    return lines


def _seeds(compared: Compared, cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """Seeds that only some arms have on a benchmark."""
    lines = []
    for task in dict.fromkeys(task for _, task in cells):
        where = f" on {task}" if task else ""
        seeds_of = {arm: {word(seeds[0]) for seeds in cell.seeds} for (arm, at), cell in cells.items() if at == task}
        every = set().union(*seeds_of.values())
        lacking = {arm: sorted(every - seeds, key=lambda seed: (len(seed), seed)) for arm, seeds in seeds_of.items()}
        if said := [f"{arm}: {', '.join(seeds[:10])}" for arm, seeds in lacking.items() if seeds]:
            lines.append(
                f"Seeds without a value{where}: {'; '.join(said)}. The paired test takes those that both have."
            )
        absent = [arm.label for arm in compared.arms if arm.label not in seeds_of]
        if compared.task is None and absent:
            lines.append(f"No runs{where}: {', '.join(absent)}; without them there is no score over all benchmarks.")
    return lines


def _flags(cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """Remarks on flagged runs that are nevertheless included in the numbers."""
    lines = []
    counts: dict[str, Counter[str]] = {}
    for (arm, _), cell in cells.items():
        for flag, many in {"collapsed": cell.collapsed, **cell.flagged}.items():
            if many:
                counts.setdefault(flag, Counter())[arm] += many
    for flag, by_arm in counts.items():
        said = ", ".join(f"{many} of {arm}" for arm, many in by_arm.items())
        lines.append(f"{flag}: {said}; their values are in the numbers.")
    if tasks := [each for cell in cells.values() for each in cell.some_tasks]:
        lines.append(
            f"In {len(tasks)} runs no episode ended in some tasks: their means are over {over_tasks(tasks)} tasks."
        )
    return lines


def _shared(of_arm: Mapping[str, Sequence[Row]]) -> list[str]:
    """Runs that belong to two arms, because they were requested under two names."""
    lines = []
    for one, other in combinations(of_arm, 2):
        both = {row.run for row in of_arm[one]} & {row.run for row in of_arm[other]}
        if both:
            lines.append(f"{one} and {other} have {len(both)} runs in common: there they do not differ.")
    return lines


def _made_otherwise(of_arm: Mapping[str, Sequence[Row]]) -> list[str]:
    """The code and machines of the finished runs of arms, if they are not the same for all."""
    lines = []
    for name, of in {**CODE, **MACHINE}.items():
        made = {
            arm: sorted({said for row in rows if row.status == "done" and (said := of(row.provenance))})
            for arm, rows in of_arm.items()
        }
        different = {tuple(words) for words in made.values() if words}
        if name != "data" and len(different) > 1:
            said = "; ".join(f"{arm}: {listed(words)}" for arm, words in made.items() if words)
            lines.append(f"Arms were made in different ways, {name}: {said}.")
    return lines
