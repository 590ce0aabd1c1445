"""Figures 6 and F1: runs with cycles of bodies, which are trained in turn, cycle after cycle.

Figure 6 has the plasticity score at the end of each stage, Figure F1 the generalization gap at the end of each cycle,
by activation and body.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.figures.drawing import Asked, Drawing, Panel, Series
from analysis.figures.style import MOST
from analysis.names import ACTIVATIONS, BENCHMARKS, BODIES, display
from analysis.rows import Row
from analysis.statistics.interval import Interval, interval
from analysis.statistics.method import MANY, PERCENTILE, Method, Methods, shared, with_coverage
from analysis.statistics.plasticity_score import bounded, spread
from analysis.statistics.returns import FLOOR, Normalised, failed, gaps, normalise, scored
from analysis.statistics.summaries import iqm
from analysis.tables.caption import data_line
from analysis.tables.made_by import made_lines, mixed
from analysis.tables.result import chosen_words
from analysis.tables.scores import PUBLISHED, arms_of, flags_of, selections
from analysis.tables.table import cycle_returns, with_stages, without_episode
from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Arm:
    """Finished runs of one activation at one setting.

    returns: training and test returns, (C cycles, 2, N runs, M bodies); NaN if no test was made.
    """

    label: str
    activation: str
    runs: Sequence[str]
    returns: np.ndarray


@dataclass(frozen=True)
class Cycled:
    """The arms of one selection of runs.  bodies: in training order. rows: one for each run of the selection."""

    title: str
    bodies: Sequence[str]
    arms: Sequence[Arm]
    rows: Sequence[Row]

    @property
    def caption(self) -> list[str]:
        """The caption's sentences: the data of the runs, runs that are not shown, and the code that computed them."""
        whole = {run for arm in self.arms for run in arm.runs}
        absent = Counter(_why_not(row) for row in self.rows if row.run not in whole)
        shown = [row for row in self.rows if row.run in whole]
        mixes = {arm.label: mixed([row for row in shown if row.run in arm.runs]) for arm in self.arms}
        lines = [f"{self.title}: {data_line(self.rows)}."]
        if absent:
            words = ", ".join(f"{many} {what}" for what, many in absent.items())
            lines.append(f"Not shown, of {len(self.rows)} runs: {words}.")
        if flags := flags_of(shown):
            lines.append(f"The runs shown include: {', '.join(f'{many} {what}' for what, many in flags.items())}.")
        return [*lines, *made_lines(shown, mixes)]


def cycled(asked: Asked) -> list[Cycled]:
    """One result for each selection of runs with bodies.  Raises ConfigError if no such run has finished."""
    rows = {row.run: row for row in asked.rows if len(_bodies(row)) > 1}
    rows = {row.run: row for row in with_stages(list(rows.values()), asked.metrics)}
    found = []
    for benchmark in dict.fromkeys(row.benchmark for row in rows.values()):
        for selection, alike in selections([row for row in rows.values() if row.benchmark == benchmark]):
            bodies, arms = _bodies(alike[0]), []
            for label, runs in arms_of(alike).items():
                returns = {row.run: _returns(row, bodies) for row in runs}
                whole = {run: each for run, each in returns.items() if each is not None}
                if whole:
                    name = runs[0].activation
                    shown = label.replace(name, display(ACTIVATIONS, name), 1)
                    arms.append(Arm(shown, name, list(whole), np.stack(list(whole.values()), axis=2)))
            if arms:
                title = f"{display(BENCHMARKS, benchmark)}{chosen_words(selection)}"
                found.append(Cycled(title, bodies, arms, alike))
    if not found:
        raise ConfigError(_nothing(list(rows.values())))
    return found


def _why_not(row: Row) -> str:
    """Why a run is not shown."""
    if row.status != "done":
        return "not finished" if row.status == "waiting" else row.status
    if row.stages is None:
        return "without stored returns by task"
    return "with a task without an ended episode" if without_episode(row) else "that lack a task"


