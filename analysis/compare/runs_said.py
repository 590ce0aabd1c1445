"""What a caption says of the runs of a comparison: which have no value, and where arms were made differently."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from analysis.compare.comparison import Compared
from analysis.compare.words import listed, together, word
from analysis.outcomes import Why, in_words, over_tasks
from analysis.rows import Row
from analysis.tables.caption import data_line
from analysis.tables.made_by import CODE, MACHINE, made_lines
from analysis.tables.result import Cell

MADE: Mapping[str, Callable[[Mapping[str, Any]], str | None]] = {**CODE, **MACHINE}
"""What of the making of runs is compared between arms."""


def runs_said(compared: Compared) -> list[str]:
    """The sentences, in the order of a caption."""
    of_arm = rows_of(compared)
    rows = [row for rows in of_arm.values() for row in rows]
    cells = _cells(compared)
    mixes = {f"{arm}{f' on {task}' if task else ''}": cell.mixed for (arm, task), cell in cells.items()}
    return [
        *_data(compared),
        *_asked_for(rows),
        *_not_there(cells),
        *_seeds(compared, cells),
        *_beside_the_mean(cells),
        *_shared(of_arm),
        *made_lines(rows, mixes),
        *_made_otherwise(of_arm),
    ]


def rows_of(compared: Compared) -> dict[str, list[Row]]:
    """Arm → its rows in what a table is of."""
    tasks = [task for task in compared.section.strata if compared.task in (None, task)]
    strata = compared.section.strata
    return {arm.label: [row for task in tasks for row in strata[task].get(arm.label, ())] for arm in compared.arms}


def _cells(compared: Compared) -> dict[tuple[str, str], Cell]:
    """(arm, benchmark) → its runs; of one benchmark without its name."""
    return {
        (arm.label, task if compared.task is None else ""): cell
        for arm in compared.arms
        for task, cell in arm.cells.items()
        if compared.task in (None, task)
    }


def _data(compared: Compared) -> list[str]:
    lines: dict[str, list[str]] = {}
    for task, arms in compared.section.strata.items():
        if compared.task in (None, task):
            for arm, rows in arms.items():
                lines.setdefault(f"{data_line(rows)}.", []).append(task or arm)
    where = {words: together([*dict.fromkeys(of)]) for words, of in lines.items()}
    return [f"{where[words] if len(lines) > 1 or any(compared.section.strata) else 'Data'}: {words}" for words in lines]


def _asked_for(rows: Sequence[Row]) -> list[str]:
    words = []
    for name in ("protocol", "schedule", "hyperparams"):
        there = sorted({getattr(row, name) for row in rows})
        words.append(f"{name} {' and '.join(there)}")
    return [f"Asked for by {', '.join(words)}."]


def _not_there(cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """Runs that have no value, and why; and runs that were made again."""
    said = []
    for (arm, task), cell in cells.items():
        counts: dict[Why, int] = {
            "diverged": cell.diverged, "failed": cell.failed, "waiting": cell.waiting, "no_episode": cell.no_episode,
            "no_value": cell.no_value, "stopped": cell.stopped,
        }  # fmt: skip
        runs = cell.n + sum(counts.values())
        if words := in_words(counts, runs):
            said.append(f"{arm}{f' on {task}' if task else ''}: {words}")
    lines = [f"Not in the numbers: {'. '.join(said)}."] if said else []
    if superseded := sum(cell.superseded for cell in cells.values()):
        lines.append(f"Left out: {superseded} runs whose settings and seed were run again later under another id.")
    return lines


def _seeds(compared: Compared, cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """Seeds that some arms have on a benchmark and others have not."""
    lines = []
    for task in dict.fromkeys(task for _, task in cells):
        of = {arm: {word(seeds[0]) for seeds in cell.seeds} for (arm, at), cell in cells.items() if at == task}
        every = set().union(*of.values())
        lacking = {arm: sorted(every - seeds, key=lambda seed: (len(seed), seed)) for arm, seeds in of.items()}
        where = f" on {task}" if task else ""
        said = [f"{arm}: {', '.join(seeds[:10])}" for arm, seeds in lacking.items() if seeds]
        if said:
            lines.append(
                f"Seeds without a value{where}: {'; '.join(said)}. The paired test takes those that both have."
            )
        if compared.task is None and any(arm.label not in of for arm in compared.arms):
            absent = [arm.label for arm in compared.arms if arm.label not in of]
            lines.append(f"No runs{where}: {', '.join(absent)}; without them there is no score over all benchmarks.")
    return lines


def _beside_the_mean(cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """What is said of runs whose values are in the numbers."""
    lines = []
    counts: dict[str, Counter[str]] = {}
    for (arm, _), cell in cells.items():
        for flag, many in {"collapsed": cell.collapsed, **cell.flagged}.items():
            if many:
                counts.setdefault(flag, Counter())[arm] += many
    for flag, by_arm in counts.items():
        said = ", ".join(f"{many} of {arm}" for arm, many in by_arm.items())
        lines.append(f"{flag}: {said}; their values are in the numbers.")
    if tasks := [each for cell in cells.values() for each in cell.some_tasks]:
        lines.append(
            f"In {len(tasks)} runs no episode ended in some tasks: their means are over {over_tasks(tasks)} tasks."
        )
    return lines


def _shared(of_arm: Mapping[str, Sequence[Row]]) -> list[str]:
    """Runs that two arms have both, being asked for under two names."""
    lines = []
    for one, other in combinations(of_arm, 2):
        both = {row.run for row in of_arm[one]} & {row.run for row in of_arm[other]}
        if both:
            lines.append(f"{one} and {other} have {len(both)} runs in common: there they do not differ.")
    return lines


def _made_otherwise(of_arm: Mapping[str, Sequence[Row]]) -> list[str]:
    """What computed the finished runs of arms, where it is not the same for all."""
    lines = []
    for name, of in MADE.items():
        made = {
            arm: sorted({said for row in rows if row.status == "done" and (said := of(row.provenance))})
            for arm, rows in of_arm.items()
        }
        there = {tuple(words) for words in made.values() if words}
        if name != "data" and len(there) > 1:
            said = "; ".join(f"{arm}: {listed(words)}" for arm, words in made.items() if words)
            lines.append(f"Arms were not made alike, {name}: {said}.")
    return lines
