"""What a table's caption says: metric, seeds, data, protocol, how the best was judged, and what the numbers are not."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analysis.names import DATA
from analysis.rows import Row
from analysis.tables.table import Cell, Column, Result


def caption(result: Result) -> tuple[str, ...]:
    """The caption's sentences, one a line."""
    lines = [_what(result), _selection(result), *[f"{column.label}: {column.data}." for column in result.columns]]
    lines += [
        f"{column.label} is trained in class blocks: the column measures recency (how fast a network follows the class "
        "shown last) more than plasticity."
        for column in result.columns
        if column.recency
    ]
    if result.metric.better:
        lines += _significance(result)
    if result.has_reported:
        lines.append(_paper(result))
    return (*lines, *_missing(result.cells.values()))


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
    unit = f" ({result.metric.unit})" if result.metric.unit else ""
    return f"{result.metric.title}{unit}, mean ± SD over {over}."


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


def _significance(result: Result) -> list[str]:
    level = result.table.level
    best = "best, the lowest," if result.metric.better == "less" else "best"
    rule = (
        f"Bold (** in plain text): the {best} of a column's complete cells; †: better than the next best of them, "
        f"Welch's two-sided t-test (unequal variances), p < {level}."
    )
    verdicts = [*filter(None, (_verdict(result, column) for column in result.columns))]
    return [rule, *_beside_welch(result), *verdicts]


def _beside_welch(result: Result) -> list[str]:
    """What the numbers beside Welch's p are, where there are any."""
    best = [cell for cell in result.cells.values() if cell.best]
    tests = _tests(result)
    words = []
    if tests > 1:
        words.append(f"Holm: Welch's p, corrected for the {tests} tests of a column's best")
    if any(cell.paired and cell.paired.p is not None for cell in best):
        words.append("paired: the t-test of the differences at the same seeds")
    if any(cell.effect and cell.effect.g is not None for cell in best):
        words.append("g: Hedges' effect size, the difference in SDs over seeds, with its 95 % interval")
    line = "; ".join(words)
    return [f"{line[:1].upper()}{line[1:]}."] if line else []


def _tests(result: Result) -> int:
    """For how many tests Holm's correction was made."""
    return sum(cell.holm is not None for cell in result.cells.values())


def _verdict(result: Result, column: Column) -> str | None:
    """How the best of a column stands against the next best; None where there are not two to compare."""
    for row in result.rows:
        cell = result.cells.get((row, column))
        if cell and cell.best and cell.against_next:
            return f"{column.label}: {row.label} against {cell.next}: {_outcome(cell, _tests(result))}."
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


def _paper(result: Result) -> str:
    told = {column.name for (_, column), cell in result.cells.items() if cell.paper}
    without = [column.label for column in result.columns if column.name not in told]
    line = f"Paper: what it reports in {result.table.source} (full schedule, best hyperparameters, 5 seeds)"
    return f"{line}; nothing for {', '.join(without)}." if without else f"{line}."


def _missing(cells: Collection[Cell]) -> list[str]:
    lines = []
    if any(not cell.complete for cell in cells):
        lines.append("k/n: k of n runs have finished; the mean is theirs, and the cell is neither bold nor tested.")
    if any(cell.collapsed for cell in cells):
        lines.append("Collapsed: at chance (average online accuracy ≤ 1.2 / classes) for three tasks in a row.")
    if flags := sorted({flag for cell in cells for flag in cell.flagged}):
        lines.append(f"{', '.join(flags)}: how many runs their agent says this of; their values are in the mean.")
    if superseded := sum(cell.superseded for cell in cells):
        lines.append(f"Left out: {superseded} runs whose settings and seed were run again later under another id.")
    return lines
