"""The W&B dashboard as code: learning curves, TAOA, generalization gap and cost, by activation."""

import json
from typing import Any

import wandb_workspaces.reports.v2 as panels
import wandb_workspaces.workspaces as workspaces

ACTIVATION = "config.activation.name"
MOST = 100
"""How many lines or bars one panel may show."""


def dashboard(entity: str, project: str, benchmark: str | None = None) -> workspaces.Workspace:
    """The dashboard of a project: of the runs of one benchmark, or of all.  Needs neither network nor key."""
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=f"plasticity_lab · {benchmark or 'all benchmarks'}",
        sections=[
            _section(
                "Learning curves by activation",
                _curve("Online accuracy of each task", "task", "task/aoa"),
                _curve("Accuracy after each task, held-out", "task", "task/final_accuracy"),
                _curve("Online accuracy of each epoch", "epoch", "epoch/aoa"),
                _curve("Training loss of each epoch", "epoch", "epoch/train_loss"),
            ),
            _section(
                "TAOA by activation",
                _bars("TAOA: mean online accuracy of all tasks", "taoa"),
                _bars("Online accuracy of the first tenth of tasks", "aoa_first_tenth"),
                _bars("Online accuracy of the last tenth of tasks", "aoa_last_tenth"),
                _bars("Trend: change of online accuracy a task", "aoa_slope"),
            ),
            _section(
                "Generalization gap by activation",
                _bars("GAP: final − online accuracy (positive is healthy)", "gap"),
                _bars("Final accuracy", "final_accuracy"),
                _points("GAP against TAOA", "taoa", "gap"),
            ),
            _section(
                "Cost",
                _bars("Seconds of a run, its share of its pack's", "seconds"),
                _bars("Parameters", "parameters"),
                _points("TAOA against seconds", "seconds", "taoa"),
            ),
        ],
        settings=workspaces.WorkspaceSettings(max_runs=MOST),
        runset_settings=workspaces.RunsetSettings(
            groupby=[workspaces.Config("activation.name")],
            # W&B stores a nested value below `value`, which the library adds to a grouping but not to a filter; and
            # W&B's pages understand `in` where they ignore `==` (wandb/wandb-workspaces#34).
            filters=f"Config('benchmark.value.name') in ['{benchmark}']" if benchmark else "",
        ),
    )


def as_json(built: workspaces.Workspace) -> dict[str, Any]:
    """What would be sent to W&B."""
    # The library's `save` does the same first; there is no public function for it.
    return json.loads(built._to_model().model_dump_json(by_alias=True, exclude_none=True))


def _section(title: str, *shown: Any) -> workspaces.Section:
    return workspaces.Section(name=title, panels=list(shown), is_open=True)


def _curve(title: str, axis: str, metric: str) -> panels.LinePlot:
    """Mean and standard deviation over runs."""
    by = {"groupby": ACTIVATION, "groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"}
    return panels.LinePlot(title=title, x=axis, y=[metric], max_runs_to_show=MOST, **by)


def _bars(title: str, metric: str) -> panels.BarPlot:
    by = {"groupby": ACTIVATION, "groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"}
    return panels.BarPlot(title=title, metrics=[metric], max_bars_to_show=MOST, **by)


def _points(title: str, x: str, y: str) -> panels.ScatterPlot:
    return panels.ScatterPlot(title=title, x=panels.SummaryMetric(x), y=panels.SummaryMetric(y))
