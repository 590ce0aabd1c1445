"""The W&B dashboard of an agent's measures, as code: learning curves, summaries and cost, by activation."""

import json
from collections.abc import Iterator
from typing import Any

import wandb_workspaces.reports.v2 as panels
import wandb_workspaces.workspaces as workspaces

from launch.tracking.wandb.content import AXIS, SPEED, metrics
from plasticity_lab.records.measures import EVERY_SUMMARY, Declared, Measure

_BY: dict[str, Any] = {
    "groupby": "config.activation.name",
    "groupby_aggfunc": "mean",
    "groupby_rangefunc": "stddev",
}
"""How a panel with lines or bars groups runs."""
MOST = 100
"""The most lines or bars in a panel."""


def dashboard(
    entity: str, project: str, declared: Declared, benchmark: str | None = None, agent: str | None = None
) -> workspaces.Workspace:
    """The dashboard of a project: for one benchmark and agent, or for all runs.  Needs neither network nor key.

    declared: the measures of the runs.
    """
    chosen = {"benchmark": benchmark, "agent": agent}
    named = {group: name for group, name in chosen.items() if name}
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=" · ".join(["plasticity_lab", benchmark or "all benchmarks", *([agent] if agent else [])]),
        sections=[
            _section("Learning curves by activation", *_curves(declared)),
            _section("Summaries by activation", *_summaries(declared)),
            _section(
                "Cost",
                *(_bars(measure) for measure in (*EVERY_SUMMARY, Measure(SPEED, "Steps per second"))),
                _points(declared.summaries[declared.headline], declared.summaries["seconds"]),
            ),
        ],
        settings=workspaces.WorkspaceSettings(max_runs=MOST),
        runset_settings=workspaces.RunsetSettings(
            groupby=[workspaces.Config("activation.name")],
            # W&B stores a nested value below `value`, which the library adds to a grouping but not to a filter. W&B's
            # pages ignore `==` in filters, but understand `in` (wandb/wandb-workspaces#34).
            filters=" and ".join(f"Config('{group}.value.name') in ['{name}']" for group, name in named.items()),
        ),
    )


def as_json(built: workspaces.Workspace) -> dict[str, Any]:
    """The data that would be sent to W&B."""
    # The library's `save` does the same first; there is no public function for it.
    return json.loads(built._to_model().model_dump_json(by_alias=True, exclude_none=True))


def _section(title: str, *shown: Any) -> workspaces.Section:
    return workspaces.Section(name=title, panels=list(shown), is_open=True)


def _curves(declared: Declared) -> Iterator[panels.LinePlot]:
    """For each column, the mean and the standard deviation over runs."""
    by_name = {column.name: column for column in declared.curves}
    for kind, names in metrics(declared).items():
        of = "an epoch's episodes" if kind == "episode" else f"each {kind}"
        for column in [by_name[name] for name in names if name in by_name]:
            title = f"{column.measure.title} of {of}"
            yield panels.LinePlot(title=title, x=AXIS, y=[f"{kind}/{column.name}"], max_runs_to_show=MOST, **_BY)


def _summaries(declared: Declared) -> Iterator[panels.BarPlot | panels.ScatterPlot]:
    """Bars for each measure; a measure without a better direction is also plotted against the main metric."""
    of_agent = [measure for measure in declared.summaries.values() if measure not in EVERY_SUMMARY]
    yield from map(_bars, of_agent)
    yield from (_points(measure, declared.summaries[declared.headline]) for measure in of_agent if not measure.better)


def _bars(measure: Measure) -> panels.BarPlot:
    return panels.BarPlot(title=measure.title, metrics=[measure.name], max_bars_to_show=MOST, **_BY)


def _points(above: Measure, along: Measure) -> panels.ScatterPlot:
    title = f"{above.label} against {along.label}"
    return panels.ScatterPlot(title=title, x=panels.SummaryMetric(along.name), y=panels.SummaryMetric(above.name))
