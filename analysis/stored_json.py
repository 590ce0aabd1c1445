"""Tell the .json file of a figure from that with a table's runs, and name the command that reads it."""

import json
import shlex
from pathlib import Path
from typing import Literal

ENDING = ".json"
Kind = Literal["figure", "table"]


def kind_of(path: Path) -> Kind | None:
    """The kind of a file by its outermost keys; None if it is neither, or cannot be read."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if isinstance(content, dict) and "panels" in content:
        return "figure"
    is_table = isinstance(content, list) and all(isinstance(group, dict) and "runs" in group for group in content)
    return "table" if is_table else None


def said_of_figure(path: Path) -> str:
    """The message for a figure's file in the place of runs."""
    return f"{path} holds a figure, and not the runs that it shows; `python -m analysis figure {_word(path)}` draws it."


def said_of_table(path: Path) -> str:
    """The message for a table's file in the place of a figure."""
    return (
        f"{path} holds the runs of a table, and no figure; `python -m analysis figure NAME --store {_word(path)}` "
        f"draws one of them, `python -m analysis table --store {_word(path)}` makes the table."
    )


def _word(path: Path) -> str:
    return shlex.quote(str(path))
