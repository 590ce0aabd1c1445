"""How a metric depends on one setting of the runs: a line for each activation over the values of the setting."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, TypeGuard

from analysis.conf import groups as choices
from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import Group, caption, groups
from analysis.figures.style import MOST
from analysis.names import ACTIVATIONS, display
from analysis.outcomes import ended, why_none
from analysis.rows import NAMED_BY_THE_ASKER, SEEDS, Row, grouped, key, varying
from analysis.setting_words import telling, words_of
from analysis.tables.declared.means import HEADLINE
from plasticity_lab.errors import ConfigError

WIDE, TICKS = 10.0, 8
"""The axis is logarithmic if the largest value is more than `WIDE` times the smallest. Up to `TICKS` values, each has a
tick."""


def sensitivity(asked: Asked) -> Drawing:
    """The figure: a panel for each set of runs that share all but activation, its settings, the seed and this setting.

    Raises ConfigError if the setting is not given, or only one value of it was tried.
    """
    by = _setting(asked)
    having = [row for row in asked.rows if by in row.own or by in row.study]
    studies = _words_without(by, (row.study for row in having))
    named = ("benchmark", "protocol", "schedule", "hyperparams", "intervention")
    having.sort(key=lambda row: row.intervention != "none")  # its panel is first
    rows_of_panel = grouped(having, lambda row: (*(getattr(row, name) for name in named), studies[id(row.study)]))
    drawn: list[tuple[Group, list[Series], dict[str, Any]]] = []
    found: list[Group] = []
    most = 0
    for rows in rows_of_panel.values():
        lines, used = _lines(rows, by, asked.metric)
        most, lines = max(most, len(lines)), lines[:MOST]
        if sum(len(line.x) for line in lines) > len(lines):
            drawn.append((used[0], lines, _study(rows[0], by)))
            found += used
    if not drawn:
        raise ConfigError(_nothing(by, list(rows_of_panel.values()), asked.metric))
    panels = []
    for group, lines, study in drawn:
        # If a benchmark has several panels, their titles name the settings that differ.
        alike = [other for one, _, other in drawn if one.column.name == group.column.name]
        words = words_of(study, telling(alike))
        panels.append(_panel(f"{group.title} · {words}" if words else group.title, group, lines, by))
    said = f"Mean over seeds, ± 1 SD, at each value of {by} that was tried."
    left_out = [f"Of {most} lines a panel the {MOST} with the best are shown."] if most > MOST else []
    return Drawing("sensitivity", f"Sensitivity to {by}", panels, [*caption(found, having, said), *left_out])


def _nothing(by: str, panels: Sequence[Sequence[Row]], metric: str | None) -> str:
    """The reason why no line can be drawn: one value was tried, or only the runs of one value have the metric."""
    tried = [rows for rows in panels if len({json.dumps(_value(row, by)) for row in rows}) > 1]
    why = [why_none(ended(rows), metric or rows[0].declared.headline) for rows in tried]
    if not any(why):
        return f"Of {by} no finished runs of one benchmark have more than one value; sweep it, as in {by}=A,B."
    return f"Of {by} no runs at two values have a value to show: {'; '.join(filter(None, why))}."


def _words_without(by: str, settings: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """id of settings → the settings without one of them, as a comparable word.

    Rows share equal settings as one object, so each is written once: a store has thousands of rows.
    """
    different = {id(one): one for one in settings}
    return {place: key({name: value for name, value in one.items() if name != by}) for place, one in different.items()}


def _value(row: Row, by: str) -> Any:
    return row.own.get(by, row.study.get(by))


def varied(rows: Sequence[Row]) -> list[str]:
    """The settings that differ between runs with the same activation, benchmark and intervention."""
    alike: dict[tuple[str, ...], dict[tuple[int, int], Mapping[str, Any]]] = {}
    for row in rows:
        settings = alike.setdefault((row.activation, row.benchmark, row.intervention), {})
        if (shared := (id(row.study), id(row.own))) not in settings:
            settings[shared] = {**row.study, **row.own}
    return sorted({name for settings in alike.values() for name in varying(settings.values())})


def _setting(asked: Asked) -> str:
    """The varied setting: the named one, or the only setting that differs between runs."""
    vary = varied(asked.rows)
    if asked.by is None and len(vary) == 1:
        return vary[0]
    differ = f"the runs here differ in {', '.join(vary)}"
    if not vary:
        differ = "the runs here differ in no setting of one choice; sweep one, as optimizer.lr=1e-3,1e-4"
    if asked.by is None:
        raise ConfigError(f"The figure sensitivity needs the setting, as in --by optimizer.lr; {differ}.")
    if any(asked.by in row.own or asked.by in row.study for row in asked.rows):
        return asked.by
    name = asked.by.removesuffix(".name")
    if name in SEEDS:
        raise ConfigError(
            f"Runs of different {name} are replicates, and the figure takes the mean over them; {differ}."
        )
    if name in (*NAMED_BY_THE_ASKER, *choices()):
        raise ConfigError(
            f"{name} is a choice, and no setting of one: `python -m analysis compare --by {name}` compares choices; "
            f"{differ}."
        )
    raise ConfigError(f"No run has the setting '{asked.by}'; {differ}.")


def _lines(rows: Sequence[Row], by: str, metric: str | None) -> tuple[list[Series], list[Group]]:
    """A line for each activation with its other settings, the best first; and the groups of its points."""
    others = _words_without(by, (row.own for row in rows))
    alike: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        values = alike.setdefault((row.activation, others[id(row.own)]), {})
        values.setdefault(json.dumps(_value(row, by)), []).append(row)
    lines, used = [], []
    for (activation, _), by_value in alike.items():
        points = []
        for same in by_value.values():
            (group,) = groups(HEADLINE, same, metric)
            ((_, cell),) = group.cells
            used.append(group)
            if cell.mean is not None:
                points.append((_value(same[0], by), cell))
        label = display(ACTIVATIONS, activation)
        if sum(one == activation for one, _ in alike) > 1:  # its lines differ in other settings
            names = varying(row.own for row in rows if row.activation == activation)
            first = next(iter(by_value.values()))[0]
            label = f"{label} ({words_of(first.own, [name for name in names if name != by])})"
        if points:
            points.sort(key=lambda point: _order(point[0]))
            x, cells = [value for value, _ in points], [cell for _, cell in points]
            y, sd, n = ([getattr(cell, name) for cell in cells] for name in ("mean", "sd", "n"))
            runs = [run for cell in cells for run in cell.runs]
            lines.append(Series(label, activation, x, y, n, y_sd=sd, runs=runs, marker="own"))
    return sorted(lines, key=lambda line: -max(line.y)), used


def _study(row: Row, by: str) -> dict[str, Any]:
    """The settings that the runs of a panel share, except for the benchmark."""
    named = {name: getattr(row, name) for name in NAMED_BY_THE_ASKER}
    rest = {name: value for name, value in row.study.items() if name not in (by, "benchmark.name")}
    return {**named, "intervention.name": row.intervention, **rest}


def _panel(title: str, group: Group, lines: Sequence[Series], by: str) -> Panel:
    values = sorted({value for line in lines for value in line.x}, key=_order)
    label = with_unit(group.result.metric.label, group.result.metric)
    numbers = [value for value in values if _is_number(value)]
    if len(numbers) < len(values):
        named = [replace(line, x=[str(value) for value in line.x]) for line in lines]
        words = [str(value) for value in values]
        return Panel(title, by, label, named, x_categories=words, labels=True, place=group.column.name)
    wide = numbers[0] > 0 and numbers[-1] > WIDE * numbers[0]
    ticks = numbers if len(numbers) <= TICKS else ()
    return Panel(title, by, label, lines, x_log=wide, x_ticks=ticks, labels=True, place=group.column.name)


def _order(value: Any) -> tuple[bool, float, str]:
    return (False, float(value), "") if _is_number(value) else (True, 0.0, str(value))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
