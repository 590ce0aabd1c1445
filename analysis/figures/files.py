"""The files of a figure: pictures, its data as CSV, and itself as JSON, which draws it again without the runs."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any

from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.static import pictures
from analysis.figures.style import USUAL, Paper
from analysis.origin import kind_of, said_of_table
from analysis.tables.render import guarded
from plasticity_lab.errors import ConfigError

COLUMNS = (
    "figure", "panel", "series", "activation", "x_is", "x", "x_sd", "y_is", "y", "y_sd", "y_low", "y_high", "n",
    "runs",
)  # fmt: skip
X_ENDS = ("x_low", "x_high")
"""Further columns of a figure that has points with unequal sides along x."""


def files_of(drawing: Drawing, paper: Paper = USUAL) -> dict[str, bytes]:
    """Ending → content of every file.  Raises ConfigError for a font that is not installed."""
    return {
        **pictures(drawing, paper),
        "csv": csv_text(drawing).encode(),
        "json": as_json(drawing).encode(),
    }


def csv_text(drawing: Drawing) -> str:
    """A line for each point, every number in full; `runs` are the ids of its runs."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    has_x_ends = any(any(series.x_range) for panel in drawing.panels for series in panel.series)
    writer.writerow([*COLUMNS, *(X_ENDS if has_x_ends else ())])
    for panel in drawing.panels:
        for series in panel.series:
            points: Iterator[tuple[Any, ...]] = zip_longest(
                series.x, series.x_sd, series.y, series.y_sd, series.y_range, series.n, series.x_range
            )
            for x, x_sd, y, y_sd, y_range, n, x_range in points:
                cells = [
                    drawing.name, panel.title, series.label, series.key, panel.x_label, x, x_sd, panel.y_label, y, y_sd,
                    *(y_range or ("", "")), n, " ".join(series.runs),
                    *((x_range or ("", "")) if has_x_ends else ()),
                ]  # fmt: skip
                writer.writerow([guarded(cell) for cell in cells])
    return file.getvalue()


def as_json(drawing: Drawing) -> str:
    """The whole drawing; a number that is not finite is null."""
    return json.dumps(_plain(asdict(drawing)), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def of_file(path: Path) -> Drawing:
    """The drawing that `as_json` wrote into a file.  Raises ConfigError for a file that holds none."""
    if kind_of(path.expanduser()) == "table":
        raise ConfigError(said_of_table(path))
    try:
        content = json.loads(path.expanduser().read_text(encoding="utf-8"))
        panels = [
            Panel(**{**panel, "series": [_series(series) for series in panel["series"]]}) for panel in content["panels"]
        ]
        own_ranges = content.get("own_ranges", False)
        return Drawing(content["name"], content["title"], panels, content["caption"], own_ranges)
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} holds no figure; `python -m analysis figure NAME` writes NAME.json.") from error


def _series(content: Mapping[str, Any]) -> Series:
    ends = {
        name: [None if each is None else (each[0], each[1]) for each in content.get(name, ())]
        for name in ("x_range", "y_range")
    }
    places = {axis: [float("nan") if each is None else each for each in content[axis]] for axis in ("x", "y")}
    return Series(**{**content, **places, **ends})


def _plain(value: Any) -> Any:
    """Sequences as lists, and None for a number that is not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
