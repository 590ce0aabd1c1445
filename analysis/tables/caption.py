"""What a table's caption says: metric, seeds, data, protocol, how the best was judged, and what the numbers are not."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analysis.names import DATA
from analysis.outcomes import in_words, over_tasks
from analysis.rows import Row
from analysis.statistics.covered import with_coverage
from analysis.statistics.method import Method, shared
from analysis.tables.made_by import made_lines
from analysis.tables.missing import NOT_HERE, missing_lines, waiting_lines
from analysis.tables.paper import of_another
from analysis.tables.result import Cell, Heading, Result
from analysis.tables.table import Table
from plasticity_lab.records.training_code import MIXED, MIXED_KIND, REFILLED


def caption(table: Table[Result], result: Result) -> tuple[str, ...]:
    """The caption's sentences, one a line."""
    rows = result.runs
    if not rows:
        absent = table.lacks()
        reason = f"{NOT_HERE}, which lacks {' and '.join(absent)}" if absent else "no runs of it yet"
        lines = [f"{_measured(result)}: {reason}; the paper's values alone."]
        return (*lines, *(_paper(result) if result.has_reported else []), *([] if absent else _to_come(result)))
    lines = [_what(result), _selection(result), *[f"{column.label}: {column.data}." for column in result.columns]]
    mixes = {f"{head.label} on {column.label}": cell.mixed for (head, column), cell in result.cells.items()}
    lines += made_lines(rows, mixes)
    lines += [f"{column.label} {caution}" for column in result.columns for caution in column.cautions]
    if result.metric.better:
        lines += _significance(result, shared(row.methods for row in rows)["effect"])
    if result.has_reported:
        lines += _paper(result)
    lines += _reference(result)
    return (*lines, *_incomplete(result.cells.values()), *_to_come(result), *waiting_lines(list(result.cells.values())))


def _reference(result: Result) -> list[str]:
    """What stands beside cells that are compared with the reference column."""
    name, of = result.table.reference, result.table.columns
    if name is None or not result.above:
        return []
    return [
        f"Above ref.: the mean less that of {of}={name} in the same row; below zero where a network that begins "
        "anew learns better."
    ]


def _to_come(result: Result) -> list[str]:
    there = {
        column: [row.name for row in result.rows if (row, column) in result.cells]
        for column in (result.columns if result.cells else [])
    }
    return missing_lines(result.table, result.selection, list(there), there, list(result.paper))


def data_line(rows: Sequence[Row]) -> str:
    """The data of runs of one study by name, and how much of it they saw."""
    # A run that never began does not say whether its data was the whole set; those that trained do.
    loaded = [row for row in rows if "data_part" in row.provenance] or rows
    return "; ".join(filter(None, [" and ".join(sorted({_data(row) for row in loaded})), _length(rows[0].study)]))


def _data(row: Row) -> str:
    source, said = row.study.get("benchmark.source"), row.provenance.get("data")
    name = DATA.get(source, source) if source else said or f"the data of {row.benchmark}"
    return f"part of {name}" if row.provenance.get("data_part") else name


def _length(study: Mapping[str, Any]) -> str:
    counts = {what: study.get(f"benchmark.{what}") for what in ("tasks", "epochs", "steps", "environment_steps")}
    words = [
        f"{many:,} {(what if many != 1 else what[:-1]).replace('_', ' ')}"
        for what, many in counts.items()
        if many is not None
    ]
    length = " of ".join([words[0], ", at most ".join(words[1:])]) if len(words) > 1 else "".join(words)
    batch = study.get("benchmark.batch_size")
    return f"{length}, batches of {batch}" if length and batch else length


def _what(result: Result) -> str:
    seeds = sorted({cell.expected for cell in result.cells.values()})
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    over = "1 seed (no SD)" if seeds == [1] else f"{many} seeds"
    return f"{_measured(result)}, mean ± SD over {over}."


def _measured(result: Result) -> str:
    return result.metric.title + (f" ({result.metric.unit})" if result.metric.unit else "")


