"""How tables over environments are laid out: ours and the paper's by activation, and what failed."""

from collections.abc import Mapping, Sequence

from analysis.names import ACTIVATIONS, display
from analysis.reported.reported import lines
from analysis.rows import Row
from analysis.tables.grid import NOTHING
from analysis.tables.listing import Listing
from analysis.tables.made_by import made_lines
from analysis.tables.missing import NOT_HERE, TRAINING
from analysis.tables.scores import Arm, Scores, ScoreTable, Shown, in_this_version, scores

ACROSS = {"iqm": "IQM", "mean": "mean", "sd": "SD", "score": "score"}
_PRINTED = {"iqm": "iqm_delta", "mean": "mean_delta", "sd": "std_delta"}
_WHAT = {
    "return": "Mean return over the last 15 % of the steps, mean ± SD over seeds, by environment.",
    "score": "Plasticity score: interquartile mean over seeds and environments of normalised returns of the last "
    "cycle, with its 95 % stratified bootstrap interval.",
    "gap": "Change of the generalization gap from the first cycle to the last, mean ± half-width of the 95 % interval "
    "over seeds; then the interquartile mean of the environments' means. A run that failed counts as 0.",
}
Printed = Mapping[tuple[str, str], str]


def score_tables(table: ScoreTable, rows: Sequence[Row], metric_name: str | None = None) -> list[Listing]:
    """One listing for each selection of runs; without any, one of the paper's numbers."""
    paper = _paper(table)
    return [_listing(table, paper, found) for found in scores(table, rows) or [Scores({}, {}, [])]]


def columns_of(table: ScoreTable) -> list[str]:
    """The columns of a table: its environments, and what is taken over them."""
    if table.kind == "score":
        return ["score"]
    across = {"gap": ["iqm", *["mean", "sd"] * table.across], "return": []}
    return [*table.environments, *across[table.kind]]


def _listing(table: ScoreTable, paper: Printed, found: Scores) -> Listing:
    columns = columns_of(table)
    in_paper = list(dict.fromkeys(activation for activation, _ in paper))
    labels = sorted(found.arms, key=lambda label: (_place(found.arms[label].activation, in_paper), label))
    labels = labels or list(in_paper)
    body, listed = [], []
    for label in labels:
        arm = found.arms.get(label)
        activation = arm.activation if arm else label
        cells = [label.replace(activation, display(ACTIVATIONS, activation), 1)]
        for column in columns:
            shown = arm.columns.get(column) if arm else None
            printed = paper.get((activation, column))
            cells += [_word(shown, arm), printed or NOTHING]
            listed.append(_line(table, found, label, activation, column, shown, arm, printed))
        body.append(cells)
    return Listing(
        name=table.name,
        title=_title(table, found),
        header=["activation", *(heading for column in columns for heading in (ACROSS.get(column, column), "paper"))],
        body=body,
        caption=_caption(table, found),
        lines=listed,
        align=["left", *["left", "right"] * len(columns)],
        bold=_best(table, found, labels, columns),
        is_ours=bool(found.arms),
    )


def _place(activation: str, in_paper: Sequence[str]) -> int:
    return in_paper.index(activation) if activation in in_paper else len(in_paper)


def _title(table: ScoreTable, found: Scores) -> str:
    names = [name for choice, name in found.selection.items() if (choice, name) != ("intervention", "none")]
    return f"{table.title} ({', '.join(names)})" if names else table.title


def _word(shown: Shown | None, arm: Arm | None) -> str:
    if shown is None or shown.value is None:
        number = NOTHING
    elif shown.low is not None and shown.high is not None:
        number = f"{shown.value:.4f} [{shown.low:.4f}, {shown.high:.4f}]"
    else:
        behind = shown.sd if shown.sd is not None else shown.half_width
        number = f"{shown.value:,.2f}" + (f" ± {behind:,.2f}" if behind is not None else "")
    notes = []
    if arm and arm.n < arm.expected:
        notes.append(f"{arm.n}/{arm.expected}")
    notes += [f"{count} {what}" for count, what in _lost(shown, arm) if count]
    return f"{number} ({', '.join(notes)})" if notes else number


