"""The best setting of each activation, chosen as in the paper, and the selection bias in its mean.

Settings are compared as for `hyperparams=selected`: by the mean of a metric, on the set of seeds that compares the most
runs. A setting that diverged on one of these seeds cannot win.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.names import ACTIVATIONS, BENCHMARKS, display, metric
from analysis.outcomes import ended, why_none
from analysis.rows import Row, grouped, key, varying
from analysis.setting_words import telling, words_of
from analysis.statistics.selection import Best, SelectionBias, best_setting, compared_on, selection_bias
from analysis.statistics.summaries import MeanSD, mean_sd
from analysis.tables.caption import data_line, selection_line
from analysis.tables.made_by import made_lines, mixed
from plasticity_lab.records.measures import Measure

BY = ("benchmark", "protocol", "schedule", "intervention")
TAKING_PART = ("done", "diverged", "stopped")


@dataclass(frozen=True)
class Selected:
    """The best setting of an activation among runs that differ only in the activation's settings and in seeds.

    selection: benchmark, protocol, schedule and intervention. label: the benchmark, with the settings that differ from
    other runs on it.
    own: the best setting. varied: the keys that differ between the compared settings.
    ours: the best setting's mean ± SD in the metric's unit, over the seeds of the selection. bias: the selection bias
    in that mean.
    settings: the number of compared settings. left_out: the number of settings that lack some of these seeds. without:
    the number of settings without a value on one of the seeds; they cannot win.
    runs: the ids of the best setting's runs. mixed: differences in how they were computed, from `made_by.mixed`.
    rows: the rows of all settings. stopped: the number of runs that a search stopped early; their settings cannot win.
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
    stopped: int

    @property
    def name(self) -> str:
        """The label with the display name of the benchmark."""
        return shown_label(self.label, self.selection["benchmark"])


Found = tuple[Sequence[Selected], Sequence[str]]
"""The best settings that one table shows, and a sentence for each search without one."""


def selections_by(
    rows: Sequence[Row], metric_name: str | None, table_of: Callable[[Selected], Hashable]
) -> list[Found]:
    """The best settings, one list for each table; the first table also has the searches without a best setting."""
    found, lost = selections(rows, metric_name)
    first, *others = grouped(found, table_of).values() or [[]]
    return [(first, lost), *((several, []) for several in others)]


def selections(rows: Sequence[Row], metric_name: str | None = None) -> Found:
    """The best setting of each activation × benchmark × intervention with at least two settings to choose from.

    metric_name: the metric of the choice; None: the main metric of the runs' agent. Runs that were requested only as
    `selected` report a selection, so they are not used to select.
    """
    labels = _labels(rows)
    groups: dict[tuple[str, ...], dict[tuple[str, bool], Row]] = {}
    for row in rows:
        measure = metric(metric_name or row.declared.headline, [row.declared])
        if row.hyperparams != "selected" and measure.better and row.status in TAKING_PART:
            label = labels[*_selection(row), id(row.study)]
            place = (*_selection(row), label, row.activation, measure.name)
            groups.setdefault(place, {})[row.run, row.status == "stopped"] = row
    found, lost = [], []
    for place in sorted(groups):
        *_, label, activation, name = place
        runs = [row for row in groups[place].values() if row.status != "stopped"]
        if not runs:
            continue
        measure = metric(name, [runs[0].declared])
        of_setting = grouped(runs, lambda row: key(row.own))
        results = {word: {_seeds(row): _value(row, measure) for row in same} for word, same in of_setting.items()}
        best, why = best_setting(results, measure.better), why_none(ended(runs), name)
        if best and best.settings > 1:
            found.append(_selected(label, measure, of_setting, results, best, len(groups[place]) - len(runs)))
        elif best is None and len(of_setting) > 1 and why:
            lost.append(
                f"No choice for {display(ACTIVATIONS, activation)} on {shown_label(label, runs[0].benchmark)}: of "
                f"{len(of_setting)} settings none has a value on all seeds; {why}."
            )
    return found, lost


def _selected(
    label: str,
    measure: Measure,
    of_setting: Mapping[str, Sequence[Row]],
    results: Mapping[str, Mapping[tuple[int, int], float | None]],
    best: Best,
    stopped: int,
) -> Selected:
    rows = [row for same in of_setting.values() for row in same]
    _, settings = compared_on(results)
    values = [[results[word][seed] for seed in best.seeds] for word in settings]
    winners = sorted((row for row in of_setting[best.setting] if _seeds(row) in best.seeds), key=_seeds)
    activation = winners[0].activation
    return Selected(
        activation=activation,
        selection={name: getattr(winners[0], name) for name in BY},
        label=label,
        measure=measure,
        own=winners[0].own,
        varied=varying(of_setting[word][0].own for word in settings),
        ours=mean_sd(np.array([_value(row, measure) for row in winners], dtype=float)),
        bias=selection_bias(np.array(values, dtype=float), f"{activation} on {label}", measure.better),
        settings=best.settings,
        left_out=best.left_out,
        without=sum(None in of_word for of_word in values),
        runs=tuple(row.run for row in winners),
        rows=rows,
        mixed=mixed(winners),
        stopped=stopped,
    )


def shown_label(label: str, benchmark: str) -> str:
    """A label with the display name of its benchmark."""
    return label.replace(benchmark, display(BENCHMARKS, benchmark), 1)


def provenance(found: Sequence[Selected]) -> list[str]:
    """The caption of the compared runs: data, protocol, schedule, code and machine."""
    of_label: dict[str, list[Row]] = {}
    for selected in found:
        of_label.setdefault(selected.name, []).extend(selected.rows)
    return [
        *selection_line(found[0].selection),
        *(f"{label}: {data_line(rows)}." for label, rows in of_label.items()),
        *made_lines(
            [row for rows in of_label.values() for row in rows],
            {f"{display(ACTIVATIONS, selected.activation)} on {selected.name}": selected.mixed for selected in found},
        ),
    ]


def _labels(rows: Sequence[Row]) -> dict[tuple[Any, ...], str]:
    """(selection, id of a study) → the benchmark, with the settings that differ from other studies of the selection."""
    labels = {}
    for selection, alike in grouped(rows, _selection).items():
        studies = {id(row.study): row.study for row in alike}
        differing = telling(studies.values())
        for which, study in studies.items():
            words = words_of(study, differing)
            labels[*selection, which] = f"{selection[0]} ({words})" if words else selection[0]
    return labels


def _selection(row: Row) -> tuple[str, ...]:
    return tuple(getattr(row, name) for name in BY)


def _seeds(row: Row) -> tuple[int, int]:
    """The seeds of the tasks and of the initial weights."""
    seed, stream, init = row.seeds
    return (seed if stream is None else stream, seed if init is None else init)


def _value(row: Row, measure: Measure) -> float | None:
    value = row.summary.get(measure.name) if row.status == "done" else None
    return None if value is None else value * measure.scale
