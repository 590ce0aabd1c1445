"""The sentences of a caption that warn of gaps between runs, collapsed runs and skewed runs.

They name the number that holds for such runs: interquartile mean, permutation test, or the exact interval of a share.
"""

from collections.abc import Collection, Mapping, Sequence

from analysis.names import BODIES
from analysis.reported import lines_of
from analysis.statistics.method import FOLDER
from analysis.statistics.shape import Gap, looks, trimmed
from analysis.statistics.shares import clopper_pearson
from analysis.tables.result import Cell
from analysis.tables.scores import Scores
from plasticity_lab.records.measures import Measure

COLLAPSES, SKEWED = "one seed in ten collapses", "lognormal 1.5"
_WORDS = {COLLAPSES: COLLAPSES, SKEWED: "runs are lognormal with a log SD of 1.5"}
"""Law in further.csv → the words of a caption."""
PAGE = "`python -m analysis compare` has both, docs/pages/explanation/statistics.md the rates"
SHOWN = 6
"""Up to this many cells are named."""


def shape_of_cells(cells: Mapping[str, Cell], columns: Mapping[str, str], measures: Mapping[str, Measure]) -> list[str]:
    """The warnings for cells by name, as "Tanh on Permuted MNIST", with the column and the measure of each."""
    return shape_lines(
        {name: cell.values for name, cell in cells.items()},
        {name: cell.collapsed for name, cell in cells.items()},
        columns,
        [name for name, measure in measures.items() if measure.unit == "%" and measure.better == "more"],
    )


def shape_of_arms(scores: Scores) -> list[str]:
    """The warnings for arms by environment: their returns, changes of gaps, or mean scores of their runs."""
    values, columns = {}, {}
    for label, arm in scores.arms.items():
        for column, shown in arm.columns.items():
            if len(shown.values):
                name = f"{label}, {BODIES.get(column, column)}"
                values[name], columns[name] = shown.values, column
    return shape_lines(values, columns=columns)


def shape_lines(
    values: Mapping[str, Sequence[float]],
    flagged: Mapping[str, int] | None = None,
    columns: Mapping[str, str] | None = None,
    shares: Collection[str] = (),
) -> list[str]:
    """The warnings for a table or a comparison; empty if nothing looks unusual.

    values: name → the values of the runs. flagged: name → the number of runs flagged as collapsed. columns, shares: as
    in `looks`.
    """
    found = looks(values, columns, shares)
    runs = {name: len(of) for name, of in values.items()}
    collapsed = {name: many for name, many in (flagged or {}).items() if 0 < many < runs[name]}
    said = [
        f"{name}: {many} of {runs[name]} runs collapsed ({_share(many, runs[name])})"
        for name, many in collapsed.items()
    ]
    said += [f"{name}: {_gap(each)}" for name, each in found.gaps.items() if name not in collapsed]
    if said:
        more = f"; and {len(said) - SHOWN} more cells" if len(said) > SHOWN else ""
        lines = [f"Beware of a gap between runs: {'; '.join(said[:SHOWN])}{more}."]
        few = min(runs[name] for name in {*collapsed, *found.gaps})
        sizes = [(many, runs[name]) for name, many in collapsed.items()]
        sizes += [(each.apart, each.of) for each in found.gaps.values()]
        lines.append(_of_gaps(few, any(not trimmed(*size) for size in sizes)))
        return lines
    if found.skewed:
        towards, few = "high" if found.skewed > 0 else "low", min(runs.values())
        return [
            f"Beware of skewed runs, with a long {towards} side. {_covers(few, SKEWED)}The IQM covers better, "
            f"and the permutation test holds: {PAGE}."
        ]
    return []


def _gap(found: Gap) -> str:
    side = "below" if found.below else "above"
    return f"{found.apart} of {found.of} runs far {side} the others ({_share(found.apart, found.of)})"


def _share(many: int, of: int) -> str:
    low, high = (100 * end for end in clopper_pearson(many, of))
    return f"{100 * many / of:.0f} % [{low:.0f}, {high:.0f}]"


def _of_gaps(few: int, halves: bool) -> str:
    """The numbers that hold.  few: the smallest number of runs. halves: whether a cell has two groups of many runs."""
    holds = "The IQM and the permutation test hold"
    if halves:
        holds = "For two groups neither mean nor IQM is reliable; the permutation test holds"
    return (
        f"{_covers(few, COLLAPSES)}{holds}, and so does the share of such runs, in brackets with its "
        f"exact 95 % interval (Clopper–Pearson): {PAGE}."
    )


def _covers(few: int, law: str) -> str:
    """The measured coverage of a mean of such runs, at the nearest smaller number of seeds; empty if unknown."""
    lines = [line for line in lines_of(FOLDER / "further.csv") if line["law"] == law and line["of"].startswith("mean")]
    known = {int(line["seeds"]): float(line["coverage"]) for line in lines if int(line["seeds"]) <= few}
    if not known:
        return ""
    seeds = max(known)
    covers = f"covers {100 * known[seeds]:.0f} % at {seeds} seeds"
    return f"A mean can mislead here, and Welch's p too: if {_WORDS[law]}, a 95 % interval of the mean {covers}. "
