"""Figures 2, 3, 4 and D1: the effect of shocks, by group of activations, by factor and by dead band.

The shocks are read from the metrics of runs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from analysis.derived import Shape, shapes
from analysis.figures.drawing import Asked, Drawing, Panel, Series, with_unit
from analysis.figures.groups import Group, caption, correlation_said, groups, means
from analysis.names import ACTIVATIONS, display
from analysis.reported import lines
from analysis.rows import Row
from analysis.tables.declared.means import HEADLINE
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.shocks import ACCURACY, FACTOR, SATURATED, SUMMARIES, Shock, shocks_in, summary_of

PRINTED, DERIVED = "as the captions group them", "as derived of φ′"
ORDER = {
    "floor": ("zero", "effective non-zero", "non-zero"),
    "side": ("two-sided", "one-sided (smooth)", "one-sided (kink)"),
}


@dataclass(frozen=True)
class ShockedRun:
    """A finished run and its shocks."""

    row: Row
    shocks: Sequence[Shock]

    @property
    def factors(self) -> list[float]:
        """The distinct factors γ of the measured shocks, sorted."""
        return sorted({shock.factor for shock in self.shocks if shock.whole})

    def at(self, factor: float | None) -> "ShockedRun":
        """The run with only the shocks of one factor; None: with all shocks."""
        return self if factor is None else replace(self, shocks=[each for each in self.shocks if each.factor == factor])

    @property
    def shape(self) -> Shape | None:
        """The derived properties of its activation at its settings; None if they were not derived."""
        for shape in shapes():
            if shape.activation == self.row.activation and all(
                self.row.own.get(f"activation.{name}", value) == value for name, value in shape.settings.items()
            ):
                return shape
        return None


@dataclass(frozen=True)
class ShockedGroup:
    """The runs of one column of a table: they share all but the activation, its settings and the seed."""

    group: Group
    runs: Sequence[ShockedRun]

    @property
    def said(self) -> str:
        """The numbers of applied and of measured shocks."""
        given = [shock for run in self.runs for shock in run.shocks]
        whole = sum(shock.whole for shock in given)
        lost = "; the window of the others leaves their task" if whole < len(given) else ""
        raised = sum(shock.rises for shock in given if shock.whole)
        return (
            f"{self.group.title}: {len(given)} shocks of {len(self.runs)} runs, {whole} of them measured{lost}; "
            f"{raised} raise saturation."
        )


def shocked(asked: Asked) -> list[ShockedGroup]:
    """The groups of runs with measured shocks.  Raises ConfigError if no shock is measured."""
    rows = _with_one_choice([row for row in asked.rows if row.study.get("perturbation.name") == "shocks"])
    found = []
    for group in groups(HEADLINE, rows):
        runs = _read(asked, group.runs) if group.runs else []
        if any(shock.whole for run in runs for shock in run.shocks):
            found.append(ShockedGroup(group, runs))
    if not rows:
        raise ConfigError("No run was given shocks; perturbation=shocks gives them.")
    if not found:
        done = sum(row.status == "done" for row in rows)
        raise ConfigError(
            f"No shock is measured: of {len(rows)} runs with perturbation=shocks {done} are finished, and a shock is "
            "measured over the epochs of its task that follow, one fewer than perturbation.cycle."
        )
    return found


def values_of(runs: Iterable[ShockedRun], metric: str) -> list[float]:
    """A summary of the shocks of each run, by its name in `records.shocks.SUMMARIES`; without runs that have none."""
    values = (summary_of(run.shocks)[metric] for run in runs)
    return [value for value in values if value is not None]


def in_groups(runs: Sequence[ShockedRun], by: str, how: str) -> dict[str, list[ShockedRun]]:
    """Group of floors or of sides → its runs, in the order of ORDER, without empty groups.  how: PRINTED or DERIVED."""
    printed = {line["activation"]: line["group"] for line in lines("shock_groups.csv") if line["by"] == by}
    found: dict[str, list[ShockedRun]] = {group: [] for group in ORDER[by]}
    for run in runs:
        group = printed.get(run.row.activation)
        if how == DERIVED:
            shape = run.shape
            group = None if shape is None else shape.floor_kind if by == "floor" else shape.side
        if group is not None:
            found[group].append(run)
    return {group: of for group, of in found.items() if of}


def _with_one_choice(rows: Sequence[Row]) -> list[Row]:
    """The rows with one word for their hyperparameters, if each activation has only one choice of them.

    An activation that is not in Table B2 has no `best`; it is shown next to activations that have it.
    """
    chosen: dict[str, set[str]] = {}
    for row in rows:
        chosen.setdefault(row.activation, set()).add(row.hyperparams)
    if any(len(choices) > 1 for choices in chosen.values()):
        return [*rows]
    words = " and ".join(sorted({row.hyperparams for row in rows}))
    return [replace(row, hyperparams=words) for row in rows]


def _read(asked: Asked, rows: Sequence[Row]) -> list[ShockedRun]:
    import polars as pl  # half a second to import; other figures do not need it

    names = ["run", "task", "epoch", FACTOR, SATURATED, ACCURACY]
    read = asked.metrics([row.run for row in rows])
    if FACTOR not in read.collect_schema():
        return []
    epochs = read.filter(pl.col("kind") == "epoch").select(names).sort("run", "epoch").collect()
    by_run = {str(run): each.to_dicts() for (run,), each in epochs.group_by("run", maintain_order=True)}
    return [
        ShockedRun(row, shocks_in(by_run[row.run], int(row.study["perturbation.cycle"])))
        for row in rows
        if row.run in by_run
    ]


PANELS: Mapping[str, tuple[str, Sequence[tuple[str, str]]]] = {
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
    found, (title, declared) = shocked(asked), PANELS[name]
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
    shown_by = {by for _, by in PANELS[name][1]}
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
    for name in PANELS
    for ending, how in (("", PRINTED), ("_derived", DERIVED))
}
"""Name in the command → figure."""


AGAINST_BAND = {
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
        for metric, words in AGAINST_BAND.items():
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
