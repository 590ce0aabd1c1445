"""Tables over several environments: returns, plasticity scores and changes of the generalization gap, by activation.

A run's values are its return at the end of each of its stages, and its return in the test after the stage.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analysis.rows import Row, grouped, key, varying
from analysis.setting_words import short_words
from analysis.statistics.interval import interval
from analysis.statistics.method import TODAY, Method, Methods, shared
from analysis.statistics.plasticity_score import PlasticityScores, Spread, plasticity_scores
from analysis.statistics.returns import FLOOR, PERCENTILES, Normalised, failed, gap_change, gap_summary
from analysis.statistics.summaries import mean_sd
from analysis.statistics.two_groups import welch
from analysis.tables.made_by import mixed
from analysis.tables.table import Table, cycle_returns, without_episode

OF_ALL = "tableF1"
"""The table of the scores of all activations."""
SELECTED_BY = ("protocol", "schedule", "hyperparams", "intervention")
PUBLISHED = "as published"
"""The heading of intervals by the paper's method, if ours use another method."""
Places = frozenset[tuple[str, str]]
"""(label of an arm, column)."""


@dataclass(frozen=True)
class Shown:
    """One of our numbers, with the number after ± or the ends of its interval.

    failed: the number of failed runs. no_episode: the number of runs that are left out because no episode ended in
    them. published: the ends of the interval by the paper's method, if ours is another method. reason: the reason for a
    missing interval. values: the values of the runs behind the mean, for tests; for a score, each run's mean score.
    """

    value: float | None
    sd: float | None = None
    half_width: float | None = None
    low: float | None = None
    high: float | None = None
    failed: int = 0
    no_episode: int = 0
    published: tuple[float, float] | None = None
    reason: str | None = None
    values: Sequence[float] = ()


@dataclass(frozen=True)
class Arm:
    """The numbers of an activation at one setting by column, and the counts of its runs.

    own: the setting. n: the number of runs with a number. expected: the expected number of runs. stopped: runs that a
    search stopped early. flagged: flag → number of runs. mixed: differences in how the runs were computed, from
    `made_by.mixed`.

    Finished runs without a number are counted by reason. no_episode: a task has no ended episode. unread: the returns
    by task are missing. incomplete: a task, the second cycle or the tests are missing.
    """

    activation: str
    own: Mapping[str, Any]
    columns: Mapping[str, Shown]
    n: int
    expected: int
    diverged: int
    failed: int
    stopped: int
    no_episode: int
    unread: int
    incomplete: int
    flagged: Mapping[str, int]
    mixed: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Scores:
    """The arms of one selection of runs, by label.

    bounds: for a table of scores, the returns with the scores 0 and 1. normalised_by: activation → the number of its
    runs that decided the bounds. spread: for tests of scores, because the bounds depend on the runs. methods: the
    methods of the intervals. printed_best: the best (label, column) before rounding, if the numbers come from the
    printed table because the returns were not kept.
    """

    selection: Mapping[str, str]
    arms: Mapping[str, Arm]
    rows: Sequence[Row]
    bounds: Normalised | None = None
    normalised_by: Mapping[str, int] = field(default_factory=dict)
    spread: Spread | None = None
    methods: Methods = field(default_factory=lambda: TODAY)
    printed_best: Places | None = None

    @property
    def has_published(self) -> bool:
        """Whether a number also has an interval by the paper's method."""
        return any(shown.published for arm in self.arms.values() for shown in arm.columns.values())


def selections(rows: Sequence[Row]) -> list[tuple[Mapping[str, str], list[Row]]]:
    """The runs by selection (group → option) and by study."""
    groups = grouped(rows, lambda row: (*(getattr(row, name) for name in SELECTED_BY), key(row.study)))
    return [({name: getattr(groups[at][0], name) for name in SELECTED_BY}, groups[at]) for at in sorted(groups)]


def arms_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Label → the runs of one activation at one setting, each once. Runs of different settings are never averaged."""
    arms: dict[str, list[Row]] = {}
    for name, runs in grouped({row.run: row for row in rows}.values(), lambda row: row.activation).items():
        differing = varying(row.own for row in runs)
        for row in runs:
            label = f"{name} ({short_words(row.own, differing)})" if differing else name
            arms.setdefault(label, []).append(row)
    return arms


def flags_of(rows: Sequence[Row]) -> dict[str, int]:
    """Flag, such as unstable → the number of runs with that flag."""
    names = dict.fromkeys(name for row in rows for name, is_so in row.flags.items() if is_so)
    return {name: sum(bool(row.flags.get(name)) for row in rows) for name in names}


def scores(table: Table[Scores], rows: Sequence[Row]) -> list[Scores]:
    """One content for each selection and study of the table's runs.  rows: with their stages, from `Table.ready`."""
    # A table that shows some activations by the bounds of all has the numbers of the table of all.
    printed = OF_ALL if table.shows else table.name
    return [_as_printed(printed, _scores(table, *selected)) for selected in selections(table.about(rows))]


