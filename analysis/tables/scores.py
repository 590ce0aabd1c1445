"""Tables over several environments: returns, Plasticity Scores and changes of the generalization gap, by activation.

They are made of what a run returned in the last part of each of its stages, and in the test after it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analysis.rows import Row
from analysis.statistics.bounded import Spread
from analysis.statistics.gap import gap_change, gap_summary
from analysis.statistics.interval import interval
from analysis.statistics.method import TODAY, Method, Methods, shared
from analysis.statistics.normalise import Normalised, failed
from analysis.statistics.plasticity_score import PlasticityScores, plasticity_scores
from analysis.statistics.summaries import mean_sd
from analysis.tables.arms import arms_of, flags_of, selections
from analysis.tables.made_by import mixed
from analysis.tables.stages import cycle_returns, without_episode
from analysis.tables.table import Table


@dataclass(frozen=True)
class Shown:
    """A number of ours: the value, what stands behind ± or between brackets, how many runs of it failed, and how many
    it is without since no episode ended in them.

    published: the ends of the interval as the paper makes it, where that is another. reason: why there is no interval
    where one is to be expected. values: of the runs that it is a mean of, by which the best is told from others.
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
    """The numbers of an activation at one setting by column; of how many runs, of how many that should be there, how
    many diverged, were stopped by an error or early by a search, and what else their agent says of how many. own: the
    setting. mixed: in what their making differs, as `made_by.mixed` has it.

    Of the finished runs that have no number here: no_episode, those with a task in which no episode ended; unread,
    those whose returns by task are not at hand; incomplete, those that lack a task, a second cycle or the tests.
    """

    activation: str
    own: Mapping[str, Any]
    columns: Mapping[str, Shown]
    n: int
    expected: int
    diverged: int
    stopped: int
    stopped_early: int
    no_episode: int
    unread: int
    incomplete: int
    flagged: Mapping[str, int]
    mixed: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Scores:
    """The arms of one selection of runs, by their labels: the activation, with what tells it from others of it.

    bounds: what the scores were normalised by, of a table of scores; spread: by what they are told apart, where bounds
    are drawn anew. methods: of the intervals.
    printed_best: where the numbers are those of the table as it was printed, since the returns that they are of were
    not kept: the (label, column) of those that were the best before they were rounded.
    """

    selection: Mapping[str, str]
    arms: Mapping[str, Arm]
    rows: Sequence[Row]
    bounds: Normalised | None = None
    spread: Spread | None = None
    methods: Methods = field(default_factory=lambda: TODAY)
    printed_best: frozenset[tuple[str, str]] | None = None


def scores(table: Table[Scores], rows: Sequence[Row]) -> list[Scores]:
    """One for each selection of the table's runs, and for each way in which their settings differ otherwise.

    rows: the finished ones with their stages, as `Table.ready` gives them.
    """
    return [_scores(table, chosen, alike) for chosen, alike in selections(table.about(rows))]


def _scores(table: Table[Scores], selection: Mapping[str, str], rows: Sequence[Row]) -> Scores:
    by_arm, methods = arms_of(rows), shared(row.methods for row in rows)
    ends = {row.run: _ends(table, row) for runs in by_arm.values() for row in runs}
    whole = {name: [row for row in runs if ends[row.run] is not None] for name, runs in by_arm.items()}
    # (first and last cycle, training and test, N seeds, M environments)
    values = {name: np.stack([ends[row.run] for row in runs], axis=2) for name, runs in whole.items() if runs}
    found = None
    if table.returns == "score" and values:
        returns = {name: arm[1, 0] for name, arm in values.items()}
        found = plasticity_scores(returns, method=methods["score"], published=methods.get("published"))
    most = max(len(runs) for runs in by_arm.values())
    arms = {
        name: Arm(
            activation=runs[0].activation,
            own=runs[0].own,
            columns=_columns(table, name, values[name], found, methods["gap"]) if name in values else {},
            n=len(whole[name]),
            expected=len(runs) if all(row.planned for row in runs) else most,
            diverged=sum(row.status == "diverged" for row in runs),
            stopped=sum(row.status == "failed" for row in runs),
            stopped_early=sum(row.status == "stopped" for row in runs),
            no_episode=sum(ends[row.run] is None and bool(without_episode(row)) for row in runs),
            unread=sum(row.status == "done" and row.stages is None for row in runs),
            incomplete=sum(
                ends[row.run] is None and row.stages is not None and not without_episode(row) for row in runs
            ),
            flagged=flags_of(whole[name]),
            mixed=mixed(whole[name]),
        )
        for name, runs in by_arm.items()
    }
    bounds, spread = (found.normalised, found.spread) if found else (None, None)
    return Scores(selection, arms, rows, bounds, spread, methods=methods)


def _ends(table: Table[Scores], row: Row) -> np.ndarray | None:
    """What a finished run returned in its first and in its last cycle, in training and in tests: (2, 2, M).

    None where a stage is missing, for a gap, where there is one cycle only or there were no tests, and where no episode
    ended in a stage that counts: in any of the last cycle's for a score; for a gap, of the first's as well; for returns
    in all of the last cycle's, since each environment has a number of its own.
    """
    cycles = cycle_returns(row, table.bodies)
    if cycles is None or (table.returns == "gap" and (len(cycles) == 1 or np.isnan(cycles[[0, -1], 1]).all())):
        return None
    silent = np.isnan(cycles[[0, -1], 0])
    without = {"gap": silent.any(), "score": silent[1].any(), "return": silent[1].all()}
    if table.returns is None or without[table.returns]:
        return None
    return cycles[[0, -1]]


def _columns(
    table: Table[Scores], name: str, ends: np.ndarray, found: PlasticityScores | None, gap: Method
) -> dict[str, Shown]:
    """Column → what is shown of it.  ends: (2, 2, N, M). gap: by what the intervals of a gap are made."""
    last = ends[1, 0]
    silent = np.isnan(last).sum(axis=0)
    lost = (failed(last) & ~np.isnan(last)).sum(axis=0)
    if table.returns == "score":
        score = found.scores.get(name) if found else None
        if score is None:
            return {"score": Shown(None, failed=int(lost.sum()))}
        theirs = found.as_published.get(name) if found else None
        return {
            "score": Shown(
                score.value,
                low=score.low,
                high=score.high,
                failed=int(lost.sum()),
                published=theirs.ends if theirs and theirs.method != score.method else None,
                reason=score.reason,
            )
        }
    if table.returns == "return":
        values = [of[~np.isnan(of)] for of in last.T]
        means = [mean_sd(of) for of in values]
        return {
            environment: Shown(
                mean.mean, sd=mean.sd, failed=int(lost[at]), no_episode=int(silent[at]), values=values[at].tolist()
            )
            for at, (environment, mean) in enumerate(zip(table.bodies, means, strict=True))
        }
    change = gap_change(ends[:, 0], ends[:, 1])
    summary = gap_summary(change.change, gap.level)
    columns = {}
    for at, environment in enumerate(table.bodies):
        found_at = interval(change.change[:, at], method=gap)
        half = None if found_at.ends is None else float(summary.half[at])
        lost_at, values = int(change.failed[:, at].sum()), change.change[:, at].tolist()
        mean = float(summary.mean[at])
        columns[environment] = Shown(mean, half_width=half, failed=lost_at, reason=found_at.reason, values=values)
    columns["iqm"] = Shown(summary.iqm)
    return {**columns, **({"mean": Shown(summary.overall), "sd": Shown(summary.sd)} if "mean" in table.beside else {})}
