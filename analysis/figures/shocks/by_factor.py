"""Figures 2, 3 and D1: the effect of shocks of each factor, by group of activations."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean

from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import caption, means
from analysis.figures.shocks.shocked import DERIVED, PRINTED, ShockedGroup, ShockedRun, in_groups, shocked, values_of
from analysis.reported.reported import lines
from plasticity_lab.records.shocks import SUMMARIES

PAPER: Mapping[str, tuple[str, Sequence[tuple[str, str]]]] = {
    "figure2": (
        "Desaturation under shocks, by the floor of φ′",
        (("shock_ausc", "floor"), ("shock_half", "floor"), ("shock_unrecovered", "floor")),
    ),
    "figure3": (
        "Saturation under shocks, by the sides that saturate",
        (("shock_peak", "side"), ("shock_half", "side"), ("shock_ausc", "side")),
    ),
    "figureD1": (
        "Epochs until 95 % of the accuracy is back",
        (("shock_recovery95", "floor"), ("shock_recovery95", "side")),
    ),
}
"""Figure → its title; and for each panel, the summary of shocks, and whether its groups are by floors or by sides."""
OPEN = (
    "Epochs to halve are over the shocks that recover. If saturation rests above half of its value after the shock, it "
    "never halves, however small the shock was: shock_half_above_rest and shock_unrecovered_above_rest in the records "
    "compare with saturation before the shock."
)


def by_factor(name: str, how: str, asked: Asked) -> Drawing:
    """The figure, with the printed or the derived groups.  Raises ConfigError if no shock is measured."""
    found, (title, declared) = shocked(asked), PAPER[name]
    panels: list[Panel] = []
    outside: list[str] = []
    claims: list[str] = []
    for each in found:
        several = f" · {each.group.title}" if len(found) > 1 else ""
        factors = sorted({factor for run in each.runs for factor in run.factors})
        shown: set[str] = set()
        for metric, by in declared:
            measure, groups = SUMMARIES[metric], in_groups(each.runs, by, how)
            shown.update(run.row.activation for runs in groups.values() for run in runs)
            series = [_series(group, runs, metric, factors) for group, runs in groups.items()]
            label = with_unit(measure.label, measure)
            panels.append(Panel(f"{measure.title}{several}", "γ", label, series, x_ticks=factors))
        if missing := sorted({run.row.activation for run in each.runs} - shown):
            outside.append(f"{each.group.title}: in no group, and not shown: {', '.join(missing)}.")
        claims += _claims(each, name, how)
    said = f"Means over runs by γ, the factor of a shock; the bars are ± 1 SD over runs. Groups {how}."
    rows = [run.row for each in found for run in each.runs]
    text = [*caption([each.group for each in found], rows, said), OPEN, *(each.said for each in found)]
    return Drawing(name if how == PRINTED else f"{name}_derived", title, panels, [*text, *outside, *claims])


def _series(group: str, runs: Sequence[ShockedRun], metric: str, factors: Sequence[float]) -> Series:
    points = [(factor, values_of([run.at(factor) for run in runs], metric)) for factor in factors]
    points = [(factor, values) for factor, values in points if values]
    return means(group, group, points, [run.row.run for run in runs], SUMMARIES[metric].scale)


def _claims(found: ShockedGroup, name: str, how: str) -> list[str]:
    """The text's claims on the groups that a figure shows, and the numbers of these runs."""
    shown_by = {by for _, by in PAPER[name][1]}
    said = []
    for line in lines("claims_shocks.csv"):
        of_accuracy = line["metric"].endswith("95")
        if (name == "figureD1") == of_accuracy and (not line["by"] or line["by"] in shown_by):
            said.append(f"{found.group.title}. {line['said_in']}: {_claim(found, line, how)}")
    return said


def _claim(found: ShockedGroup, line: Mapping[str, str], how: str) -> str:
    measure, by = SUMMARIES[line["metric"]], line["by"]
    factor = float(line["factor"]) if line["factor"] else None
    own, others = [*found.runs], list[ShockedRun]()
    if by:
        of_group = in_groups(found.runs, by, how)
        own = of_group.pop(line["group"], [])
        others = [run for runs in of_group.values() for run in runs]
    ours, theirs = (values_of([run.at(factor) for run in runs], line["metric"]) for runs in (own, others))
    words = measure.title.lower() + (f" ({line['group']})" if by else "")
    words += f" at γ = {factor:g}" if factor is not None else ""
    if line["times_others"]:
        ratio = f"{fmean(ours) / fmean(theirs):.2f} times" if ours and theirs and fmean(theirs) else "nothing"
        return f"{words}: {line['said']} times the others'; here {ratio}."
    unit = f" {measure.unit}" if measure.unit else ""
    here = measure.number(fmean(ours) * measure.scale) if ours else "nothing"
    return f"{words}: {line['said']}{unit}; here {here}."


FIGURES: dict[str, Callable[[Asked], Drawing]] = {
    f"{name}{ending}": partial(by_factor, name, how)
    for name in PAPER
    for ending, how in (("", PRINTED), ("_derived", DERIVED))
}
"""Name in the command → figure."""
