"""The tables that `python -m analysis table NAME` can make, from the files of `declared/`."""

import importlib
import pkgutil
import re
from typing import Any

from analysis.tables import declared
from analysis.tables.table import Table
from plasticity_lab.errors import ConfigError


def _place(table: Table[Any]) -> tuple[bool, str, int]:
    """A sort key: the papers' tables first, in the order of their numbers, then all others by name."""
    numbered = re.fullmatch(r"table([A-Z]?)(\d+)", table.name)
    return (False, numbered[1], int(numbered[2])) if numbered else (True, table.name, 0)


_FILES = [
    importlib.import_module(f"{declared.__name__}.{file.name}") for file in pkgutil.iter_modules(declared.__path__)
]
TABLES: dict[str, Table[Any]] = {
    table.name: table for table in sorted((table for file in _FILES for table in file.TABLES), key=_place)
}
"""Name → table, in the order of their listing."""


def named(name: str) -> Table[Any]:
    """The table of a name such as `2`, `table2`, `E3`, `tableE3` or `table_e3`.

    Raises ConfigError if no table has that name.
    """
    by_word = {_bare(known): table for known, table in TABLES.items()}
    if (bare := _bare(name)) not in by_word:
        known = ", ".join(table.removeprefix("table") for table in TABLES)
        raise ConfigError(f"There is no table '{name}'; there are {known}.")
    return by_word[bare]


def _bare(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "").removeprefix("table")