def _selection(result: Result) -> str:
    chosen = dict(result.selection)
    words = []
    if "protocol" in chosen:
        words.append(f"protocol: {chosen['protocol']}")
    if "schedule" in chosen:
        full = chosen["schedule"] == "full"
        words.append("full schedule" if full else f"reduced schedule: {chosen['schedule']}")
    if "hyperparams" in chosen:
        words.append(f"hyperparameters: {chosen['hyperparams']}")
    if chosen.get("intervention", "none") != "none":
        words.append(f"intervention: {chosen['intervention']}")
    sentence = "; ".join(words)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _significance(result: Result, effect: Method) -> list[str]:
    table = result.table
    best = "best, the lowest," if result.metric.better == "less" else "best"
    others = "the next best of them" if table.against == "next" else "each of the others of them"
    rule = (
        f"Bold (** in plain text): the {best} of a column's complete cells, and those from which it is not told apart "
        f"(Welch's two-sided t-test, unequal variances, p ≥ {table.level}). †: that test, of whether the best has the "
        f"same mean as {others}, has p < {table.level}, not corrected for other tests: it is better."
    )
    verdicts = [*filter(None, (_verdict(result, column) for column in result.columns))]
    return [rule, *_beside_welch(result, effect), *verdicts]


def _beside_welch(result: Result, effect: Method) -> list[str]:
    """What the numbers beside Welch's p are, where there are any."""
    best = [cell for cell in result.cells.values() if cell.best]
    words = []
    if result.tests > 1:
        words.append(f"Holm: Welch's p, corrected for the {result.tests} tests of a column's best")
    if any(cell.paired and cell.paired.p is not None for cell in best):
        words.append("paired: the t-test of the differences at the same seeds")
    if any(cell.effect and cell.effect.g is not None for cell in best):
        runs = min(cell.n for cell in best if cell.effect and cell.effect.g is not None)
        made = with_coverage(effect, "effect", runs, 1)
        words.append(f"g: Hedges' effect size, the difference in SDs over seeds, with its {made}")
    line = "; ".join(words)
    return [f"{line[:1].upper()}{line[1:]}."] if line else []


def _verdict(result: Result, column: Heading) -> str | None:
    """How the best of a column stands against the next best; None where there are not two to compare."""
    for row in result.rows:
        cell = result.cells.get((row, column))
        if cell and cell.best and cell.against_next:
            return f"{column.label}: {row.label} against {cell.next}: {_outcome(cell, result.tests)}."
    return None


def _outcome(cell: Cell, tests: int) -> str:
    """Welch's p, with what stands beside it; or why there is none."""
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
    """What the paper's numbers are, and beside which runs they are of something else."""
    told = {name for _, name in result.paper}
    without = [column.label for column in result.columns if column.name not in told]
    line = f"Paper: what it reports in {result.table.source} (full schedule, best hyperparameters, 5 seeds)"
    return [
        f"{line}; nothing for {', '.join(without)}." if without else f"{line}.",
        *(
            f"‡ {column.label}: the paper's numbers are {of_another(column.unlike)} ({'; '.join(column.unlike)})."
            for column in result.columns
            if column.unlike and column.name in told
        ),
    ]


def _incomplete(cells: Collection[Cell]) -> list[str]:
    lines = []
    if any(not cell.complete for cell in cells):
        lines.append("k/n: k of n runs have a value; the mean is theirs, and the cell is neither bold nor tested.")
    counts = {why: sum(getattr(cell, why) for cell in cells) for why in ("no_episode", "no_value")}
    if any(counts.values()):
        lines.append(
            f"Done and without a value: {in_words(counts, sum(len(cell.done) for cell in cells))} that are done."
        )
    if tasks := [each for cell in cells for each in cell.some_tasks]:
        having = sum(cell.n for cell in cells)
        lines.append(
            f"In {len(tasks)} of {having} runs with a value no episode ended in some tasks: their means over tasks "
            f"are over {over_tasks(tasks)}."
        )
    if any(cell.collapsed for cell in cells):
        lines.append("Collapsed: at chance (average online accuracy ≤ 1.2 / classes) for three tasks in a row.")
    flags = sorted({flag for cell in cells for flag in cell.flagged})
    for flag, begun in ((MIXED, "by one code"), (MIXED_KIND, "on one kind of device")):
        if flag in flags:
            flags.remove(flag)
            lines.append(
                f"{flag}: how many runs were begun {begun} and ended {begun[:2]} another; their values are in the mean."
            )
    if REFILLED in flags:
        flags.remove(REFILLED)
        lines.append(
            f"{REFILLED}: how many runs were killed, lost their replay memory and went on with an empty one; their "
            "values are in the mean."
        )
    if flags:
        lines.append(f"{', '.join(flags)}: how many runs their agent says this of; their values are in the mean.")
    if superseded := sum(cell.superseded for cell in cells):
        lines.append(f"Left out: {superseded} runs whose settings and seed were run again later under another id.")
    return lines
