"""Runs beside those of a registration: of the same study, of other arms or seeds."""

from collections.abc import Collection, Sequence

from analysis.compare.sections import sections
from analysis.compare.setting import task_of
from analysis.rows import Row
from plasticity_lab.errors import ConfigError


def beside(rows: Sequence[Row], by: str, runs: Collection[str]) -> list[tuple[str, Row]]:
    """The rows that differ from those of the runs in nothing but the arm or the seed, each with its arm.

    Runs on another benchmark or game, or with other settings, are of another study.
    """
    tasks = {task_of(row) for row in rows if row.run in runs}
    alike = [row for row in rows if by == "benchmark" or task_of(row) in tasks]
    try:
        found, _ = sections(alike, by)
    except ConfigError:  # less than two arms are left
        return []
    left = {row.run for row in alike if row.run in runs}
    # Runs of one arm can be part of another study as well, in which all arms have other settings.
    there = [section for section in found if left <= {row.run for row in section.rows}]
    return [
        (arm, row)
        for section in there
        for arms in section.strata.values()
        for arm, of in arms.items()
        for row in of
        if row.run not in runs
    ]
