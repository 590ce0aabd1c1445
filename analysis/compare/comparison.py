"""A comparison: arms, pairs and scores of each section, before they are words."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from analysis.compare.arm import Arm, arms_of, measures
from analysis.compare.pair import Pair, corrected, on_one, on_several
from analysis.compare.scores import Ends, ends_of, score_matrix
from analysis.compare.sections import Section, sections
from analysis.compare.setting import chosen_setting
from analysis.compare.words import word
from analysis.rows import Row
from analysis.statistics.interval import Interval, interval
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Measure

BEST = "best"
FEW = 6
"""Of more than two arms, and up to this many, all pairs are shown where nothing else is said."""
LEVEL = 0.05
AGGREGATES = ("iqm", "median", "mean", "optimality gap")
"""Of scores over several benchmarks."""


@dataclass(frozen=True)
class Compared:
    """The arms of one section, on one benchmark or over several.

    task: the benchmark; None of scores over several. measure: what is compared, of scores None. ends: of each benchmark
    whose scores are here; left_out: of those that have none. aggregates: arm → name → number with its interval.
    reference: the arm with which others are compared, and `chosen`: why it is that one. pairs: all that are shown; of:
    each arm against the reference, with the same correction. alike: the best arm with those that are not told apart
    from it.
    """

    by: str
    section: Section
    arms: Sequence[Arm]
    task: str | None
    measure: Measure | None
    ends: Mapping[str, Ends]
    aggregates: Mapping[str, Mapping[str, Interval]]
    reference: str
    chosen: str
    pairs: Sequence[Pair]
    shows_pairs: bool
    alike: Sequence[str]
    left_out: Mapping[str, Ends] = field(default_factory=dict)

    def against(self, arm: str) -> Pair | None:
        """An arm compared with the reference; None of the reference itself."""
        return next((pair for pair in self.pairs if (pair.ours, pair.theirs) == (arm, self.reference)), None)


@dataclass(frozen=True)
class Comparison:
    """What was found of runs compared by a setting. shown: of each section scores first, then each benchmark.

    notes: sentences about runs that are not compared.
    """

    by: str
    rows: Sequence[Row]
    shown: Sequence[Compared]
    measures: Mapping[int, Mapping[str, Measure]]
    notes: Sequence[str]


def comparison(
    rows: Sequence[Row],
    by: str | None = None,
    against: str | None = None,
    metric: str | None = None,
    pairs: bool | None = None,
) -> Comparison:
    """The rows compared by a setting: the one that is named, or the only one in which they differ.

    against: an arm, or "best"; None: the arm `none` where interventions are compared, else the best. pairs: whether all
    pairs are shown; None: where there are few arms.
    Raises ConfigError, naming what there is, for what cannot be compared.
    """
    setting = chosen_setting(rows, by)
    found, notes = sections(rows, setting)
    _check_reference(setting, found, against)
    shown: list[Compared] = []
    of_section: dict[int, Mapping[str, Measure]] = {}
    for section in found:
        measured = measures(section, metric)
        arms = arms_of(section, measured)
        of_section[id(section)] = measured
        several = pairs if pairs is not None else 2 < len(arms) <= FEW
        if len(section.strata) > 1:
            shown += _over_several(setting, section, arms, measured, against, several)
        shown += [_on_one(setting, section, arms, task, measured[task], against, several) for task in section.strata]
    compared = {row.run for section in found for row in section.rows}
    return Comparison(setting, [row for row in rows if row.run in compared], shown, of_section, notes)


def _on_one(
    by: str, section: Section, arms: Sequence[Arm], task: str, shown: Measure, against: str | None, several: bool
) -> Compared:
    here = [arm for arm in arms if task in arm.cells]
    values = {arm.label: np.array(arm.cells[task].values, dtype=float) for arm in here}
    aggregates = {
        name: {of: interval(value, of, name=name) for of in ("iqm", "mean")} for name, value in values.items()
    }
    whole = [arm.label for arm in here if arm.cells[task].complete]
    best = _best({name: of["mean"].value for name, of in aggregates.items()}, whole, shown.better)
    reference, chosen = _reference(by, here, best, against)
    arm_of = {arm.label: arm for arm in here}
    pair = cache(lambda ours, theirs: on_one(arm_of[ours], arm_of[theirs], task, shown.better))
    found, alike = _pairs([*arm_of], reference, several, pair), _alike(best, [*arm_of], pair)
    return Compared(by, section, here, task, shown, {}, aggregates, reference, chosen, found, several, alike)


def _over_several(
    by: str, section: Section, arms: Sequence[Arm], shown: Mapping[str, Measure], against: str | None, several: bool
) -> list[Compared]:
    """The one comparison; nothing where fewer than two of the benchmarks have scores."""
    fixed = None if against == BEST else _fixed(by, arms, against)
    of_task = {}
    for task in section.strata:
        means = {arm.label: of for arm in arms if task in arm.cells and (of := arm.cells[task].mean) is not None}
        of_task[task] = ends_of(section, task, shown[task], means, fixed)
    ends = {task: of for task, of in of_task.items() if of.scored}
    if len(ends) < 2:
        return []
    left_out = {task: of for task, of in of_task.items() if not of.scored}
    here = [replace(arm, cells={task: of for task, of in arm.cells.items() if task in ends}) for arm in arms]
    here = [arm for arm in here if arm.cells]
    aggregates = {
        arm.label: {of: interval(score_matrix(arm, ends), of, name=arm.label) for of in AGGREGATES} for arm in here
    }
    whole = [arm.label for arm in here if len(arm.cells) == len(ends) and all(of.complete for of in arm.cells.values())]
    best = _best({name: of["iqm"].value for name, of in aggregates.items()}, whole, "more")
    reference, chosen = _reference(by, here, best, against)
    arm_of = {arm.label: arm for arm in here}
    pair = cache(lambda ours, theirs: on_several(arm_of[ours], arm_of[theirs], ends))
    found, alike = _pairs([*arm_of], reference, several, pair), _alike(best, [*arm_of], pair)
    return [
        Compared(by, section, here, None, None, ends, aggregates, reference, chosen, found, several, alike, left_out)
    ]


def _best(values: Mapping[str, float | None], whole: Sequence[str], better: str) -> str | None:
    """The arm with the best value: of those that are complete, or of all where none is."""
    ranked = {name: value for name, value in values.items() if value is not None}
    ranked = {name: value for name, value in ranked.items() if name in whole} or ranked
    if not better or not ranked:
        return None
    return (min if better == "less" else max)(ranked, key=lambda name: ranked[name])


def _reference(by: str, arms: Sequence[Arm], best: str | None, against: str | None) -> tuple[str, str]:
    """The arm with which others are compared, and why that one."""
    if against != BEST and (fixed := _fixed(by, arms, against)):
        return fixed, "no intervention" if against is None else "as asked"
    return (best, "the best") if best else (arms[0].label, "the first")


def _fixed(by: str, arms: Sequence[Arm], against: str | None) -> str | None:
    """The reference where it does not depend on what runs came to."""
    if against is None:
        return "none" if by == "intervention" and any(arm.label == "none" for arm in arms) else None
    return _named(arms, against)


def _named(arms: Iterable[Arm], against: str) -> str | None:
    """The arm of that label, or the only one of that value."""
    labels = [arm.label for arm in arms if arm.label == against]
    values = [arm.label for arm in arms if word(arm.value) == word(against)]
    return labels[0] if labels else values[0] if len(values) == 1 else None


def _check_reference(by: str, found: Sequence[Section], against: str | None) -> None:
    """Raises ConfigError, naming the arms, where no section has the arm that is asked for."""
    if against in (None, BEST):
        return
    known = {arm: Arm(arm, section.value_of[arm], {}) for section in found for arm in section.arms}
    if not any(_named([known[arm] for arm in section.arms], str(against)) for section in found):
        raise ConfigError(f"There is no arm '{against}' of {by}; --against takes {', '.join(known)}, or {BEST}.")


def _pairs(arms: Sequence[str], reference: str, several: bool, pair: Callable[[str, str], Pair]) -> list[Pair]:
    """The pairs: each arm against the reference first; where several are shown, then all others."""
    wanted = [(name, reference) for name in arms if name != reference]
    if several:
        wanted += [(b, a) for a, b in itertools.combinations(arms, 2) if reference not in (a, b)]
    return corrected([pair(*names) for names in wanted])


def _alike(best: str | None, arms: Sequence[str], pair: Callable[[str, str], Pair]) -> list[str]:
    """The best arm, and those from which Welch's test does not tell it apart."""
    if best is None:
        return []
    return [best, *(name for name in arms if name != best and _is_alike(pair(name, best)))]


def _is_alike(pair: Pair) -> bool:
    """Whether a test was made and does not tell two arms apart, or there is nothing to tell apart."""
    tested = pair.test.p is not None and not pair.test.significant(LEVEL)
    return tested or pair.difference.value == 0
