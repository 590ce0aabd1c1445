"""The captions of tables of means: metric, seeds, data, protocol, tests, and the limits of the numbers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from analysis.names import DATA
from analysis.outcomes import in_words, over_tasks
from analysis.rows import Row
from analysis.statistics.method import Method, shared, with_coverage
from analysis.tables.made_by import made_lines
from analysis.tables.missing import NOT_HERE, in_list, missing_lines, waiting_lines
from analysis.tables.paper import LEVEL, MARGIN, PAPERS_SEEDS, of_another, p_of_difference, shown_equal
from analysis.tables.result import Cell, Heading, Result
from analysis.tables.shape_lines import shape_of_cells
from analysis.tables.table import Table
from plasticity_lab.records.cautions import cautions
from plasticity_lab.records.measures import POINTS
from plasticity_lab.records.training_code import MIXED, MIXED_KIND, REFILLED

FLAGS = {
    MIXED: "how many runs were begun by one code and ended by another; their values are in the mean.",
    MIXED_KIND: "how many runs were begun on one kind of device and ended on another; their values are in the mean.",
    REFILLED: "how many runs were killed, lost their replay memory and went on with an empty one; their values are in "
    "the mean.",
}
"""Flags that workers set → their meaning."""


def caption(table: Table[Result], result: Result) -> list[str]:
    """The sentences of the caption, each on its own line."""
    rows, cells = result.runs, list(result.cells.values())
    if not rows:
        absent = table.lacks()
        reason = f"{NOT_HERE}, which lacks {' and '.join(absent)}" if absent else "no runs of it yet"
        lines = [f"{_metric(result)}: {reason}; the paper's values alone."]
        return lines + _paper(result) + ([] if absent else _to_come(result))
    lines = [_what(result), *selection_line(result.selection)]
    lines += [f"{column.label}: {column.data}." for column in result.columns]
    lines += made_lines(
        rows, {f"{row.label} on {column.label}": of.mixed for (row, column), of in result.cells.items()}
    )
    lines += [f"{column.label} {caution}" for column in result.columns for caution in column.cautions]
    if result.metric.better:
        lines += _significance(result, shared(row.methods for row in rows)["effect"])
    names = {place: " on ".join(each.label for each in place) for place in result.cells}
    lines += shape_of_cells(
        {name: result.cells[place] for place, name in names.items()},
        {name: column.label for (_, column), name in names.items()},
        dict.fromkeys(names.values(), result.metric),
    )
    lines += _paper(result)
    if table.reference and result.above:
        lines.append(
            f"Above ref.: the mean minus the mean for {table.columns}={table.reference} in the same row; below zero if "
            "a network with fresh initial weights learns better."
        )
    return lines + _incomplete(cells) + _flags(cells) + _to_come(result) + waiting_lines(cells)


def sentence(parts: Iterable[str]) -> list[str]:
    """The parts as one sentence, separated by semicolons; an empty list if it gets no parts."""
    line = "; ".join(parts)
    return [f"{line[:1].upper()}{line[1:]}."] if line else []


def selection_line(selection: Mapping[str, str]) -> list[str]:
    """The options that selected the runs, as a sentence; without the benchmark, and without intervention=none."""
    titles = {"protocol": "protocol", "schedule": "reduced schedule", "hyperparams": "hyperparameters"}
    parts = {choice: f"{title}: {selection[choice]}" for choice, title in titles.items() if choice in selection}
    if selection.get("schedule") == "full":
        parts["schedule"] = "full schedule"
    if selection.get("intervention", "none") != "none":
        parts["intervention"] = f"intervention: {selection['intervention']}"
    return sentence(parts.values())


def cautions_of(study: Mapping[str, Any]) -> tuple[str, ...]:
    """Cautions about published settings that change the meaning of a column, in words that follow the column's name.

    study: dotted keys, as in `Row.study`.
    """

    def of(group: str) -> dict[str, Any]:
        return {name.partition(".")[2]: value for name, value in study.items() if name.startswith(f"{group}.")}

    return tuple(caution.caption for caution in cautions(of("benchmark"), of("agent")))


def data_line(rows: Sequence[Row]) -> str:
    """The names of the data sets of one study's runs, and the length of the runs."""
    different = list({row.made_with: row for row in rows}.values())
    # Only runs that trained record whether they used the whole data set.
    loaded = [row for row in different if "data_part" in row.provenance] or different
    return "; ".join(filter(None, [" and ".join(sorted({_data(row) for row in loaded})), _length(rows[0].study)]))


