"""Figure C1: accuracy against dead units and against gradient norms; each point is a run."""

from collections.abc import Mapping, Sequence

from analysis.figures.asked import Asked
from analysis.figures.correlated import correlation_said
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, headline_groups
from analysis.figures.slopes import DEAD
from analysis.names import ACTIVATIONS, display, metric
from analysis.reported.reported import lines
from analysis.rows import Row
from plasticity_lab.errors import ConfigError

AGAINST = {DEAD: "accuracy and dead units", "gradient_norm": "accuracy and gradient norms"}
"""Summary of a diagnostic → what `claims_correlations.csv` calls its correlation."""


def figure_c1(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError where no finished run has dead units or a gradient norm."""
    row_of = {row.run: row for row in asked.rows}
    panels: list[Panel] = []
    said: list[str] = []
    drawn: list[Group] = []
    for group in headline_groups(asked):
        done = [row_of[run] for _, cell in group.cells for run in cell.done]
        before = len(panels)
        for name, words in AGAINST.items():
            there = [row for row in done if row.summary.get(name) is not None and _accuracy(row) is not None]
            if there:
                panels.append(_panel(group, there, name))
                x, y = [row.summary[name] for row in there], [_accuracy(row) or 0.0 for row in there]
                said.append(correlation_said("Figure C1", words, x, y, "runs", group.title))
                said += _claims(group, there) if name == DEAD else []
        drawn += [group] if len(panels) > before else []
    if not panels:
        raise ConfigError("No finished run has dead units or a gradient norm; diagnostics=case_studies measures both.")
    first = "Each point is a run, when its last task had ended. Norms are those of the gradient on a probe, not scaled."
    return Drawing("figureC1", "What goes with accuracy", panels, [*caption(drawn, asked.rows, first), *said])


def _accuracy(row: Row) -> float | None:
    return row.summary.get(row.declared.headline)


def _panel(group: Group, rows: Sequence[Row], name: str) -> Panel:
    declared = [row.declared for row in rows]
    x, y = metric(name, declared), metric(declared[0].headline, declared)
    by_activation: dict[str, list[Row]] = {}
    for row in rows:
        by_activation.setdefault(row.activation, []).append(row)
    series = [
        Series(
            label=display(ACTIVATIONS, activation),
            key=activation,
            x=[row.summary[name] * x.scale for row in of],
            y=[(_accuracy(row) or 0.0) * y.scale for row in of],
            n=[1] * len(of),
            runs=[row.run for row in of],
            joined=False,
            marker="own",
        )
        for activation, of in by_activation.items()
    ]
    across, up = (f"{each.title}{f' ({each.unit})' if each.unit else ''}" for each in (x, y))
    return Panel(group.title, across, up, series)


def _claims(group: Group, rows: Sequence[Row]) -> list[str]:
    """What the text says of accuracy where few and where many units are dead, beside the runs here."""
    said = []
    for line in lines("claims_dead_units.csv"):
        if line["of"] == "accuracy":
            low, high = float(line["from"]), float(line["to"])
            inside = [row for row in rows if low <= 100 * row.summary[DEAD] <= high]
            said.append(f"{group.title}. {line['said_in']}: {_words(line)}; here {_range(inside)}.")
    return said


def _words(line: Mapping[str, str]) -> str:
    return f"accuracy {line['said']} % with {line['from']} to {line['to']} % of units dead"


def _range(rows: Sequence[Row]) -> str:
    if not rows:
        return "no run"
    scale = metric(rows[0].declared.headline, [rows[0].declared]).scale
    values = sorted((_accuracy(row) or 0.0) * scale for row in rows)
    return f"{values[0]:.1f} to {values[-1]:.1f} % over {len(values)} runs"
