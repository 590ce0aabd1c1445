"""Numbers of a table over environments as it was printed, where the returns that they are of were not kept.

The .json of tables that were made before returns by task stood in it has such numbers, with the digits that were
printed. They are those of all its runs together, so that a part of the runs has none.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from analysis.statistics.normalise import FLOOR, PERCENTILES, Normalised
from analysis.tables.arms import arms_of, flags_of
from analysis.tables.made_by import mixed
from analysis.tables.scores import Scores, Shown


def as_printed(table: str, found: Scores) -> Scores:
    """What was found, with the numbers of that table as they were printed if there are no others of just these runs."""
    said = [(row.printed or {}).get(table) for row in found.rows if row.status == "done"]
    printed = said[0] if said else None
    if printed is None or any(other != printed for other in said) or len(said) != printed["runs"]:
        return found
    if any(arm.n for arm in found.arms.values()) or not found.arms.keys() <= printed["columns"].keys():
        return found
    arms, runs_of = {}, arms_of(found.rows)
    for label, arm in found.arms.items():
        runs = [row for row in runs_of[label] if row.status == "done"]
        columns = {column: Shown(**shown) for column, shown in printed["columns"][label].items()}
        flagged, made = flags_of(runs), mixed(runs)
        arms[label] = replace(arm, columns=columns, n=len(runs), unread=0, flagged=flagged, mixed=made)
    best = frozenset(map(tuple, printed["best"]))
    return replace(found, arms=arms, bounds=_bounds(printed.get("bounds")), printed_best=best)


def _bounds(printed: Mapping[str, list[float]] | None) -> Normalised | None:
    if printed is None:
        return None
    return Normalised(None, np.array(printed["low"]), np.array(printed["high"]), {}, FLOOR, PERCENTILES)
