"""Figure 4: the effect of shocks against the dead band of each activation, all factors together."""

from statistics import fmean

from analysis.figures.drawing import Asked, Drawing, Panel, with_unit
from analysis.figures.groups import caption, correlation_said, means
from analysis.figures.shocks.shocked import ShockedRun, shocked, values_of
from analysis.names import ACTIVATIONS, display
from plasticity_lab.records.shocks import SUMMARIES

SHOWN = {
    "shock_ausc": "dead-band width and area under the saturation curve",
    "shock_half": "dead-band width and recovery time",
    "shock_unrecovered": "dead-band width and non-recovery rate",
}
"""Summary → the name of its correlation in `claims_correlations.csv`."""


def figure_4(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError if no shock is measured."""
    found = shocked(asked)
    panels, said = [], []
    for each in found:
        runs_of: dict[str, list[ShockedRun]] = {}
        bands: dict[str, float] = {}
        for run in each.runs:
            if run.shape is not None:
                runs_of.setdefault(run.row.activation, []).append(run)
                bands.setdefault(run.row.activation, run.shape.dead_band)
        several = f" · {each.group.title}" if len(found) > 1 else ""
        for metric, words in SHOWN.items():
            values = {name: values_of(runs, metric) for name, runs in runs_of.items()}
            values = {name: of for name, of in values.items() if of}
            measure = SUMMARIES[metric]
            series = [
                means(display(ACTIVATIONS, name), name, [(bands[name], of)], scale=measure.scale, joined=False)
                for name, of in values.items()
            ]
            label = with_unit(measure.label, measure)
            panels.append(Panel(f"{measure.title}{several}", "dead band (share of [−100, 100])", label, series))
            x, y = [bands[name] for name in values], [fmean(of) for of in values.values()]
            said.append(correlation_said("Figure 4", words, x, y, "activations", each.group.title))
        said.append(each.said)
        if missing := sorted({run.row.activation for run in each.runs if run.shape is None}):
            said.append(f"{each.group.title}: no dead band is derived of {', '.join(missing)} at these settings.")
    first = (
        "Dead band: the share of [−100, 100] with |φ′| < 0.001, for the activation at the runs' settings. Means over "
        "runs and all factors; the bars are ± 1 SD over runs."
    )
    rows = [run.row for each in found for run in each.runs]
    text = [*caption([each.group for each in found], rows, first), *said]
    return Drawing("figure4", "Dead bands and shocks", panels, text)
