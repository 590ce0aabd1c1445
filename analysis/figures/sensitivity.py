"""How what runs come to depends on one of their settings: a line for each activation over the values of the setting."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, TypeGuard

from analysis.conf import groups as choices
from analysis.figures.asked import Asked
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, groups
from analysis.figures.style import MOST
from analysis.names import ACTIVATIONS, display
from analysis.outcomes import ended, why_none
from analysis.rows import NAMED_BY_THE_ASKER, SEEDS, Row, key, varying
from analysis.setting_words import telling, words_of
from analysis.tables.declared.headline import HEADLINE
from analysis.tables.result import Cell
from plasticity_lab.errors import ConfigError

WIDE, TICKS = 10.0, 8
"""The axis is logarithmic where the largest value is more than `WIDE` times the smallest; up to `TICKS` values have
marks of their own."""


def sensitivity(asked: Asked) -> Drawing:
    """The figure: a panel for each set of runs that share all but activation, its settings, the seed and this setting.

    Raises ConfigError where the setting is not said, or nothing was tried of it but one value.
    """
    by = _setting(asked)
    having = [row for row in asked.rows if by in row.own or by in row.study]
    panels_of: dict[str, list[Row]] = {}
    for row in having:
        study = {name: value for name, value in row.study.items() if name != by}
        named = [row.benchmark, row.protocol, row.schedule, row.hyperparams, row.intervention]
        panels_of.setdefault(key({"named": named, "study": study}), []).append(row)
    drawn, studies, found, most = [], [], [], 0
    for rows in panels_of.values():
        lines, used = _lines(rows, by, asked.metric)
        lines, most = lines[:MOST], max(most, len(lines))
        if sum(len(line.x) for line in lines) > len(lines):
            drawn.append((used[0], lines))
            studies.append(_study(rows[0], by))
            found += used
    if not drawn:
        raise ConfigError(_nothing(by, list(panels_of.values()), asked.metric))
    said = f"Mean over seeds, ± 1 SD, at each value of {by} that was tried."
    panels = [
        _panel(title, group, lines, by) for title, (group, lines) in zip(_titles(drawn, studies), drawn, strict=True)
    ]
    left_out = [f"Of {most} lines a panel the {MOST} with the best are shown."] if most > MOST else []
    return Drawing("sensitivity", f"Sensitivity to {by}", panels, [*caption(found, having, said), *left_out])


def _nothing(by: str, panels: Sequence[Sequence[Row]], metric: str | None) -> str:
    """Why there is no line: one value alone was tried, or the runs at all others have no value of the metric."""
    sentence = f"Of {by} no finished runs of one benchmark have more than one value; sweep it, as in {by}=A,B."
    tried = [rows for rows in panels if len({key({"value": _value(row, by)}) for row in rows}) > 1]
    why = [why_none(ended(rows), metric or rows[0].declared.headline) for rows in tried]
    if not any(why):
        return sentence
    return f"Of {by} no runs at two values have a value to show: {'; '.join(filter(None, why))}."


def _value(row: Row, by: str) -> Any:
    return row.own.get(by, row.study.get(by))


def varied(rows: Sequence[Row]) -> list[str]:
    """The settings in which runs of one activation on one benchmark under one intervention differ."""
    alike: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        alike.setdefault((row.activation, row.benchmark, row.intervention), []).append({**row.study, **row.own})
    return sorted({name for settings in alike.values() for name in varying(settings)})


def _setting(asked: Asked) -> str:
    """The setting of which the figure is: the named one, or the only one in which runs differ."""
    vary = varied(asked.rows)
    if asked.by is None and len(vary) == 1:
        return vary[0]
    there = (
        f"the runs here differ in {', '.join(vary)}"
        if vary
        else "the runs here differ in no setting of one choice; sweep one, as optimizer.lr=1e-3,1e-4"
    )
    if asked.by is None:
        raise ConfigError(f"The figure sensitivity needs the setting, as in --by optimizer.lr; {there}.")
    if any(asked.by in row.own or asked.by in row.study for row in asked.rows):
        return asked.by
    name = asked.by.removesuffix(".name")
    if name in SEEDS:
        raise ConfigError(f"Runs of different {name} are replicates, and the figure takes the mean over them; {there}.")
    if name in (*NAMED_BY_THE_ASKER, *choices()):
        raise ConfigError(
            f"{name} is a choice, and no setting of one: `python -m analysis compare --by {name}` compares choices; "
            f"{there}."
        )
    raise ConfigError(f"No run has the setting '{asked.by}'; {there}.")


def _lines(rows: Sequence[Row], by: str, metric: str | None) -> tuple[list[Series], list[Group]]:
    """A line for each activation with its other settings, the best first; and the tables' cells that its points are."""
    alike: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        rest = {name: value for name, value in row.own.items() if name != by}
        value = _value(row, by)
        alike.setdefault((row.activation, key(rest)), {}).setdefault(key({"value": value}), []).append(row)
    lines, used = [], []
    for (activation, _), by_value in alike.items():
        points = []
        for same in by_value.values():
            (group,) = groups(HEADLINE, same, metric)
            ((_, cell),) = group.cells
            used.append(group)
            points.append((_value(same[0], by), cell))
        others = [one for one, _ in alike if one == activation]
        label = display(ACTIVATIONS, activation)
        if len(others) > 1:
            label = f"{label} ({_words(activation, next(iter(by_value.values()))[0], rows, by)})"
        if line := _line(label, activation, points):
            lines.append(line)
    return sorted(lines, key=lambda line: -max(line.y)), used


