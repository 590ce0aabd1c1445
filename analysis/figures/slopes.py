"""Figures 1 and C1: accuracy against negative slopes, dead units, rank, curvature and norms of gradients.

Figure 1 is against the effective negative slope, for several laws of x; in Figure C1 each point is a run.
Legend: s̄ = E[φ′(x) | x < 0]; the paper does not give the law of x.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import Group, caption, correlation_said, headline_groups, means
from analysis.names import ACTIVATIONS, display, metric
from analysis.reported import lines
from analysis.rows import Row, grouped
from analysis.statistics.relations import parabola
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Measure

LAWS = {"slope_half_normal": "half-normal", "slope_uniform": "uniform", "slope_probe": "the probe's own"}
DEAD, RANK, CURVATURE = "dead_pairs", "gradient_rank", "lambda_max"
"""Summaries of the diagnostics dead_units, gradient_rank and curvature."""
Families = Mapping[str, Sequence[Sequence[Row]]]
"""Activation, with the scope of a PReLU → the finished runs of each of its settings that have a slope."""


def figure_1(asked: Asked) -> Drawing:
    """The figure: a row of panels for each law.  Raises ConfigError if no finished run has such a slope."""
    found = headline_groups(asked)
    panels: list[Panel] = []
    drawn: list[Group] = []
    said: list[str] = []
    for group in found:
        families = _families(group)
        if families:
            drawn.append(group)
            several = f" · {group.title}" if len(found) > 1 else ""
            panels += [_panel(families, law, shown, several) for law in LAWS for shown in _shown(families)]
            said += [*_zones(group, families), *_claims(group)]
    if not panels:
        raise ConfigError(
            "No finished run has an effective negative slope; diagnostics=case_studies measures it, along with "
            "everything Figure 1 shows."
        )
    first = (
        "When the last task had ended; mean over seeds, the bars are ± 1 SD. Half-normal: −|N(0, 1)|; uniform: over "
        "the diagnostic's span; the probe's own: over the pre-activations below 0 on a fixed batch."
    )
    return Drawing("figure1", "Negative slopes", panels, [*caption(drawn, asked.rows, first), *said])


def _families(group: Group) -> Families:
    found: dict[str, list[list[Row]]] = {}
    for head, rows in group.done.items():
        runs = [row for row in rows if any(law in row.summary for law in LAWS)]
        if runs:
            scope = runs[0].own.get("activation.scope")
            label = f"{display(ACTIVATIONS, head.name)}{f' ({scope})' if scope else ''}"
            found.setdefault(label, []).append(runs)
    return found


def _shown(families: Families) -> list[Measure]:
    """The main metric, and the other metrics if the runs have them."""
    runs = [row for settings in families.values() for setting in settings for row in setting]
    declared = [row.declared for row in runs]
    names = [declared[0].headline, *(name for name in (DEAD, RANK, CURVATURE) if name in runs[0].summary)]
    return [metric(name, declared) for name in names]


def _points(runs: Sequence[Row], law: str, shown: Measure) -> list[tuple[float, float]]:
    """Slope and value of the runs that have both."""
    values = [(row.summary.get(law), row.summary.get(shown.name)) for row in runs]
    return [(x, y * shown.scale) for x, y in values if x is not None and y is not None]


def _panel(families: Families, law: str, shown: Measure, several: str) -> Panel:
    series = [_series(label, settings, law, shown) for label, settings in families.items()]
    label = with_unit(shown.label, shown)
    return Panel(f"{shown.title}{several}", f"s̄ ({LAWS[law]})", label, [one for one in series if one.x])


def _series(label: str, settings: Sequence[Sequence[Row]], law: str, shown: Measure) -> Series:
    points = []
    for runs in settings:
        if pairs := _points(runs, law, shown):
            points.append((fmean(x for x, _ in pairs), [y for _, y in pairs], [row.run for row in runs]))
    points.sort(key=lambda point: point[0])
    first = settings[0][0]
    key = label if first.own.get("activation.scope") else first.activation
    return means(label, key, [(x, y) for x, y, _ in points], [run for _, _, runs in points for run in runs])


def _zones(group: Group, families: Families) -> list[str]:
    """Whether a parabola through a family's runs has its highest accuracy in the middle, under each law."""
    said = []
    for label, settings in families.items():
        runs = [row for of in settings for row in of]
        shown = metric(runs[0].declared.headline, [row.declared for row in runs])
        for law, words in LAWS.items() if len(settings) > 2 else ():
            pairs = _points(runs, law, shown)
            found = parabola([x for x, _ in pairs], [y for _, y in pairs])
            what = f"{group.title}. {label}, parabola of {shown.label} over s̄ ({words}), {found.n} runs"
            if found.curvature is None or found.vertex is None:
                said.append(f"{what}: none, since {found.reason}.")
                continue
            where = f"highest at {found.vertex:.2f} [{found.vertex_low:.2f}, {found.vertex_high:.2f}]"
            verdict = where if found.peaks else "its interval does not tell a peak"
            said.append(f"{what}: curvature {found.curvature:.2f} [{found.low:.2f}, {found.high:.2f}], {verdict}.")
    return said


def _claims(group: Group) -> list[str]:
    """The text's claims on dead units as s̄ → 0, and our setting with the least slope under each law."""
    said = []
    for line in lines("claims_dead_units.csv"):
        for law, words in LAWS.items() if line["of"] == "least slope" else ():
            rows = [row for row in group.runs if None not in (row.summary.get(law), row.summary.get(DEAD))]
            if rows:
                least = min(rows, key=lambda row: row.summary[law])
                same = [row for row in rows if (row.activation, row.own) == (least.activation, least.own)]
                dead = fmean(row.summary[DEAD] for row in same)
                said.append(
                    f"{group.title}. {line['said_in']}: {line['said']} % dead units as s̄ → 0; here "
                    f"{100 * dead:.1f} % at the least slope, {least.summary[law]:.3f} ({words})."
                )
    return said


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
                panels.append(_correlates(group, rows, name))
                x, y = [row.summary[name] for row in rows], [_accuracy(row) or 0.0 for row in rows]
                said.append(correlation_said("Figure C1", words, x, y, "runs", group.title))
                said += _claims_of_accuracy(group, rows) if name == DEAD else []
        drawn += [group] if len(panels) > before else []
    if not panels:
        raise ConfigError("No finished run has dead units or a gradient norm; diagnostics=case_studies measures both.")
    first = "Each point is a run at the end of its last task. Norms are norms of the gradient on a probe, not scaled."
    return Drawing("figureC1", "Correlates of accuracy", panels, [*caption(drawn, asked.rows, first), *said])


def _accuracy(row: Row) -> float | None:
    return row.summary.get(row.declared.headline)


def _correlates(group: Group, rows: Sequence[Row], name: str) -> Panel:
    declared = [row.declared for row in rows]
    x, y = metric(name, declared), metric(declared[0].headline, declared)
    series = []
    for activation, runs in grouped(rows, lambda row: row.activation).items():
        label, ids = display(ACTIVATIONS, activation), [row.run for row in runs]
        across, up = ([row.summary[of.name] * of.scale for row in runs] for of in (x, y))
        series.append(Series(label, activation, across, up, [1] * len(runs), runs=ids, joined=False, marker="own"))
    return Panel(group.title, with_unit(x.title, x), with_unit(y.title, y), series)


def _claims_of_accuracy(group: Group, rows: Sequence[Row]) -> list[str]:
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