def _data(row: Row) -> str:
    source, name = row.study.get("benchmark.source"), row.provenance.get("data") or f"the data of {row.benchmark}"
    if source:
        name = DATA.get(source, source)
    return f"part of {name}" if row.provenance.get("data_part") else name


def _length(study: Mapping[str, Any]) -> str:
    words = []
    for unit in ("tasks", "epochs", "steps", "environment_steps"):
        many = study.get(f"benchmark.{unit}")
        if many is not None:
            words.append(f"{many:,} {(unit if many != 1 else unit[:-1]).replace('_', ' ')}")
    length = " of ".join([words[0], ", at most ".join(words[1:])]) if len(words) > 1 else "".join(words)
    batch = study.get("benchmark.batch_size")
    return f"{length}, batches of {batch}" if length and batch else length


def _what(result: Result) -> str:
    seeds = sorted({cell.expected for cell in result.cells.values()})
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    over = "1 seed (no SD)" if seeds == [1] else f"{many} seeds"
    return f"{_metric(result)}, mean ± SD over {over}."


def _metric(result: Result) -> str:
    return result.metric.title + (f" ({result.metric.unit})" if result.metric.unit else "")


def _significance(result: Result, effect: Method) -> list[str]:
    """The rules of the marks, the numbers next to Welch's p-value, and the test of each column's best cell."""
    table = result.table
    best = "best, the lowest," if result.metric.better == "less" else "best"
    others = "the next best of them" if table.against == "next" else "each of the others of them"
    rule = (
        f"Bold (** in plain text): the {best} of a column's complete cells, and those not significantly different "
        f"from it (Welch's two-sided t-test, unequal variances, p ≥ {table.level}). †: by that test for whether the "
        f"best has the same mean as {others}, p < {table.level}, not corrected for other tests: it is better."
    )
    lines = [rule, *sentence(_beside_welch(result, effect))]
    for column in result.columns:
        tested = [(row, result.cells[row, column]) for row in result.rows if (row, column) in result.cells]
        row, cell = next(((row, cell) for row, cell in tested if cell.best and cell.against_next), (None, None))
        if row and cell:
            lines.append(f"{column.label}: {row.label} against {cell.next}: {_outcome(cell, result.tests)}.")
    return lines


def _beside_welch(result: Result, effect: Method) -> list[str]:
    """The meaning of each number next to Welch's p-value."""
    best = [cell for cell in result.cells.values() if cell.best]
    parts = []
    if result.tests > 1:
        parts.append(f"Holm: Welch's p, corrected for the {result.tests} tests of a column's best")
    if any(cell.paired and cell.paired.p is not None for cell in best):
        parts.append("paired: the t-test of the differences at the same seeds")
    if sizes := [cell.n for cell in best if cell.effect and cell.effect.g is not None]:
        made = with_coverage(effect, "effect", min(sizes), 1)
        parts.append(f"g: Hedges' effect size, the difference in SDs over seeds, with its {made}")
    return parts


def _outcome(cell: Cell, tests: int) -> str:
    """Welch's p-value and the numbers next to it, or the reason for a missing test."""
    if cell.against_next.p is None:
        return f"no test, {cell.against_next.reason}"
    beside = [f"Holm {cell.holm:.2g}"] if tests > 1 else []
    if cell.paired and cell.paired.p is not None:
        beside.append(f"paired {cell.paired.p:.2g}")
    words = f"p = {cell.against_next.p:.2g}" + (f" ({', '.join(beside)})" if beside else "")
    effect = cell.effect
    if effect is None or effect.g is None:
        return words
    return f"{words}, g = {effect.g:.2f} [{effect.low:.2f}, {effect.high:.2f}]"


