"""Figure 1: accuracy, dead units, rank and curvature against the effective negative slope, under each of its laws.

Legend: s̄ = E[φ′(x) | x < 0], whose law of x the paper leaves open.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from analysis.figures.asked import Asked
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, headline_groups
from analysis.names import ACTIVATIONS, display, metric
from analysis.reported.reported import lines
from analysis.rows import Row
from analysis.statistics.parabola import parabola
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Measure

LAWS = {"slope_half_normal": "half-normal", "slope_uniform": "uniform", "slope_probe": "the probe's own"}
DEAD, RANK, CURVATURE = "dead_pairs", "gradient_rank", "lambda_max"
"""Summaries of the diagnostics dead_units, gradient_rank and curvature."""


def figure_1(asked: Asked) -> Drawing:
    """The figure: a row of panels for each law.  Raises ConfigError where no finished run has such a slope."""
    row_of = {row.run: row for row in asked.rows}
    found = headline_groups(asked)
    panels: list[Panel] = []
    drawn: list[Group] = []
    for group in found:
        families = _families(group, row_of)
        if families:
            drawn.append(group)
            several = f" · {group.title}" if len(found) > 1 else ""
            panels += [_panel(families, law, shown, several) for law in LAWS for shown in _shown(families)]
    if not panels:
        raise ConfigError(
            "No finished run has an effective negative slope; diagnostics=case_studies measures it, with what Figure 1 "
            "shows beside it."
        )
    said = (
        "When the last task had ended; mean over seeds, the bars are ± 1 SD. Half-normal: −|N(0, 1)|; uniform: as the "
        "diagnostic's span says; the probe's own: of the pre-activations below 0 on a fixed batch."
    )
    text = caption(drawn, asked.rows, said)
    for group in drawn:
        text += [*_zones(group, _families(group, row_of)), *_claims(group, row_of)]
    return Drawing("figure1", "Negative slopes", panels, text)


def _families(group: Group, row_of: Mapping[str, Row]) -> dict[str, list[list[Row]]]:
    """Activation, a PReLU's with its scope → the finished runs of each of its settings that have a slope."""
    found: dict[str, list[list[Row]]] = {}
    for head, cell in group.cells:
        runs = [row for run in cell.done if any(name in (row := row_of[run]).summary for name in LAWS)]
        if runs:
            scope = runs[0].own.get("activation.scope")
            label = f"{display(ACTIVATIONS, head.name)}{f' ({scope})' if scope else ''}"
            found.setdefault(label, []).append(runs)
    return found


def _shown(families: Mapping[str, Sequence[Sequence[Row]]]) -> list[Measure]:
    """The headline, and those of the others that runs have."""
    runs = [row for of in families.values() for setting in of for row in setting]
    declared = [row.declared for row in runs]
    names = [declared[0].headline, *(name for name in (DEAD, RANK, CURVATURE) if name in runs[0].summary)]
    return [metric(name, declared) for name in names]


def _panel(families: Mapping[str, Sequence[Sequence[Row]]], law: str, shown: Measure, several: str) -> Panel:
    unit = f" ({shown.unit})" if shown.unit else ""
    series = [_series(label, settings, law, shown) for label, settings in families.items()]
    return Panel(
        f"{shown.title}{several}",
        f"s̄ ({LAWS[law]})",
        f"{shown.label}{unit}",
        [one for one in series if one.x],
    )


def _series(label: str, settings: Sequence[Sequence[Row]], law: str, shown: Measure) -> Series:
    points = []
    for runs in settings:
        values = [(row.summary.get(law), row.summary.get(shown.name)) for row in runs]
        there = [(x, y) for x, y in values if x is not None and y is not None]
        if there:
            points.append((fmean(x for x, _ in there), [y * shown.scale for _, y in there], [row.run for row in runs]))
    points.sort(key=lambda point: point[0])
    return Series(
        label=label,
        key=label if settings[0][0].own.get("activation.scope") else settings[0][0].activation,
        x=[x for x, _, _ in points],
        y=[fmean(y) for _, y, _ in points],
        y_sd=[stdev(y) if len(y) > 1 else None for _, y, _ in points],
        n=[len(y) for _, y, _ in points],
        runs=[run for _, _, runs in points for run in runs],
        marker="own",
    )


def _zones(group: Group, families: Mapping[str, Sequence[Sequence[Row]]]) -> list[str]:
    """Whether a parabola through a family's runs has its highest accuracy in the middle, under each law."""
    said = []
    for label, settings in families.items():
        runs = [row for of in settings for row in of]
        shown = metric(runs[0].declared.headline, [row.declared for row in runs])
        for law, words in LAWS.items() if len(settings) > 2 else ():
            points = [(row.summary.get(law), row.summary.get(shown.name)) for row in runs]
            there = [(x, y * shown.scale) for x, y in points if x is not None and y is not None]
            found = parabola([x for x, _ in there], [y for _, y in there])
            what = f"{group.title}. {label}, parabola of {shown.label} over s̄ ({words}), {found.n} runs"
            if found.curvature is None or found.vertex is None:
                said.append(f"{what}: none, since {found.reason}.")
                continue
            where = f"highest at {found.vertex:.2f} [{found.vertex_low:.2f}, {found.vertex_high:.2f}]"
            verdict = where if found.peaks else "its interval does not tell a peak"
            said.append(f"{what}: curvature {found.curvature:.2f} [{found.low:.2f}, {found.high:.2f}], {verdict}.")
    return said


def _claims(group: Group, row_of: Mapping[str, Row]) -> list[str]:
    """What the text says of dead units as s̄ → 0, beside the setting here with the least slope under each law."""
    rows = [row_of[run] for _, cell in group.cells for run in cell.done]
    said = []
    for line in lines("claims_dead_units.csv"):
        for law, words in LAWS.items() if line["of"] == "least slope" else ():
            there = [row for row in rows if row.summary.get(law) is not None and row.summary.get(DEAD) is not None]
            if there:
                least = min(there, key=lambda row: row.summary[law])
                setting = least.activation, least.own
                dead = fmean(row.summary[DEAD] for row in there if (row.activation, row.own) == setting)
                said.append(
                    f"{group.title}. {line['said_in']}: {line['said']} % dead units as s̄ → 0; here "
                    f"{100 * dead:.1f} % at the least slope, {least.summary[law]:.3f} ({words})."
                )
    return said
