"""Figure C1: accuracy against dead units and against gradient norms; each point is a run."""

from collections.abc import Sequence

from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import Group, caption, correlation_said, headline_groups
from analysis.figures.slopes import DEAD
from analysis.names import ACTIVATIONS, display, metric
from analysis.reported.reported import lines
from analysis.rows import Row, grouped
from plasticity_lab.errors import ConfigError

AGAINST = {DEAD: "accuracy and dead units", "gradient_norm": "accuracy and gradient norms"}
"""Summary of a diagnostic → the name of its correlation in `claims_correlations.csv`."""


def figure_c1(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError if no finished run has dead units or a gradient norm."""
    panels: list[Panel] = []
    said: list[str] = []
    drawn: list[Group] = []
    for group in headline_groups(asked):
        before = len(panels)
        for name, words in AGAINST.items():
            rows = [row for row in group.runs if None not in (row.summary.get(name), _accuracy(row))]
            if rows:
                panels.append(_panel(group, rows, name))
                x, y = [row.summary[name] for row in rows], [_accuracy(row) or 0.0 for row in rows]
                said.append(correlation_said("Figure C1", words, x, y, "runs", group.title))
                said += _claims(group, rows) if name == DEAD else []
        drawn += [group] if len(panels) > before else []
    if not panels:
        raise ConfigError("No finished run has dead units or a gradient norm; diagnostics=case_studies measures both.")
    first = "Each point is a run at the end of its last task. Norms are norms of the gradient on a probe, not scaled."
    return Drawing("figureC1", "Correlates of accuracy", panels, [*caption(drawn, asked.rows, first), *said])


def _accuracy(row: Row) -> float | None:
    return row.summary.get(row.declared.headline)


def _panel(group: Group, rows: Sequence[Row], name: str) -> Panel:
    declared = [row.declared for row in rows]
    x, y = metric(name, declared), metric(declared[0].headline, declared)
    series = []
    for activation, runs in grouped(rows, lambda row: row.activation).items():
        label, ids = display(ACTIVATIONS, activation), [row.run for row in runs]
        across, up = ([row.summary[of.name] * of.scale for row in runs] for of in (x, y))
        series.append(Series(label, activation, across, up, [1] * len(runs), runs=ids, joined=False, marker="own"))
    return Panel(group.title, with_unit(x.title, x), with_unit(y.title, y), series)


def _claims(group: Group, rows: Sequence[Row]) -> list[str]:
    """The text's claims on accuracy if few and if many units are dead, and the accuracies of the runs here."""
    said = []
    scale = metric(rows[0].declared.headline, [rows[0].declared]).scale
    for line in lines("claims_dead_units.csv"):
        if line["of"] == "accuracy":
            low, high = float(line["from"]), float(line["to"])
            inside = [row for row in rows if low <= 100 * row.summary[DEAD] <= high]
            values = sorted((_accuracy(row) or 0.0) * scale for row in inside)
            here = f"{values[0]:.1f} to {values[-1]:.1f} % over {len(values)} runs" if values else "no run"
            claim = f"accuracy {line['said']} % with {line['from']} to {line['to']} % of units dead"
            said.append(f"{group.title}. {line['said_in']}: {claim}; here {here}.")
    return said
