"""The paper's numbers for tables over environments, as it prints them."""

import json
from collections.abc import Mapping
from typing import Any

from analysis.names import BODIES
from analysis.reported.reported import lines
from analysis.tables.selected import words_of
from analysis.tables.table import Table

SETTING = "setting"
"""The column with an activation's own settings."""
_PRINTED = {"iqm": "iqm_delta", "mean": "mean_delta", "sd": "std_delta"}
Printed = Mapping[tuple[str, str], str]
"""(activation, column) → as printed."""


def paper_of(table: Table[Any]) -> dict[tuple[str, str], str]:
    """(activation, column) → as the paper prints it."""
    found: dict[tuple[str, str], str] = {}
    bodies = {shown: name for name, shown in BODIES.items()}
    for line in (line for file in table.reported for line in lines(file)):
        activation = line["activation"]
        if activation not in table.only.get("activation", [activation]):
            continue
        if table.returns == "score":
            found[activation, "score"] = f"{line['iqm']} ± {line['ci95_half_width']}"
            if SETTING in table.beside:
                own = {**json.loads(line["hyperparameters"]), "lr": float(line["lr"])}
                found[activation, SETTING] = words_of(own, list(own))
            continue
        mean, behind = ("reward_mean", "reward_sd") if table.returns == "return" else ("delta_mean", "delta_ci95")
        found[activation, bodies[line["env"]]] = f"{line[mean]} ± {line[behind]}"
        found |= {(activation, column): line[of] for column, of in _PRINTED.items() if of in line}
    return found