def _words(activation: str, row: Row, rows: Sequence[Row], by: str) -> str:
    """The settings in which the lines of an activation differ."""
    names = varying(one.own for one in rows if one.activation == activation)
    return words_of(row.own, [name for name in names if name != by])


def _line(label: str, activation: str, points: Sequence[tuple[Any, Cell]]) -> Series | None:
    there = [(value, cell.mean, cell) for value, cell in points if cell.mean is not None]
    if not there:
        return None
    there.sort(key=lambda of: _order(of[0]))
    return Series(
        label=label,
        key=activation,
        x=[value for value, _, _ in there],
        y=[mean for _, mean, _ in there],
        y_sd=[cell.sd for _, _, cell in there],
        n=[cell.n for _, _, cell in there],
        runs=[run for _, _, cell in there for run in cell.runs],
        marker="own",
    )


def _study(row: Row, by: str) -> dict[str, Any]:
    """What the runs of a panel share, beside the benchmark."""
    named = {name: getattr(row, name) for name in ("protocol", "schedule", "hyperparams")}
    rest = {name: value for name, value in row.study.items() if name not in (by, "benchmark.name")}
    return {**named, "intervention.name": row.intervention, **rest}


def _titles(drawn: Sequence[tuple[Group, Sequence[Series]]], studies: Sequence[Mapping[str, Any]]) -> list[str]:
    """A panel's benchmark, and where several are of one: in what they differ."""
    titles = []
    for (group, _), study in zip(drawn, studies, strict=True):
        name = group.column.name
        alike = [other for (one, _), other in zip(drawn, studies, strict=True) if one.column.name == name]
        words = words_of(study, telling(alike))
        titles.append(f"{group.title} · {words}" if words else group.title)
    return titles


def _panel(title: str, group: Group, lines: Sequence[Series], by: str) -> Panel:
    values = sorted({value for line in lines for value in line.x}, key=_order)
    numbers = [value for value in values if _is_number(value)]
    are_numbers = len(numbers) == len(values)
    wide = are_numbers and numbers[0] > 0 and numbers[-1] > WIDE * numbers[0]
    metric = group.result.metric
    unit = f" ({metric.unit})" if metric.unit else ""
    return Panel(
        title=title,
        x_label=by,
        y_label=f"{metric.label}{unit}",
        series=lines if are_numbers else [replace(line, x=[str(value) for value in line.x]) for line in lines],
        x_categories=() if are_numbers else [str(value) for value in values],
        x_log=wide,
        x_ticks=numbers if are_numbers and len(values) <= TICKS else (),
        labels=True,
    )


def _order(value: Any) -> tuple[bool, float, str]:
    return (False, float(value), "") if _is_number(value) else (True, 0.0, str(value))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
