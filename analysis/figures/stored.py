"""A drawing as JSON, and back: what is needed to draw it again, without the runs that it was made from."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from analysis.figures.drawing import Drawing, Panel, Series
from analysis.origin import kind_of, said_of_table
from plasticity_lab.errors import ConfigError


def as_json(drawing: Drawing) -> str:
    """The whole drawing; a number that is not finite is null."""
    return json.dumps(_plain(asdict(drawing)), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def of_file(path: Path) -> Drawing:
    """The drawing that `as_json` wrote into a file.  Raises ConfigError for a file that holds none."""
    if kind_of(path.expanduser()) == "table":
        raise ConfigError(said_of_table(path))
    try:
        content = json.loads(path.expanduser().read_text(encoding="utf-8"))
        panels = [_panel(panel) for panel in content["panels"]]
        return Drawing(content["name"], content["title"], panels, content["caption"])
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} holds no figure; `python -m analysis figure NAME` writes NAME.json.") from error


def _panel(content: Mapping[str, Any]) -> Panel:
    return Panel(**{**content, "series": [_series(series) for series in content["series"]]})


def _series(content: Mapping[str, Any]) -> Series:
    ends = [None if each is None else (each[0], each[1]) for each in content["y_range"]]
    places = {axis: [float("nan") if each is None else each for each in content[axis]] for axis in ("x", "y")}
    return Series(**{**content, **places, "y_range": ends})


def _plain(value: Any) -> Any:
    """Sequences as lists, and None for a number that is not finite, which JSON has not."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
