"""Figures C2 and C3: quantiles of the slopes that PReLU learns, by place and time; and the share of small slopes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from analysis.figures.drawing import Asked, Drawing, Panel, Series
from analysis.figures.groups import Group, caption, groups
from analysis.rows import Row, grouped
from analysis.tables.declared.means import HEADLINE
from plasticity_lab.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

MEDIAN, LOW, HIGH, SMALL = "slope_median", "slope_q25", "slope_q75", "slope_small"
"""Columns of the diagnostic learned_slopes; for a place in the network, its name is appended."""
LINES = {"slope_max": "greatest", MEDIAN: "median", "slope_min": "least"}
SCOPES = {"figureC2": ("neuron",), "figureC3": ("global", "layer")}


def learned_slopes(name: str, asked: Asked) -> Drawing:
    """The figure of its scopes.  Raises ConfigError if no finished run has learned slopes."""
    rows = [row for row in asked.rows if row.own.get("activation.scope") in SCOPES[name]]
    panels: list[Panel] = []
    drawn: list[Group] = []
    for group in groups(HEADLINE, rows):
        by_scope = grouped(group.runs, lambda row: str(row.own["activation.scope"]))
        found = [panel for scope, of in by_scope.items() for panel in _panels(asked, scope, of, name == "figureC2")]
        panels += found
        drawn += [group] if found else []
    if not panels:
        raise ConfigError(
            f"No finished run of PReLU with the scope {' or '.join(SCOPES[name])} has slopes; "
            "diagnostics=case_studies measures them."
        )
    said = (
        "Mean over seeds of quantiles over a place's slopes; the band is from the lower quartile to the upper one. The "
        "zone that Section 3 finds for Leaky-ReLU is 0.6 to 0.9."
    )
    columns = [column for row in rows for column in row.declared.columns if column.name == SMALL]
    epsilons = [f"{title}: that is ε." for title in dict.fromkeys(column.measure.title for column in columns)]
    title = f"Slopes that PReLU learns, scope {' and '.join(SCOPES[name])}"
    return Drawing(name, title, panels, [*caption(drawn, rows, said), *epsilons])


def _panels(asked: Asked, scope: str, rows: Sequence[Row], shows_small: bool) -> list[Panel]:
    """One panel per place, or one for the whole network if all share a slope; and a panel of the small shares."""
    columns = [column.name for column in rows[0].declared.columns if column.name.startswith(MEDIAN)]
    if not columns:
        return []
    runs = [row.run for row in rows]
    means, kind = _means(asked, runs)
    places = [""] if scope == "global" else [place for name in columns if (place := name.removeprefix(MEDIAN))] or [""]
    panels = []
    for place in places:
        greatest, median, least = (_line(means, kind, f"{name}{place}", words, runs) for name, words in LINES.items())
        ends = list(zip(means[f"{LOW}{place}"].to_list(), means[f"{HIGH}{place}"].to_list(), strict=True))
        title = f"PReLU ({scope}){f', {_name(place)}' if place else ''}"
        series = [greatest, replace(median, y_range=ends), least]
        panels.append(Panel(title, kind, "slope", series, x_whole=True, band=True))
    if shows_small and f"{SMALL}{places[0]}" in means.columns:
        series = [_line(means, kind, f"{SMALL}{place}", _name(place) or "network", runs, 100.0) for place in places]
        panels.append(Panel(f"PReLU ({scope}): slopes below ε", kind, "% of slopes", series, x_whole=True))
    return panels


def _name(place: str) -> str:
    return place.lstrip("_")


def _line(means: "pl.DataFrame", kind: str, column: str, label: str, runs: Sequence[str], scale: float = 1.0) -> Series:
    y = [value * scale if value is not None else float("nan") for value in means[column].to_list()]
    return Series(label, label, [at + 1 for at in means[kind].to_list()], y, means["n"].to_list(), runs=list(runs))


def _means(asked: Asked, runs: Sequence[str]) -> tuple["pl.DataFrame", str]:
    """Means over runs by epoch if slopes are measured by epoch, otherwise by task; and "epoch" or "task"."""
    import polars as pl  # half a second to import; other figures do not need it

    read = asked.metrics(runs)
    names = [name for name in read.collect_schema() if name.startswith("slope_")]
    for kind in ("epoch", "task"):
        measured = read.filter((pl.col("kind") == kind) & pl.col(MEDIAN).is_not_null())
        means = measured.group_by(kind).agg(pl.col(names).mean(), n=pl.len()).sort(kind).collect()
        if len(means):
            return means, kind
    return pl.DataFrame(schema={"task": pl.Int64, "n": pl.Int64, **dict.fromkeys(names, pl.Float64)}), "task"


FIGURES: Mapping[str, Callable[[Asked], Drawing]] = {name: partial(learned_slopes, name) for name in SCOPES}
"""Name in the command → figure."""