def _lost(shown: Shown | None, arm: Arm | None) -> list[tuple[int, str]]:
    return [(arm.diverged if arm else 0, "diverged"), (shown.failed if shown else 0, "failed")]


def _best(
    table: ScoreTable, found: Scores, labels: Sequence[str], columns: Sequence[str]
) -> frozenset[tuple[int, int]]:
    """The best of each column among arms that are complete; of a gap the lowest."""
    choose = min if table.kind == "gap" else max
    bold = set()
    for place, column in enumerate(columns):
        values = {
            line: found.arms[label].columns[column].value
            for line, label in enumerate(labels)
            if column != "sd" and label in found.arms and found.arms[label].n == found.arms[label].expected
            and found.arms[label].columns and found.arms[label].columns[column].value is not None
        }  # fmt: skip
        if len(values) > 1:
            best = choose(values.values())
            bold |= {(line, 1 + 2 * place) for line, value in values.items() if value == best}
    return frozenset(bold)


def _caption(table: ScoreTable, found: Scores) -> list[str]:
    said = [_WHAT[table.kind]]
    if table.experiment and in_this_version(table):
        missing = f"{TRAINING} experiment={table.experiment}"
    else:
        missing = NOT_HERE
    if not found.arms:
        said.append(f"No runs of it; the paper's numbers alone. Missing: all of it: {missing}.")
    else:
        said += made_lines(found.rows, {label: arm.mixed for label, arm in found.arms.items()})
        said.append(
            "Failed: a return below -500, or one that is not finite. k/n: k of n runs have finished; bold: the best of "
            "those that are complete."
        )
    if found.bounds is not None and found.bounds.low is not None:
        bounds = ", ".join(
            f"{environment} {low:,.1f} to {high:,.1f}"
            for environment, low, high in zip(table.environments, found.bounds.low, found.bounds.high, strict=True)
        )
        low, high = found.bounds.percentiles
        runs = sum(arm.n for arm in found.arms.values())
        said.append(
            f"Normalised by percentiles {low:g} and {high:g} of the {runs} runs of this table, at least "
            f"{found.bounds.floor:g}: {bounds}."
        )
        said += [f"No score: {found.bounds.reason}."] if found.bounds.reason else []
    said.append(f"Paper: what it reports in {table.source} (5 seeds).")
    return said


def _paper(table: ScoreTable) -> dict[tuple[str, str], str]:
    """(activation, column) → as the paper prints it."""
    found: dict[tuple[str, str], str] = {}
    for line in lines(table.reported):
        activation = line["activation"]
        if table.activations and activation not in table.activations:
            continue
        if table.kind == "score":
            found[activation, "score"] = f"{line['iqm']} ± {line['ci95_half_width']}"
            continue
        mean, behind = ("reward_mean", "reward_sd") if table.kind == "return" else ("delta_mean", "delta_ci95")
        found[activation, line["env"]] = f"{line[mean]} ± {line[behind]}"
        found |= {(activation, column): line[of] for column, of in _PRINTED.items() if of in line}
    return found


def _line(
    table: ScoreTable,
    found: Scores,
    label: str,
    activation: str,
    column: str,
    shown: Shown | None,
    arm: Arm | None,
    printed: str | None,
) -> dict[str, object]:
    return {
        "table": table.name,
        "row": label,
        "activation": activation,
        "column": column,
        **found.selection,
        "value": shown.value if shown else None,
        "sd": shown.sd if shown else None,
        "half_width": shown.half_width if shown else None,
        "low": shown.low if shown else None,
        "high": shown.high if shown else None,
        "n": arm.n if arm else None,
        "expected": arm.expected if arm else None,
        "diverged": arm.diverged if arm else None,
        "failed": shown.failed if shown else None,
        "paper": printed,
        "missing": None if arm else NOT_HERE,
    }
