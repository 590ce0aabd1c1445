"""Table B1: which settings of an activation are searched, as conf/activation/ lists them."""

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
"""Setting, or settings that move together with a comma between → values; a grid is the product of its settings."""
GRIDS = ("case_study", "benchmarks")
"""What hyperparams.grid takes: Table B1's, and with what Appendix B.4 adds."""


Line = dict[str, Any]
"""What the CSV has of an activation, a grid and who chose its values; `finished` where there are runs."""


def build(table: Table[list[Line]], rows: Sequence[Row], metric_name: str | None) -> list[list[Line]]:
    """A line for each activation, grid and source of its values.

    Where there are runs, it says how many settings of each activation have finished ones.
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
        for grid, whose, values, count in _grids(name):
            tried = len(finished.get(name, ()))
            lines.append(
                {
                    "table": table.name,
                    "activation": name,
                    "grid": grid,
                    "values": values,
                    "whose": whose,
                    "settings": count,
                    **({"finished": tried} if rows else {}),
                }
            )
    return [lines]


def render(table: Table[list[Line]], found: list[Line]) -> Listing:
    """The same as words."""
    body = [
        [
            *(display(ACTIVATIONS, line["activation"]), line["grid"], line["values"], line["whose"]),
            *(f"{line[count]:,}" for count in ("settings", "finished") if count in line),
        ]
        for line in found
    ]
    counted = ["in the store"] * ("finished" in found[0])
    header = ["activation", "grid", "values explored", "whose", "settings", *counted]
    return Listing(
        table.name, table.title, header, body, found, right=frozenset(range(4, len(header))), long=frozenset({2})
    )


def caption(table: Table[list[Line]], found: list[Line]) -> list[str]:
    """What the grids are, and what was counted."""
    said = [
        "As the files of conf/activation/ list them, and hyperparams=grid trains them, times the learning rates of "
        "conf/hyperparams/grid.yaml; settings: how many, pairs with the lower bound above the upper included.",
        f"Whose: paper, values that {table.source} print; ours, values that we chose where no grid is printed.",
    ]
    if "finished" in found[0]:
        said.append("In the store: how many settings of the activation's shape have runs that finished or diverged.")
    return said


def _grids(name: str) -> list[tuple[str, str, str, int]]:
    """For which runs, whose, what values and how many settings: of each grid of an activation; alike ones once."""
    listed = option("activation", name).get("grids") or {}
    found: dict[tuple[str, str], tuple[list[str], int]] = {}
    for grid in GRIDS:
        for whose, content in (listed.get(grid) or {}).items():
            blocks = content if isinstance(content, list) else [content]
            words = "; or ".join(_words(block) for block in blocks)
            count = sum(math.prod(map(len, block.values())) for block in blocks)
            found.setdefault((whose, words), ([], count))[0].append(grid)
    alike = [(" and ".join(grids), whose, words, count) for (whose, words), (grids, count) in found.items()]
    return alike or [(" and ".join(GRIDS), "paper", NOTHING, 1)]


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