def _nothing(rows: Sequence[Row]) -> str:
    """Why nothing is shown."""
    if not rows:
        return "No run has several bodies in turn, such as a run of benchmark=mujoco_cycle."
    why = ", ".join(f"{many} {what}" for what, many in Counter(map(_why_not, rows)).items())
    return f"No run has a return with each of its bodies: of {len(rows)} runs {why}."


def _returns(row: Row, bodies: Sequence[str]) -> np.ndarray | None:
    """As `cycle_returns`; also None if no episode ended in some task, so the task has no training return."""
    returns = cycle_returns(row, bodies)
    return None if returns is None or np.isnan(returns[:, 0]).any() else returns


def body_name(name: str) -> str:
    """The name in Gymnasium and in the paper, without the version."""
    return display(BODIES, name).partition("-")[0]


def _bodies(row: Row) -> list[str]:
    """Each body once, in their order."""
    named = row.study.get("benchmark.bodies")
    return list(dict.fromkeys(named)) if isinstance(named, Sequence) and not isinstance(named, str) else []


SCORE_IS = (
    "Interquartile mean over seeds of the return over the last 15 % of each stage, normalised; the band is its {}{}. "
    "0 and 1 are percentiles {:g} and {:g} of the runs shown, in the last cycle; a return below "
    "{:g}, or one that is not finite, is a failure and scores 0."
)


