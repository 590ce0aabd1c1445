"""The caption's sentences about the runs of a comparison: runs without a value, and differences in code or machines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from analysis.compare.comparison import Compared
from analysis.compare.setting import listed, together, word
from analysis.outcomes import Why, in_words, over_tasks
from analysis.rows import NAMED_BY_THE_ASKER, Row
from analysis.tables.caption import data_line
from analysis.tables.made_by import CODE, MACHINE, made_lines
from analysis.tables.result import Cell

WHY: tuple[Why, ...] = ("diverged", "failed", "waiting", "no_episode", "no_value", "stopped")
"""The outcomes of runs without a value, in the order of the caption."""


def runs_said(compared: Compared) -> list[str]:
    """The sentences, in the order of a caption."""
    of_arm = rows_of(compared)
    rows = [row for rows in of_arm.values() for row in rows]
    cells = {  # one benchmark needs no name
        (arm.label, task if compared.task is None else ""): cell
        for arm in compared.arms
        for task, cell in arm.cells.items()
    }
    asked = [f"{name} {' and '.join(sorted({getattr(row, name) for row in rows}))}" for name in NAMED_BY_THE_ASKER]
    return [
        *_data(compared),
        f"Asked for by {', '.join(asked)}.",
        *_without_value(cells),
        *_seeds(compared, cells),
        *_flags(cells),
        *_shared(of_arm),
        *made_lines(rows, {_place(arm, task): cell.mixed for (arm, task), cell in cells.items()}),
        *_made_otherwise(of_arm),
    ]


def rows_of(compared: Compared) -> dict[str, list[Row]]:
    """Arm → its rows on the benchmarks of a table."""
    found: dict[str, list[Row]] = {arm.label: [] for arm in compared.arms}
    for task, arms in compared.section.strata.items():
        if compared.task in (None, task):
            for arm in found.keys() & arms.keys():
                found[arm] += arms[arm]
    return found


def _place(arm: str, task: str) -> str:
    return f"{arm} on {task}" if task else arm


def _data(compared: Compared) -> list[str]:
    places: dict[str, list[str]] = {}
    for task, arms in compared.section.strata.items():
        if compared.task in (None, task):
            for arm, rows in arms.items():
                places.setdefault(f"{data_line(rows)}.", []).append(task or arm)
    if len(places) < 2 and not any(compared.section.strata):
        return [f"Data: {words}" for words in places]
    return [f"{together([*dict.fromkeys(names)])}: {words}" for words, names in places.items()]


def _without_value(cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """Runs without a value, and the reasons; and runs that were run again."""
    said = []
    for (arm, task), cell in cells.items():
        counts: dict[Why, int] = {why: getattr(cell, why) for why in WHY}
        if words := in_words(counts, cell.n + sum(counts.values())):
            said.append(f"{_place(arm, task)}: {words}")
    lines = [f"Not in the numbers: {'. '.join(said)}."] if said else []
    if superseded := sum(cell.superseded for cell in cells.values()):
        lines.append(
            f"Left out: {superseded} runs with settings and a seed that were run again later under another id."
        )
    return lines


def _seeds(compared: Compared, cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """Seeds that only some arms have on a benchmark."""
    lines = []
    for task in dict.fromkeys(task for _, task in cells):
        where = f" on {task}" if task else ""
        seeds_of = {arm: {word(seeds[0]) for seeds in cell.seeds} for (arm, at), cell in cells.items() if at == task}
        every = set().union(*seeds_of.values())
        lacking = {arm: sorted(every - seeds, key=lambda seed: (len(seed), seed)) for arm, seeds in seeds_of.items()}
        if said := [f"{arm}: {', '.join(seeds[:10])}" for arm, seeds in lacking.items() if seeds]:
            lines.append(
                f"Seeds without a value{where}: {'; '.join(said)}. The paired test takes those that both have."
            )
        absent = [arm.label for arm in compared.arms if arm.label not in seeds_of]
        if compared.task is None and absent:
            lines.append(f"No runs{where}: {', '.join(absent)}; without them there is no score over all benchmarks.")
    return lines


def _flags(cells: Mapping[tuple[str, str], Cell]) -> list[str]:
    """Remarks on flagged runs that are nevertheless included in the numbers."""
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
    """Runs that belong to two arms, because they were requested under two names."""
    lines = []
    for one, other in combinations(of_arm, 2):
        both = {row.run for row in of_arm[one]} & {row.run for row in of_arm[other]}
        if both:
            lines.append(f"{one} and {other} have {len(both)} runs in common: there they do not differ.")
    return lines


def _made_otherwise(of_arm: Mapping[str, Sequence[Row]]) -> list[str]:
    """The code and machines of the finished runs of arms, if they are not the same for all."""
    lines = []
    for name, of in {**CODE, **MACHINE}.items():
        made = {
            arm: sorted({said for row in rows if row.status == "done" and (said := of(row.provenance))})
            for arm, rows in of_arm.items()
        }
        different = {tuple(words) for words in made.values() if words}
        if name != "data" and len(different) > 1:
            said = "; ".join(f"{arm}: {listed(words)}" for arm, words in made.items() if words)
            lines.append(f"Arms were made in different ways, {name}: {said}.")
    return lines
