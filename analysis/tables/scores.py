"""Tables over several environments: returns, plasticity scores and changes of the generalization gap, by activation.

A run's summary holds a value for each environment under `<name>/<environment>`, as in `final_return/Ant-v5`. No agent
of this version has runs over these environments: the tables are laid out and tested on rows made by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.conf import has
from analysis.rows import Row, key, varying
from analysis.statistics.bootstrap import Estimate, bootstrap
from analysis.statistics.gap import gap_change
from analysis.statistics.interval import mean_interval
from analysis.statistics.iqm import iqm
from analysis.statistics.normalise import FLOOR, Normalised, failed, normalise
from analysis.statistics.summaries import mean_sd
from analysis.tables.made_by import mixed
from analysis.tables.selected import words_of

Kind = Literal["return", "score", "gap"]
SELECTED_BY = ("protocol", "schedule", "hyperparams", "intervention")


@dataclass(frozen=True)
class ScoreTable:
    """The declaration of a table over environments.

    kind: what a cell shows. return: mean ± SD over seeds in each environment. score: the interquartile mean of
    normalised returns over seeds and environments, with its 95 % interval. gap: the change of the gap from the first
    cycle to the last, mean ± half-width of its 95 % interval in each environment, then IQM, mean and SD over them.
    values: the names of a run's summary that it is made of; for gap those of training and of test in the first cycle,
    then in the last. activations: of its rows; all, where nothing is said. across: whether a gap has mean and SD too.
    """

    name: str
    title: str
    kind: Kind
    values: Sequence[str]
    environments: Sequence[str]
    reported: str
    source: str
    benchmark: str
    activations: Sequence[str] = ()
    across: bool = False
    experiment: str | None = None


@dataclass(frozen=True)
class Shown:
    """A number of ours: the value, what stands behind ± or between brackets, and how many runs of it failed."""

    value: float | None
    sd: float | None = None
    half_width: float | None = None
    low: float | None = None
    high: float | None = None
    failed: int = 0


@dataclass(frozen=True)
class Arm:
    """The numbers of an activation at one setting by column; of how many runs, of how many that should be there, how
    many diverged. mixed: in what their making differs, as `made_by.mixed` has it.
    """

    activation: str
    columns: Mapping[str, Shown]
    n: int
    expected: int
    diverged: int
    mixed: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Scores:
    """The arms of one selection of runs, by their labels: the activation, with what tells it from others of it.

    bounds: what the scores were normalised by, of a table of scores.
    """

    selection: Mapping[str, str]
    arms: Mapping[str, Arm]
    rows: Sequence[Row]
    bounds: Normalised | None = None


def scores(table: ScoreTable, rows: Sequence[Row]) -> list[Scores]:
    """One for each selection of the table's runs, and for each way in which their settings differ otherwise."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.benchmark == table.benchmark and (not table.activations or row.activation in table.activations):
            place = (*(getattr(row, name) for name in SELECTED_BY), key(row.study))
            groups.setdefault(place, []).append(row)
    return [
        _scores(table, dict(zip(SELECTED_BY, names, strict=True)), alike)
        for (*names, _), alike in sorted(groups.items())
    ]


def in_this_version(table: ScoreTable) -> bool:
    """Whether its runs can be trained."""
    return has("benchmark", table.benchmark)


def _scores(table: ScoreTable, selection: Mapping[str, str], rows: Sequence[Row]) -> Scores:
    by_arm = _arms(list({row.run: row for row in rows}.values()))
    whole = {name: [row for row in runs if _is_whole(table, row)] for name, runs in by_arm.items()}
    values = {name: _values(table, runs) for name, runs in whole.items() if runs}
    bounds = None
    if table.kind == "score" and values:
        bounds = normalise({name: arm[0] for name, arm in values.items()})
    most = max(len(runs) for runs in by_arm.values())
    arms = {
        name: Arm(
            activation=runs[0].activation,
            columns=_columns(table, name, values[name], bounds) if name in values else {},
            n=len(whole[name]),
            expected=len(runs) if all(row.planned for row in runs) else most,
            diverged=sum(row.status == "diverged" for row in runs),
            mixed=mixed(whole[name]),
        )
        for name, runs in by_arm.items()
    }
    return Scores(selection, arms, rows, bounds)


def _arms(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The runs by activation and setting: those of different settings are never averaged."""
    of_activation: dict[str, list[Row]] = {}
    for row in rows:
        of_activation.setdefault(row.activation, []).append(row)
    arms: dict[str, list[Row]] = {}
    for name, runs in of_activation.items():
        differing = varying(row.own for row in runs)
        for row in runs:
            words = words_of(row.own, differing)
            arms.setdefault(f"{name} ({words})" if differing else name, []).append(row)
    return arms


def _is_whole(table: ScoreTable, row: Row) -> bool:
    names = [f"{value}/{environment}" for value in table.values for environment in table.environments]
    return row.status == "done" and all(row.summary.get(name) is not None for name in names)


def _values(table: ScoreTable, rows: Sequence[Row]) -> np.ndarray:
    """(values, N seeds, M environments)."""
    return np.array(
        [
            [[row.summary[f"{value}/{environment}"] for environment in table.environments] for row in rows]
            for value in table.values
        ]
    )


def _columns(table: ScoreTable, name: str, values_VNM: np.ndarray, bounds: Normalised | None) -> dict[str, Shown]:
    if table.kind == "score":
        return {"score": _score(name, values_VNM[0], bounds)}
    if table.kind == "return":
        lost = failed(values_VNM[0]).sum(axis=0)
        means = [mean_sd(values_VNM[0][:, at]) for at in range(len(table.environments))]
        return {
            environment: Shown(means[at].mean, sd=means[at].sd, failed=int(lost[at]))
            for at, environment in enumerate(table.environments)
        }
    first_train, first_test, last_train, last_test = values_VNM
    change = gap_change(np.stack([first_train, last_train]), np.stack([first_test, last_test]))
    columns = {}
    for at, environment in enumerate(table.environments):
        interval = mean_interval(change.change[:, at])
        columns[environment] = Shown(
            interval.mean, half_width=interval.half_width, failed=int(change.failed[:, at].sum())
        )
    means_M = change.change.mean(axis=0)
    columns["iqm"] = Shown(float(iqm(means_M[None, :])))
    if table.across:
        over = mean_sd(means_M)
        columns |= {"mean": Shown(over.mean), "sd": Shown(over.sd)}
    return columns


def _score(name: str, returns_NM: np.ndarray, bounds: Normalised | None) -> Shown:
    lost = int((failed(returns_NM, FLOOR)).sum())
    if bounds is None or bounds.scores is None:
        return Shown(None, failed=lost)
    estimate: Estimate = bootstrap(iqm, bounds.scores[name], name=name)
    return Shown(estimate.value, low=estimate.low, high=estimate.high, failed=lost)
