"""The curve of every run, of at most fifty points: its agent's measurements along the training."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from analysis.figures.courses import binned, body_name, extents
from analysis.figures.drawing import Metrics, with_unit
from analysis.figures.style import POINTS
from analysis.report.runs import rounded
from analysis.rows import Row
from plasticity_lab.records.record_facts import MEASURED

NUMBERS, LEAST = 1_000_000, 10
"""About how many numbers all curves hold together: curves of very many runs have fewer points, but at least ten."""
DIGITS = 4


def curves_payload(rows: Sequence[Row], metrics: Metrics) -> dict[str, Any]:
    """points: how many a curve has at most. panels: one for each column of each agent, with title, unit, the meaning of
    x, and `lines`: the place of a run among the rows → its lines: name (of a body, "" if there are none), x and y.
    """
    place_of = {row.run: place for place, row in enumerate(rows)}
    alike: dict[int, list[Row]] = {}
    for row in rows:
        if row.status in MEASURED:
            alike.setdefault(id(row.declared), []).append(row)
    curves = sum(len(group) * len(group[0].declared.curves) for group in alike.values())
    points = max(LEAST, min(POINTS, NUMBERS // max(curves, 1)))
    panels = []
    for group in alike.values():
        read = metrics([row.run for row in group])
        known = extents(read)
        for column in group[0].declared.curves:
            bins, whole = binned(read, column, known, points)
            if len(bins):
                title, x = with_unit(column.measure.title, column.measure), "task" if whole else "steps of the run"
                lines = _lines(bins, place_of, {row.run: row for row in group})
                panels.append({"y": title, "x": x, "lines": lines})
    return {"points": points, "panels": panels}


def _lines(bins: pl.DataFrame, place_of: dict[str, int], row_of: dict[str, Row]) -> dict[str, list]:
    several = bins["body"].n_unique() > 1
    short = {place: rounded(place, DIGITS + 1) for place in bins["place"].unique().to_list()}
    places = [short[place] for place in bins["place"].to_list()]
    values = [rounded(value, DIGITS) for value in bins["value"].to_list()]
    tasks = bins["task"].to_list()
    lines: dict[str, list] = {}
    # Not by Polars' `group_by`: it makes a frame of each curve, which takes longer than all else here.
    curves = bins.select(pl.struct("run", "body").rle().struct.unnest())
    end = 0
    for length, curve in curves.iter_rows():
        run, body = curve["run"], curve["body"]
        begin, end = end, end + length
        x, y = places[begin:end], values[begin:end]
        if several:
            # If another body was learned in between, the line is broken.
            for at in reversed(range(1, length)):
                if tasks[begin + at] > tasks[begin + at - 1] + 1:
                    x.insert(at, None)
                    y.insert(at, None)
        name = body_name(row_of[run], body) if several else ""
        lines.setdefault(str(place_of[run]), []).append([name, x, y])
    return lines
