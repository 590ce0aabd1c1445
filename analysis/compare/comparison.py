"""A comparison as numbers: arms, pairs and scores of each section."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from analysis.compare.arm import Arm, arm_of, arms_of, measures_of
from analysis.compare.pair import Pair, corrected, on_one, on_several
from analysis.compare.scores import Ends, ends_of, score_matrix
from analysis.compare.sections import Section, sections
from analysis.compare.setting import chosen_setting, word
from analysis.rows import Row
from analysis.statistics.interval import Interval, interval
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Measure

BEST = "best"
FEW = 6
"""Up to this many arms, all pairs are shown by default."""
LEVEL = 0.05
SCORE = Measure("score", "Score", places=3, better="more")
"""The compared number over several benchmarks."""
AGGREGATES = ("iqm", "median", "mean", "optimality gap")
"""The aggregates of scores over several benchmarks."""


@dataclass(frozen=True)
class Asked:
    """The comparison of a section, before it is made.

    measures: benchmark → the number compared there, for all benchmarks of the section. named: the reference that the
    user named. shows_pairs: whether all pairs are shown.
    """

    by: str
    section: Section
    measures: Mapping[str, Measure]
    named: str | None
    shows_pairs: bool


@dataclass(frozen=True)
class Compared(Asked):
    """The arms of one section, on one benchmark or over several.

    arms: with their cells on these benchmarks. task: the benchmark; None for scores over several.
    ends: benchmark → the values that score 0 and 1, for each benchmark in the scores. left_out: the same for benchmarks
    without scores. aggregates: arm → name → number with its interval.
    reference: the arm that others are compared with. chosen: the reason for this choice.
    pairs: all shown pairs, under one correction; first each arm against the reference.
    alike: the best arm, and the arms not significantly different from it.
    """

    arms: Sequence[Arm]
    task: str | None
    ends: Mapping[str, Ends]
    left_out: Mapping[str, Ends]
    aggregates: Mapping[str, Mapping[str, Interval]]
    reference: str
    chosen: str
    pairs: Sequence[Pair]
    alike: Sequence[str]

    @property
    def measure(self) -> Measure:
        """The compared number."""
        return SCORE if self.task is None else self.measures[self.task]

    def against(self, arm: str) -> Pair | None:
        """An arm compared with the reference; None for the reference itself."""
        return next((pair for pair in self.pairs if (pair.ours, pair.theirs) == (arm, self.reference)), None)

    @property
    def against_reference(self) -> list[Pair]:
        """Each arm compared with the reference, in the order of the table."""
        return [pair for arm in self.arms if (pair := self.against(arm.label))]


@dataclass(frozen=True)
class Comparison:
    """Runs compared by a setting.  shown: for each section, scores first, then each benchmark.

    notes: sentences about runs that are not compared.
    """

    by: str
    rows: Sequence[Row]
    shown: Sequence[Compared]
    notes: Sequence[str]


def range_of(measure: Measure) -> tuple[float, float] | None:
    """The range of a share or an accuracy, in percent; None for other measures, also for differences of shares."""
    return (0.0, 100.0) if measure.unit == "%" else None


def comparison(
    rows: Sequence[Row],
    by: str | None = None,
    against: str | None = None,
    metric: str | None = None,
    pairs: bool | None = None,
) -> Comparison:
    """Compares rows by a setting: the named one, or the only setting that differs.

    against: an arm, or "best"; None: the arm `none` if interventions are compared, otherwise the best.
    pairs: whether all pairs are shown; None: only if there are 3 to `FEW` arms.
    Raises ConfigError, naming the choices, if the comparison is not possible.
    """
    setting = chosen_setting(rows, by)
    found, notes = sections(rows, setting)
    _check_reference(setting, found, against)
    shown: list[Compared] = []
    for section in found:
        measures = measures_of(section, metric)
        arms = arms_of(section, measures)
        several = pairs if pairs is not None else 2 < len(arms) <= FEW
        asked = Asked(setting, section, measures, against, several)
        shown += _scores(asked, arms)
        for task in section.strata:
            on_task = [replace(arm, cells={task: arm.cells[task]}) for arm in arms if task in arm.cells]
            shown.append(_compared(asked, on_task, task))
    runs = {row.run for section in found for row in section.rows}
    return Comparison(setting, [row for row in rows if row.run in runs], shown, notes)


def _scores(asked: Asked, arms: Sequence[Arm]) -> list[Compared]:
    """The comparison over several benchmarks; empty if fewer than two of them have scores."""
    ends = {
        task: ends_of(asked.section, task, asked.measures[task], [value for arm in arms for value in arm.values(task)])
        for task in asked.section.strata
    }
    scored = {task: of for task, of in ends.items() if not of.reason}
    if len(scored) < 2:
        return []
    within = [
        arm_of(arm.label, arm.value, {task: cell for task, cell in arm.cells.items() if task in scored})
        for arm in arms
        if arm.cells.keys() & scored.keys()
    ]
    left_out = {task: of for task, of in ends.items() if of.reason}
    return [_compared(asked, within, None, scored, left_out)]


def _compared(
    asked: Asked,
    arms: Sequence[Arm],
    task: str | None,
    ends: Mapping[str, Ends] | None = None,
    left_out: Mapping[str, Ends] | None = None,
) -> Compared:
    """The arms compared on one benchmark, or by scores; for scores, `ends` is given."""
    by_label = {arm.label: arm for arm in arms}
    within = None
    if task is None:
        ends, better, names, ranked_by = ends or {}, SCORE.better, AGGREGATES, "iqm"
        values = {label: score_matrix(arm, ends) for label, arm in by_label.items()}
    else:
        ends, better, names, ranked_by = {}, asked.measures[task].better, ("iqm", "mean"), "mean"
        within = range_of(asked.measures[task])
        values = {label: np.array(arm.values(task), dtype=float) for label, arm in by_label.items()}

    @cache
    def pair(ours: str, theirs: str) -> Pair:
        if task is None:
            return on_several(by_label[ours], by_label[theirs], ends)
        return on_one(by_label[ours], by_label[theirs], task, better, within)

    aggregates = {
        label: {name: interval(value, name, within=within) for name in names} for label, value in values.items()
    }
    tasks = len(ends) or 1
    complete = [arm.label for arm in arms if len(arm.cells) == tasks and all(of.complete for of in arm.cells.values())]
    best = _best({label: of[ranked_by].value for label, of in aggregates.items()}, complete, better)
    reference, chosen = _reference(asked.by, arms, best, asked.named)
    return Compared(
        **vars(asked),
        arms=arms,
        task=task,
        ends=ends,
        left_out=left_out or {},
        aggregates=aggregates,
        reference=reference,
        chosen=chosen,
        pairs=_pairs([*by_label], reference, asked.shows_pairs, pair),
        alike=_alike(best, [*by_label], pair),
    )


def _best(values: Mapping[str, float | None], complete: Sequence[str], better: str) -> str | None:
    """The arm with the best value among the complete ones, or among all if none is complete."""
    ranked = {name: value for name, value in values.items() if value is not None}
    ranked = {name: value for name, value in ranked.items() if name in complete} or ranked
    if not better or not ranked:
        return None
    return (min if better == "less" else max)(ranked, key=lambda name: ranked[name])


def _reference(by: str, arms: Sequence[Arm], best: str | None, against: str | None) -> tuple[str, str]:
    """The arm that others are compared with, and the reason for this choice."""
    if against != BEST and (fixed := _fixed(by, arms, against)):
        return fixed, "no intervention" if against is None else "as asked"
    return (best, "the best") if best else (arms[0].label, "the first")


def _fixed(by: str, arms: Sequence[Arm], against: str | None) -> str | None:
    """The reference, if it does not depend on results."""
    if against is None:
        return "none" if by == "intervention" and any(arm.label == "none" for arm in arms) else None
    return _named([(arm.label, arm.value) for arm in arms], against)


def _named(arms: Iterable[tuple[str, object]], against: str) -> str | None:
    """The arm with that label, or the only arm with that value.  arms: (label, value) pairs."""
    values = []
    for label, value in arms:
        if label == against:
            return label
        if word(value) == word(against):
            values.append(label)
    return values[0] if len(values) == 1 else None


def _check_reference(by: str, found: Sequence[Section], against: str | None) -> None:
    """Raises ConfigError, naming the arms, if no section has the requested arm."""
    if against is None or against == BEST:
        return
    if not any(_named(section.value_of.items(), against) for section in found):
        known = dict.fromkeys(arm for section in found for arm in section.arms)
        raise ConfigError(f"There is no arm '{against}' of {by}; --against takes {', '.join(known)}, or {BEST}.")


def _pairs(arms: Sequence[str], reference: str, several: bool, pair: Callable[[str, str], Pair]) -> list[Pair]:
    """First each arm against the reference; then all other pairs, if several are shown."""
    wanted = [(name, reference) for name in arms if name != reference]
    if several:
        wanted += [(b, a) for a, b in itertools.combinations(arms, 2) if reference not in (a, b)]
    return corrected([pair(*names) for names in wanted])


def _alike(best: str | None, arms: Sequence[str], pair: Callable[[str, str], Pair]) -> list[str]:
    """The best arm, and the tested arms that do not differ significantly from it or have no difference."""
    if best is None:
        return []
    alike = [best]
    for name in arms:
        if name != best:
            against = pair(name, best)
            tested = against.test.p is not None and not against.test.significant(LEVEL)
            alike += [name] * (tested or against.difference.value == 0)
    return alike
