"""Where a table's numbers come from: the code, the machines, the settings and the seed of every run in it."""

import json
from collections.abc import Sequence

from analysis.load import Row, key
from analysis.tables.table import Result

SHARED = ("commit", "dirty", "versions", "python", "cpu", "device", "mode")
"""What of a run's provenance says how its numbers came about; runs that agree in it stand together."""


def origin(results: Sequence[Result], rows: Sequence[Row]) -> str:
    """JSON: a list of groups of runs, `made` by the same code on the same sort of machine.

    `runs`: run id → activation, its own settings, benchmark, names it was asked under, seed, summary (as stored).
    """
    shown = {run for result in results for cell in result.cells.values() for run in cell.runs}
    groups: dict[str, dict] = {}
    for row in rows:
        if row.run in shown:
            made = {name: row.provenance.get(name) for name in SHARED}
            group = groups.setdefault(key(made), {"made": made, "runs": {}})
            group["runs"][row.run] = {
                "activation": row.activation,
                "settings": dict(row.own),
                "benchmark": row.benchmark,
                "protocol": row.protocol,
                "schedule": row.schedule,
                "seed": row.seeds[0],
                "summary": dict(row.summary),
            }
    return json.dumps(list(groups.values()), indent=1) + "\n"
