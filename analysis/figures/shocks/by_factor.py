"""Figures 2, 3 and D1: the effect of shocks of each factor, by group of activations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import caption, means
from analysis.figures.shocks.shocked import DERIVED, PRINTED, ShockedGroup, ShockedRun, in_groups, shocked, values_of
from analysis.reported.reported import lines
from plasticity_lab.records.shocks import SUMMARIES


@dataclass(frozen=True)
class Declared:
    """A figure of the paper.

    name: in the command. number: in the paper. panels: for each, the summary of shocks, and whether its groups are by
    floors or by sides.
    """

    name: str
    number: str
    title: str
    panels: Sequence[tuple[str, str]]


FIGURE_2 = Declared(
    "figure2",
    "2",
    "Desaturation under shocks, by the floor of φ′",
    (("shock_ausc", "floor"), ("shock_half", "floor"), ("shock_unrecovered", "floor")),
)
FIGURE_3 = Declared(
    "figure3",
    "3",
    "Saturation under shocks, by the sides that saturate",
    (("shock_peak", "side"), ("shock_half", "side"), ("shock_ausc", "side")),
)
FIGURE_D1 = Declared(
    "figureD1",
    "D1",
    "Epochs until 95 % of the accuracy is back",
    (("shock_recovery95", "floor"), ("shock_recovery95", "side")),
)
OPEN = (
    "Epochs to halve are over the shocks that recover. If saturation rests above half of its value after the shock, it "
    "never halves, however small the shock was: shock_half_above_rest and shock_unrecovered_above_rest in the records "
    "compare with saturation before the shock."
)


def by_factor(declared: Declared, how: str, asked: Asked) -> Drawing:
    """The figure, with the printed or the derived groups.  Raises ConfigError if no shock is measured."""
    found = shocked(asked)
    panels: list[Panel] = []
    outside: list[str] = []
    claims: list[str] = []
    for each in found:
        several = f" · {each.group.title}" if len(found) > 1 else ""
        factors = sorted({factor for run in each.runs for factor in run.factors})
        shown: set[str] = set()
        for metric, by in declared.panels:
            measure, groups = SUMMARIES[metric], in_groups(each.runs, by, how)
            shown.update(run.row.activation for runs in groups.values() for run in runs)
            series = [_series(group, runs, metric, factors) for group, runs in groups.items()]
            label = with_unit(measure.label, measure)
            panels.append(Panel(f"{measure.title}{several}", "γ", label, series, x_ticks=factors))
        if missing := sorted({run.row.activation for run in each.runs} - shown):
            outside.append(f"{each.group.title}: in no group, and not shown: {', '.join(missing)}.")
        claims += _claims(each, declared, how)
    said = f"Means over runs by γ, the factor of a shock; the bars are ± 1 SD over runs. Groups {how}."
    rows = [run.row for each in found for run in each.runs]
    text = [*caption([each.group for each in found], rows, said), OPEN, *(each.said for each in found)]
    name = declared.name if how == PRINTED else f"{declared.name}_derived"
    return Drawing(name, declared.title, panels, [*text, *outside, *claims])


def _series(group: str, runs: Sequence[ShockedRun], metric: str, factors: Sequence[float]) -> Series:
    points = [(factor, values_of([run.at(factor) for run in runs], metric)) for factor in factors]
    points = [(factor, values) for factor, values in points if values]
    return means(group, group, points, [run.row.run for run in runs], SUMMARIES[metric].scale)


def _claims(found: ShockedGroup, declared: Declared, how: str) -> list[str]:
    """The text's claims on the groups that a figure shows, and the numbers of these runs."""
    shown_by = {by for _, by in declared.panels}
    said = []
    for line in lines("claims_shocks.csv"):
        of_accuracy = line["metric"].endswith("95")
        if (declared.number == "D1") == of_accuracy and (not line["by"] or line["by"] in shown_by):
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
    name: partial(by_factor, declared, how)
    for declared in (FIGURE_2, FIGURE_3, FIGURE_D1)
    for name, how in ((declared.name, PRINTED), (f"{declared.name}_derived", DERIVED))
}
"""Name in the command → figure."""
