"""Figure 4: what shocks leave against the dead band of each activation, all factors together."""

from statistics import fmean, stdev

from analysis.figures.asked import Asked
from analysis.figures.correlated import correlation_said
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import caption
from analysis.figures.shocks.grouped import shape_of
from analysis.figures.shocks.shocked import ShockedGroup, ShockedRun, shocked, values_of
from analysis.names import ACTIVATIONS, display
from plasticity_lab.records.shocks import SUMMARIES

SHOWN = {
    "shock_ausc": "dead-band width and area under the saturation curve",
    "shock_half": "dead-band width and recovery time",
    "shock_unrecovered": "dead-band width and non-recovery rate",
}
"""Summary → what `claims_correlations.csv` calls its correlation."""


def figure_4(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError where no shock is measured."""
    found = shocked(asked)
    panels, said = [], []
    for each in found:
        points = _points(each)
        several = f" · {each.group.title}" if len(found) > 1 else ""
        for metric, words in SHOWN.items():
            there = {name: of for name, of in points.items() if of[metric]}
            bands, means = [points[name]["band"][0] for name in there], [fmean(of[metric]) for of in there.values()]
            panels.append(_panel(metric, there, several))
            said.append(correlation_said("Figure 4", words, bands, means, "activations", each.group.title))
        said.append(each.said)
        if missing := sorted({run.row.activation for run in each.runs if shape_of(run) is None}):
            said.append(f"{each.group.title}: no dead band is derived of {', '.join(missing)} at these settings.")
    first = (
        "Dead band: the share of [−100, 100] with |φ′| < 0.001, of the activation at the runs' settings. Means over "
        "runs and all factors; the bars are ± 1 SD over runs."
    )
    rows = [run.row for each in found for run in each.runs]
    return Drawing(
        "figure4", "Dead bands and shocks", panels, [*caption([each.group for each in found], rows, first), *said]
    )


def _points(found: ShockedGroup) -> dict[str, dict[str, list[float]]]:
    """Activation, as a legend has it → "band", and for each summary the values of its runs."""
    of_name: dict[str, list[ShockedRun]] = {}
    for run in found.runs:
        if shape_of(run) is not None:
            of_name.setdefault(run.row.activation, []).append(run)
    points = {}
    for name, runs in of_name.items():
        values = {metric: values_of(runs, metric) for metric in SHOWN}
        shape = shape_of(runs[0])
        points[name] = {**values, "band": [0.0 if shape is None else shape.dead_band]}
    return points


def _panel(metric: str, points: dict[str, dict[str, list[float]]], several: str) -> Panel:
    measure = SUMMARIES[metric]
    series = [
        Series(
            label=display(ACTIVATIONS, name),
            key=name,
            x=of["band"],
            y=[fmean(of[metric]) * measure.scale],
            y_sd=[stdev(of[metric]) * measure.scale if len(of[metric]) > 1 else None],
            n=[len(of[metric])],
            joined=False,
            marker="own",
        )
        for name, of in points.items()
    ]
    unit = f" ({measure.unit})" if measure.unit else ""
    return Panel(f"{measure.title}{several}", "dead band (share of [−100, 100])", f"{measure.label}{unit}", series)
