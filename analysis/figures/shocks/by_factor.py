"""Figures 2, 3 and D1: what shocks of each factor leave, by group of activations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev

from analysis.figures.asked import Asked
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import caption
from analysis.figures.shocks.grouped import DERIVED, PRINTED, in_groups
from analysis.figures.shocks.shocked import ShockedGroup, ShockedRun, shocked, values_of
from analysis.reported.reported import lines
from plasticity_lab.records.measures import Measure
from plasticity_lab.records.shocks import SUMMARIES


@dataclass(frozen=True)
class Shown:
    """A panel of a figure: a summary of shocks, by groups of floors or of sides."""

    metric: str
    by: str

    @property
    def measure(self) -> Measure:
        """What is shown."""
        return SUMMARIES[self.metric]


@dataclass(frozen=True)
class Declared:
    """A figure of the paper's.  name: as a command has it; number: as the paper has."""

    name: str
    number: str
    title: str
    panels: Sequence[Shown]


FIGURE_2 = Declared(
    "figure2",
    "2",
    "Desaturation under shocks, by the floor of φ′",
    (Shown("shock_ausc", "floor"), Shown("shock_half", "floor"), Shown("shock_unrecovered", "floor")),
)
FIGURE_3 = Declared(
    "figure3",
    "3",
    "Saturation under shocks, by the sides that saturate",
    (Shown("shock_peak", "side"), Shown("shock_half", "side"), Shown("shock_ausc", "side")),
)
FIGURE_D1 = Declared(
    "figureD1",
    "D1",
    "Epochs until 95 % of the accuracy is back",
    (Shown("shock_recovery95", "floor"), Shown("shock_recovery95", "side")),
)
OPEN = (
    "Epochs to halve are over the shocks that recover. Where saturation rests above half of what the shock left, it "
    "never halves, however small the shock was: shock_half_above_rest and shock_unrecovered_above_rest in the records "
    "go by what there was before."
)


def by_factor(declared: Declared, how: str, asked: Asked) -> Drawing:
    """The figure, its groups as printed or as derived.  Raises ConfigError where no shock is measured."""
    found = shocked(asked)
    panels = [_panel(each, shown, how, len(found) > 1) for each in found for shown in declared.panels]
    said = f"Means over runs by γ, the factor of a shock; the bars are ± 1 SD over runs. Groups {how}."
    rows = [run.row for each in found for run in each.runs]
    claims = [line for each in found for line in _claims(each, declared, how)]
    outside = [line for each in found for line in _outside(each, declared, how)]
    text = [*caption([each.group for each in found], rows, said), OPEN, *(each.said for each in found)]
    name = declared.name if how == PRINTED else f"{declared.name}_derived"
    return Drawing(name, declared.title, panels, [*text, *outside, *claims])


def _panel(found: ShockedGroup, shown: Shown, how: str, several: bool) -> Panel:
    factors = sorted({factor for run in found.runs for factor in run.factors})
    unit = f" ({shown.measure.unit})" if shown.measure.unit else ""
    return Panel(
        f"{shown.measure.title}{f' · {found.group.title}' if several else ''}",
        "γ",
        f"{shown.measure.label}{unit}",
        [_series(group, runs, shown, factors) for group, runs in in_groups(found.runs, shown.by, how).items()],
        x_ticks=factors,
    )


def _series(group: str, runs: Sequence[ShockedRun], shown: Shown, factors: Sequence[float]) -> Series:
    values = [values_of([run.at(factor) for run in runs], shown.metric) for factor in factors]
    there = [(factor, of) for factor, of in zip(factors, values, strict=True) if of]
    scale = shown.measure.scale
    return Series(
        label=group,
        key=group,
        x=[factor for factor, _ in there],
        y=[fmean(of) * scale for _, of in there],
        y_sd=[stdev(of) * scale if len(of) > 1 else None for _, of in there],
        n=[len(of) for _, of in there],
        runs=[run.row.run for run in runs],
        marker="own",
    )


def _claims(found: ShockedGroup, declared: Declared, how: str) -> list[str]:
    """What the text says of the groups that a figure shows, beside what these runs come to."""
    shown_by = {shown.by for shown in declared.panels}
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


def _outside(found: ShockedGroup, declared: Declared, how: str) -> list[str]:
    """Activations that are in none of the groups of a figure."""
    groups = [of for shown in declared.panels for of in in_groups(found.runs, shown.by, how).values()]
    inside = {run.row.activation for of in groups for run in of}
    missing = sorted({run.row.activation for run in found.runs} - inside)
    return [f"{found.group.title}: in no group, and not shown: {', '.join(missing)}."] if missing else []


FIGURES: dict[str, Callable[[Asked], Drawing]] = {
    name: partial(by_factor, declared, how)
    for declared in (FIGURE_2, FIGURE_3, FIGURE_D1)
    for name, how in ((declared.name, PRINTED), (f"{declared.name}_derived", DERIVED))
}
"""By the names of commands."""
