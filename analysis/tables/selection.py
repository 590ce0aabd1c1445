"""The best setting of each activation, as the paper chooses it, and how much of its mean is luck.

Settings are compared as `hyperparams=selected` compares them: on the seeds that the most runs have, by the mean of a
metric, by the same function. A setting that diverged on one of these seeds cannot win.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.metrics import metric
from analysis.names import ACTIVATIONS, BENCHMARKS, display
from analysis.outcomes import ended, why_none
from analysis.rows import Row, key, varying
from analysis.setting_words import telling, words_of
from analysis.statistics.selection import best_setting, compared_on
from analysis.statistics.selection_bias import SelectionBias, selection_bias
from analysis.statistics.summaries import MeanSD, mean_sd
from analysis.tables.made_by import mixed
from plasticity_lab.records.measures import Measure

BY = ("benchmark", "protocol", "schedule", "intervention")


@dataclass(frozen=True)
class Selected:
    """The best setting of an activation among runs that differ in nothing but their own settings and seeds.

    selection: benchmark, protocol, schedule and intervention. label: of the benchmark, with the settings in which its
    runs differ from others of it. own: the best setting; varied: the keys in which the compared ones differ. ours: its
    mean ± SD in the metric's unit, over the seeds that it was chosen on; bias: how much of that is luck. settings: how
    many were compared; left_out: how many lack some of these seeds; without: how many have no value on one of them, and
    cannot win. runs: those of the best. rows: of all that took
    part; mixed: in what the making of the best one's runs differs, as `made_by.mixed` has it. stopped: how many runs a
    search has stopped early, whose settings cannot win.
    """

    activation: str
    selection: Mapping[str, str]
    label: str
    measure: Measure
    own: Mapping[str, Any]
    varied: Sequence[str]
    ours: MeanSD
    bias: SelectionBias
    settings: int
    left_out: int
    without: int
    runs: Sequence[str]
    rows: Sequence[Row]
    mixed: Mapping[str, Mapping[str, int]]
    stopped: int = 0

    @property
    def name(self) -> str:
        """The label as people read it."""
        benchmark = self.selection["benchmark"]
        return self.label.replace(benchmark, display(BENCHMARKS, benchmark), 1)


def selections(rows: Sequence[Row], metric_name: str | None = None) -> list[Selected]:
    """One for each activation × benchmark × intervention that has two settings or more to choose between.

    metric_name: by which; None: what the runs' agent names first. Runs that were only asked for as `selected` report a
    selection, and take part in none.
    """
    found = []
    stopped = _groups(rows, metric_name, ("stopped",))
    for place, by_run in sorted(_groups(rows, metric_name).items()):
        *names, label, activation, _ = place
        of = _selected(activation, dict(zip(BY, names, strict=True)), label, list(by_run.values()), metric_name)
        found += [replace(of, stopped=len(stopped.get(place, ())))] if of else []
    return found


def without_winner(rows: Sequence[Row], metric_name: str | None = None) -> list[str]:
    """Of which activations several settings were tried and none can be chosen, and why, a sentence each."""
    lines = []
    for (*names, label, activation, metric_of), by_run in sorted(_groups(rows, metric_name).items()):
        runs, chosen = list(by_run.values()), dict(zip(BY, names, strict=True))
        measure = metric(metric_of, [runs[0].declared])
        of_setting, results = _results(runs, measure)
        why = why_none(ended(runs), metric_of)
        if len(of_setting) > 1 and why and best_setting(results, measure.better) is None:
            shown = label.replace(chosen["benchmark"], display(BENCHMARKS, chosen["benchmark"]), 1)
            lines.append(
                f"No choice for {display(ACTIVATIONS, activation)} on {shown}: of {len(of_setting)} settings none "
                f"has a value on all seeds; {why}."
            )
    return lines


def _groups(
    rows: Sequence[Row], metric_name: str | None, statuses: Sequence[str] = ("done", "diverged")
) -> dict[tuple[str, ...], dict[str, Row]]:
    """Selection, label, activation and metric → the runs among which is chosen, by their ids."""
    labels = _labels(rows)
    groups: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        measure = metric(metric_name or row.declared.headline, [row.declared])
        if row.hyperparams != "selected" and measure.better and row.status in statuses:
            label = labels[*_selection(row), id(row.study)]
            place = (*_selection(row), label, row.activation, measure.name)
            groups.setdefault(place, {})[row.run] = row
    return groups


def _selected(
    activation: str, selection: Mapping[str, str], label: str, rows: Sequence[Row], metric_name: str | None
) -> Selected | None:
    measure = metric(metric_name or rows[0].declared.headline, [rows[0].declared])
    of_setting, results = _results(rows, measure)
    best = best_setting(results, measure.better)
    if best is None or best.settings < 2:
        return None
    seeds, settings = compared_on(results)
    lost = sum(any(results[word][seed] is None for seed in seeds) for word in settings)
    values = np.array([[_number(results[word][seed]) for seed in seeds] for word in settings])
    winners = sorted((row for row in of_setting[best.setting] if _seeds(row) in seeds), key=_seeds)
    return Selected(
        activation=activation,
        selection=selection,
        label=label,
        measure=measure,
        own=winners[0].own,
        varied=varying(of_setting[word][0].own for word in settings),
        ours=mean_sd([_number(_value(row, measure)) for row in winners]),
        bias=selection_bias(values, f"{activation} on {label}", measure.better),
        settings=best.settings,
        left_out=best.left_out,
        without=lost,
        runs=tuple(row.run for row in winners),
        rows=rows,
        mixed=mixed(winners),
    )


def _results(
    rows: Sequence[Row], measure: Measure
) -> tuple[dict[str, list[Row]], dict[str, dict[tuple[int, int], float | None]]]:
    """By setting: its runs, and its value at each seed."""
    of_setting: dict[str, list[Row]] = {}
    for row in rows:
        of_setting.setdefault(key(row.own), []).append(row)
    return of_setting, {word: {_seeds(row): _value(row, measure) for row in of} for word, of in of_setting.items()}


def _labels(rows: Sequence[Row]) -> dict[tuple[Any, ...], str]:
    """Selection and id of a study → the benchmark, with the settings in which it differs from others selected alike."""
    alike: dict[tuple[str, ...], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        alike.setdefault(_selection(row), {})[id(row.study)] = row.study
    labels = {}
    for selection, studies in alike.items():
        differing = telling(studies.values())
        for which, study in studies.items():
            words = words_of(study, differing)
            labels[*selection, which] = f"{selection[0]} ({words})" if words else selection[0]
    return labels


def _selection(row: Row) -> tuple[str, ...]:
    return tuple(getattr(row, name) for name in BY)


def _seeds(row: Row) -> tuple[int, int]:
    """The seeds of its tasks and of its weights."""
    seed, stream, init = row.seeds
    return (seed if stream is None else stream, seed if init is None else init)


def _value(row: Row, measure: Measure) -> float | None:
    value = row.summary.get(measure.name) if row.status == "done" else None
    return None if value is None else value * measure.scale


def _number(value: float | None) -> float:
    return np.nan if value is None else value