def best(table: Table[Scores], found: Scores) -> Places:
    """The best complete arm of each column; for a gap, the lowest. A column with one arm has no best."""
    if found.printed_best is not None:
        return found.printed_best
    choose = min if table.returns == "gap" else max
    places = set()
    for column in dict.fromkeys(column for arm in found.arms.values() for column in arm.columns if column != "sd"):
        values = {label: shown.value or 0.0 for label, shown in _complete(found.arms, column).items()}
        if len(values) > 1:
            of_best = choose(values.values())
            places |= {(label, column) for label, value in values.items() if value == of_best}
    return frozenset(places)


def alike(table: Table[Scores], found: Scores) -> Places:
    """The arms that are not significantly different from the best of their column, at the table's level.

    Welch's test compares means; a bootstrap that draws the bounds again compares scores. Numbers without a test, such
    as numbers over environments without an interval, are left out.
    """
    places = set()
    for label, column in best(table, found):
        complete = _complete(found.arms, column)
        for other in complete.keys() - {label}:
            p = _p(found.spread, label, other, complete)
            if p is not None and p >= table.level and complete[other].value != complete[label].value:
                places.add((other, column))
    return frozenset(places)


def _p(spread: Spread | None, label: str, other: str, complete: Mapping[str, Shown]) -> float | None:
    if spread is None:
        return welch(complete[label].values, complete[other].values).p
    (p,) = spread.p_of(label, other, np.array([(complete[label].value or 0.0) - (complete[other].value or 0.0)]))
    return None if np.isnan(p) else float(p)


def _complete(arms: Mapping[str, Arm], column: str) -> dict[str, Shown]:
    """The numbers of the ranked arms in a column: all runs have a number, and no run lacks an ended episode."""
    there = {label: arm.columns.get(column) for label, arm in arms.items() if arm.n == arm.expected}
    return {
        label: shown for label, shown in there.items() if shown and shown.value is not None and not shown.no_episode
    }


def _scores(table: Table[Scores], selection: Mapping[str, str], rows: Sequence[Row]) -> Scores:
    by_arm, methods = arms_of(rows), shared(row.methods for row in rows)
    ends = {row.run: _ends(table, row) for runs in by_arm.values() for row in runs}
    with_ends = {name: [row for row in runs if ends[row.run] is not None] for name, runs in by_arm.items()}
    # (first and last cycle, training and test, N seeds, M environments)
    values = {name: np.stack([ends[row.run] for row in runs], axis=2) for name, runs in with_ends.items() if runs}
    found = None
    if table.returns == "score" and values:
        returns = {name: arm[1, 0] for name, arm in values.items()}
        found = plasticity_scores(returns, method=methods["score"], published=methods.get("published"))
    most = max(len(runs) for runs in by_arm.values())
    arms = {}
    for name, runs in by_arm.items():
        whole, without = with_ends[name], [row for row in runs if ends[row.run] is None]
        arms[name] = Arm(
            activation=runs[0].activation,
            own=runs[0].own,
            columns=_columns(table, name, values[name], found, methods["gap"]) if name in values else {},
            n=len(whole),
            expected=len(runs) if all(row.planned for row in runs) else most,
            diverged=sum(row.status == "diverged" for row in runs),
            failed=sum(row.status == "failed" for row in runs),
            stopped=sum(row.status == "stopped" for row in runs),
            no_episode=sum(bool(without_episode(row)) for row in without),
            unread=sum(row.status == "done" and row.stages is None for row in runs),
            incomplete=sum(row.stages is not None and not without_episode(row) for row in without),
            flagged=flags_of(whole),
            mixed=mixed(whole),
        )
    normalised_by = Counter(row.activation for runs in with_ends.values() for row in runs) if found else {}
    return Scores(
        selection,
        {name: arm for name, arm in arms.items() if not table.shows or arm.activation in table.shows},
        rows,
        found.normalised if found else None,
        normalised_by,
        found.spread if found else None,
        methods,
    )