def _paper(result: Result) -> list[str]:
    """The source of the paper's numbers, and the columns with runs at other settings.

    Empty if the table has no numbers from the paper.
    """
    if not result.paper:
        return []
    reported = {name for _, name in result.paper}
    without = [column.label for column in result.columns if column.name not in reported]
    line = f"Paper: its values in {result.table.source} (full schedule, best hyperparameters, 5 seeds)"
    return [
        f"{line}; nothing for {in_list(result.table.columns, without)}." if without else f"{line}.",
        *_equal(result),
        *(
            f"‡ {column.label}: the paper's numbers are {of_another(column.unlike)} ({'; '.join(column.unlike)})."
            for column in result.columns
            if column.unlike and column.name in reported
        ),
    ]


def _equal(result: Result) -> list[str]:
    """How many cells are shown equal to the paper's; empty without such cells and for other units than points."""
    cells = [
        (cell.mean, cell.sd, cell.n, cell.paper)
        for (_, column), cell in result.cells.items()
        if cell.paper and cell.mean is not None and cell.sd is not None and not column.unlike
    ]
    if not cells or result.metric.of_difference.unit != POINTS:
        return []
    tried = ", rows at several settings each with the same number of the paper" if _has_settings(result) else ""
    p_values = [p_of_difference(*cell) for cell in cells]
    different = sum(p is not None and p < LEVEL for p in p_values)
    return [
        f"Agreement with the paper, cells with several seeds{tried}: {sum(shown_equal(*cell) for cell in cells)} of "
        f"{len(cells)} shown equal within {MARGIN:g} percentage point (two one-sided Welch tests, p < {LEVEL}; the "
        f"paper's SD taken as over {PAPERS_SEEDS} seeds), {different} significantly different (p < {LEVEL})."
    ]


def _has_settings(result: Result) -> bool:
    """Whether an activation has rows at several settings next to one number of the paper."""
    return any(row.settings for row, column in result.cells if (row.name, column.name) in result.paper)


def _to_come(result: Result) -> list[str]:
    there: dict[Heading, list[str]] = {column: [] for column in result.columns if result.cells}
    for row in result.rows:
        for column in there:
            there[column] += [row.name] * ((row, column) in result.cells)
    return missing_lines(result.table, result.selection, there, list(result.paper))


def _incomplete(cells: Collection[Cell]) -> list[str]:
    """The runs without a value, and the values that lack some tasks."""
    lines = []
    if any(not cell.complete for cell in cells):
        lines.append("k/n: k of n runs have a value; the mean is theirs, and the cell is neither bold nor tested.")
    counts = {why: sum(getattr(cell, why) for cell in cells) for why in ("no_episode", "no_value")}
    if any(counts.values()):
        lines.append(
            f"Done and without a value: {in_words(counts, sum(len(cell.done) for cell in cells))} that are done."
        )
    if tasks := [pair for cell in cells for pair in cell.some_tasks]:
        lines.append(
            f"In {len(tasks)} of {sum(cell.n for cell in cells)} runs with a value no episode ended in some tasks: "
            f"their means over tasks are over {over_tasks(tasks)}."
        )
    return lines


def _flags(cells: Collection[Cell]) -> list[str]:
    """The meaning of the counts after means, and the number of runs that later runs replace."""
    lines = []
    if any(cell.collapsed for cell in cells):
        lines.append("Collapsed: at chance (average online accuracy ≤ 1.2 / classes) for three tasks in a row.")
    flags = {flag for cell in cells for flag in cell.flagged}
    lines += [f"{flag}: {meaning}" for flag, meaning in FLAGS.items() if flag in flags]
    if others := sorted(flags - FLAGS.keys()):
        lines.append(f"{', '.join(others)}: how many runs their agent says this of; their values are in the mean.")
    if superseded := sum(cell.superseded for cell in cells):
        lines.append(
            f"Left out: {superseded} runs with settings and a seed that were run again later under another id."
        )
    return lines
