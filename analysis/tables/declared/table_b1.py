"""Table B1: the search grids of each activation, from the files of conf/activation/."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.conf import FOLDER, option
from analysis.names import ACTIVATIONS, display
from analysis.rows import Row, key
from analysis.tables.listing import NOTHING, Listing
from analysis.tables.table import Table

Block = Mapping[str, Sequence[Any]]
"""Setting, or several settings that change together (separated by commas) → values.

A grid is the product of its settings.
"""
GRIDS = ("case_study", "benchmarks")
"""The values of hyperparams.grid: Table B1's grid, and the grid with the additions of Appendix B.4."""
Line = dict[str, Any]
"""The CSV line for an activation, a grid and the source of its values; with `finished` if the store has runs."""


def build(table: Table[list[Line]], rows: Sequence[Row], metric_name: str | None) -> list[list[Line]]:
    """One line for each activation, grid and source of its values.

    If rows are given, the line also has the number of the activation's settings with finished or diverged runs.
    """
    there = {path.stem for path in (FOLDER / "activation").glob("*.yaml")}
    names = [name for name in ACTIVATIONS if name in there] + sorted(there - ACTIVATIONS.keys())
    finished: dict[str, set[str]] = {}
    for row in rows:
        if row.status in ("done", "diverged"):
            shape = {name: value for name, value in row.own.items() if name.startswith("activation.")}
            finished.setdefault(row.activation, set()).add(key(shape))
    lines: list[Line] = []
    for name in names:
        tried = {"finished": len(finished.get(name, ()))} if rows else {}
        lines += [{"table": table.name, "activation": name, **grid, **tried} for grid in _grids(name)]
    return [lines]


def render(table: Table[list[Line]], content: list[Line]) -> Listing:
    """The same lines as words."""
    body = []
    for line in content:
        counts = [f"{line[count]:,}" for count in ("settings", "finished") if count in line]
        body.append([display(ACTIVATIONS, line["activation"]), line["grid"], line["values"], line["source"], *counts])
    header = ["activation", "grid", "values explored", "source", "settings"]
    header += ["in the store"] * ("finished" in content[0])
    right, long = frozenset(range(4, len(header))), frozenset({2})
    return Listing(table.name, table.title, header, body, content, right=right, long=long)


def caption(table: Table[list[Line]], content: list[Line]) -> list[str]:
    """The meaning of the grids and of the counts."""
    lines = [
        "As the files of conf/activation/ list them, and hyperparams=grid trains them, times the learning rates of "
        "conf/hyperparams/grid.yaml; settings: how many, pairs with the lower bound above the upper included.",
        f"Source: paper, values that {table.source} print; ours, values that we chose because no grid is printed.",
    ]
    if "finished" in content[0]:
        lines.append("In the store: how many settings of the activation's shape have runs that finished or diverged.")
    return lines


def _grids(name: str) -> list[Line]:
    """The part of each line that describes a grid of an activation; equal grids are listed once."""
    listed = option("activation", name).get("grids") or {}
    found: dict[tuple[str, str], tuple[list[str], int]] = {}
    for grid in GRIDS:
        for source, content in (listed.get(grid) or {}).items():
            blocks = content if isinstance(content, list) else [content]
            words = "; or ".join(_words(block) for block in blocks)
            count = sum(math.prod(map(len, block.values())) for block in blocks)
            found.setdefault((source, words), ([], count))[0].append(grid)
    found = found or {("paper", NOTHING): (list(GRIDS), 1)}
    return [
        {"grid": " and ".join(grids), "values": words, "source": source, "settings": count}
        for (source, words), (grids, count) in found.items()
    ]


def _words(block: Block) -> str:
    return ", ".join(f"{names} ∈ {_values(values)}" for names, values in block.items()) or NOTHING


def _values(values: Sequence[Any]) -> str:
    return "{" + ", ".join(value if isinstance(value, str) else json.dumps(value) for value in values) + "}"


TABLE_B1 = Table(
    name="tableB1",
    title="Table B1: settings that are searched",
    build=build,
    render=render,
    caption=caption,
    runs="shown",
    source="Table B1 and Appendix B.4",
)

TABLES = (TABLE_B1,)