def _ends(table: Table[Scores], row: Row) -> np.ndarray | None:
    """The returns of a finished run in its first and in its last cycle, in training and in tests: (2, 2, M).

    None if a stage is missing, or if too few stages have an ended episode. A score needs one in each stage of the last
    cycle; a gap needs one in each stage of the first cycle too. Returns need one in at least one stage of the last
    cycle. For a gap, the result is also None if the run has only one cycle or no tests.
    """
    cycles = cycle_returns(row, table.bodies)
    if cycles is None or (table.returns == "gap" and (len(cycles) == 1 or np.isnan(cycles[[0, -1], 1]).all())):
        return None
    silent = np.isnan(cycles[[0, -1], 0])
    without = {"gap": silent.any(), "score": silent[1].any(), "return": silent[1].all()}
    return None if without[table.returns or "return"] else cycles[[0, -1]]


def _columns(
    table: Table[Scores], name: str, ends: np.ndarray, found: PlasticityScores | None, gap: Method
) -> dict[str, Shown]:
    """Column → its number.  ends: (2, 2, N, M). gap: the method of a gap's intervals."""
    last = ends[1, 0]
    silent = np.isnan(last)
    lost = (failed(last) & ~silent).sum(axis=0)
    if table.returns == "score":
        return {"score": _score(found, name, int(lost.sum()))}
    columns = {}
    if table.returns == "return":
        for at, body in enumerate(table.bodies):
            values = last[~silent[:, at], at]
            mean, count = mean_sd(values), int(silent[:, at].sum())
            columns[body] = Shown(mean.mean, sd=mean.sd, failed=int(lost[at]), no_episode=count, values=values.tolist())
        return columns
    change, lost_runs = gap_change(ends[:, 0], ends[:, 1])
    summary = gap_summary(change, gap.level)
    for at, body in enumerate(table.bodies):
        made = interval(change[:, at], method=gap)
        columns[body] = Shown(
            float(summary.mean[at]),
            half_width=None if made.ends is None else float(summary.half[at]),
            failed=int(lost_runs[:, at].sum()),
            reason=made.reason,
            values=change[:, at].tolist(),
        )
    more = {"mean": summary.overall, "sd": summary.sd} if "mean" in table.beside else {}
    return columns | {column: Shown(value) for column, value in {"iqm": summary.iqm, **more}.items()}


def _score(found: PlasticityScores | None, name: str, lost: int) -> Shown:
    score = found.scores.get(name) if found else None
    if found is None or score is None:
        return Shown(None, failed=lost)
    theirs = found.as_published.get(name)
    published = theirs.ends if theirs and theirs.method != score.method else None
    shown = Shown(score.value, low=score.low, high=score.high, failed=lost, published=published, reason=score.reason)
    return replace(shown, values=(found.normalised.scores or {})[name].mean(axis=1).tolist())


def _as_printed(table: str, found: Scores) -> Scores:
    """The scores with the numbers of the printed table, if the table's .json has only those for exactly these runs.

    The .json of an old table has no returns by task. It has the printed numbers for all its runs together, with the
    printed digits; a subset of the runs has no numbers.
    """
    stored = [(row.printed or {}).get(table) for row in found.rows if row.status == "done"]
    printed = stored[0] if stored else None
    if printed is None or any(other != printed for other in stored) or len(stored) != printed["runs"]:
        return found
    if any(arm.n for arm in found.arms.values()) or not found.arms.keys() <= printed["columns"].keys():
        return found
    arms, runs_of = {}, arms_of(found.rows)
    for label, arm in found.arms.items():
        runs = [row for row in runs_of[label] if row.status == "done"]
        columns = {column: Shown(**shown) for column, shown in printed["columns"][label].items()}
        arms[label] = replace(arm, columns=columns, n=len(runs), unread=0, flagged=flags_of(runs), mixed=mixed(runs))
    ends, bounds = printed.get("bounds"), None
    if ends is not None:
        bounds = Normalised(None, np.array(ends["low"]), np.array(ends["high"]), FLOOR, PERCENTILES)
    best_of = frozenset(tuple(place) for place in printed["best"] if place[0] in arms)
    normalised_by = Counter(row.activation for row in found.rows if row.status == "done") if bounds else {}
    return replace(found, arms=arms, bounds=bounds, normalised_by=normalised_by, printed_best=best_of)