def figure_6(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError if no run has finished a cycle of bodies, or no score exists."""
    panels, said, reasons = [], [], []
    for found in cycled(asked):
        made = normalise({arm.label: arm.returns[-1, 0] for arm in found.arms})
        if made.scores is None:
            alike = [body_name(body) for body, low, high in _ends(found, made) if high <= low]
            reasons.append(f"{found.title} has no score: all runs return the same with {', '.join(alike)}.")
            continue
        methods = shared(row.methods for row in found.rows)
        panels += _panels(found, made, methods)
        words = SCORE_IS.format(*_bands(found, methods), *made.percentiles, made.floor)
        said += [words] if words not in said else []
        ends = (f"{body_name(body)} {low:,.1f} and {high:,.1f}" for body, low, high in _ends(found, made))
        said += [f"0 and 1 are {', '.join(ends)}.", *found.caption]
    if not panels:
        raise ConfigError(" ".join(reasons))
    return Drawing("figure6", "Plasticity score over the cycles", panels, [*said, *reasons])


def _bands(found: Cycled, methods: Methods) -> tuple[str, str]:
    """The words for the band, and for the band of the panel with the paper's intervals."""
    method, published = methods["score"], methods.get("published", PERCENTILE)
    runs = min((len(arm.runs) for arm in found.arms if len(arm.runs) > 1), default=MANY)
    ours, theirs = (with_coverage(each, "score", runs, 1) for each in (method, published))
    beside = f"; {PUBLISHED}, the paper's {theirs}, which takes the bounds for given"
    return ours, beside * (method.name != PERCENTILE.name)


def _panels(found: Cycled, made: Normalised, methods: Methods) -> list[Panel]:
    """The scores with their bands, and with the paper's bands."""
    method, published = methods["score"], methods.get("published", PERCENTILE)
    if method.name == PERCENTILE.name:
        return [_panel(found, found.title, _published(found, made, method))]
    return [
        _panel(found, found.title, _by_student(found, made, method)),
        _panel(found, f"{found.title}: {PUBLISHED}", _published(found, made, published)),
    ]


def _panel(found: Cycled, title: str, stages: Sequence[Sequence[Interval]]) -> Panel:
    """stages: the score of each stage, for each arm."""
    lines = []
    for arm, scores in zip(found.arms, stages, strict=True):
        x, y = [*range(1, len(scores) + 1)], [score.number for score in scores]
        n, ends = [len(arm.runs)] * len(scores), [score.ends for score in scores]
        lines.append(Series(arm.label, arm.activation, x, y, n, y_range=ends, runs=arm.runs))
    lines.sort(key=lambda line: -np.mean([float(y) for y in line.y[-len(found.bodies) :]]))
    label = f"stage: {', '.join(map(body_name, found.bodies))} in turn"
    return Panel(title, label, "plasticity score", lines[:MOST], x_whole=True, band=True, labels=True, place="scores")


def _by_student(found: Cycled, made: Normalised, method: Method) -> list[list[Interval]]:
    """The scores, with bounds resampled together with the runs."""
    returns = {arm.label: arm.returns[:, 0] for arm in found.arms}
    drawn = spread(returns, _stages, method, made.floor, made.percentiles)
    intervals = []
    for arm in found.arms:
        values = _stages(scored(arm.returns[:, 0], *made.bounds, made.floor)[None])[0]
        halves = drawn.half_widths(arm.label, method.level)
        runs = (len(arm.runs),)
        intervals.append([bounded(float(v), float(half), runs, method) for v, half in zip(values, halves, strict=True)])
    return intervals


def _stages(scores_RCNM: np.ndarray) -> np.ndarray:
    """The interquartile mean over seeds of each stage: (R, C, N, M) → (R, C · M)."""
    each = iqm(np.moveaxis(scores_RCNM, 2, 3)[..., None])  # (R, C, M, N, 1) → (R, C, M)
    return each.reshape(len(each), -1)


def _published(found: Cycled, made: Normalised, method: Method) -> list[list[Interval]]:
    """The scores with the paper's intervals: runs are resampled, their scores are not recomputed."""
    intervals = []
    for arm in found.arms:
        scores_SN = np.moveaxis(scored(arm.returns[:, 0], *made.bounds, made.floor), 1, 2).reshape(-1, len(arm.runs))
        intervals.append(
            [interval(scores, "iqm", method, name=f"{arm.label} {at}") for at, scores in enumerate(scores_SN)]
        )
    return intervals


def _ends(found: Cycled, made: Normalised) -> Iterator[tuple[str, float, float]]:
    """Each body, with the returns that became 0 and 1."""
    return zip(found.bodies, *made.bounds, strict=True)


GAP_IS = (
    "Generalization gap at the end of each cycle: the return over the last 15 % of a stage minus the test's return "
    "under other frictions, the mean over seeds. Above 0 (orange) training is better, below 0 (green) the test."
)


def figure_f1(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError if no run has finished a cycle of bodies, or none was tested."""
    panels, said = [], [GAP_IS]
    several = cycled(asked)
    for found in several:
        tested = [arm for arm in found.arms if not np.isnan(arm.returns[:, 1]).all()]
        if not tested:
            continue
        of = f" · {found.title}" if len(several) > 1 else ""
        cycles = [f"cycle {cycle + 1}" for cycle in range(tested[0].returns.shape[0])]
        for at, body in enumerate(found.bodies):
            series = [_row(arm, at, cycles) for arm in tested]
            title = f"{body_name(body)}{of}"
            panels.append(Panel(title, "", "gap (return)", series, x_categories=cycles, heat="around 0"))
        lost = sum(int(failed(arm.returns).any(axis=1).sum()) for arm in tested)
        if lost:
            said.append(
                f"{lost} gaps of runs count as 0 because training or test failed (below {FLOOR:g}, or not finite); "
                "–: the gaps of every run do."
            )
        said += found.caption
    if not panels:
        raise ConfigError("No run was tested after its stages; benchmark.test_episodes says how often.")
    return Drawing("figureF1", "Generalization gap by cycle", panels, said)


def _row(arm: Arm, body: int, cycles: list[str]) -> Series:
    gap_CN = gaps(arm.returns[:, 0], arm.returns[:, 1])[:, :, body]
    lost_C = np.any(failed(arm.returns), axis=1)[:, :, body].all(axis=1)  # a 0 would look like a gap that is closed
    y, n = np.where(lost_C, np.nan, gap_CN.mean(axis=1)).tolist(), [len(arm.runs)] * len(cycles)
    return Series(arm.label, arm.activation, cycles, y, n, runs=arm.runs, joined=False, listed=False)
