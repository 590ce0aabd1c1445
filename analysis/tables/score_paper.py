"""The paper's numbers for tables over environments, as it prints them."""

import json
from collections.abc import Mapping

from analysis.names import BODIES
from analysis.reported.reported import lines
from analysis.tables.scores import ScoreTable
from analysis.tables.selected import words_of

SETTING = "setting"
"""The column with an activation's own settings."""
_PRINTED = {"iqm": "iqm_delta", "mean": "mean_delta", "sd": "std_delta"}
Printed = Mapping[tuple[str, str], str]
"""(activation, column) → as printed."""


def paper_of(table: ScoreTable) -> dict[tuple[str, str], str]:
    """(activation, column) → as the paper prints it."""
    found: dict[tuple[str, str], str] = {}
    bodies = {shown: name for name, shown in BODIES.items()}
    for line in lines(table.reported):
        activation = line["activation"]
        if table.activations and activation not in table.activations:
            continue
        if table.kind == "score":
            found[activation, "score"] = f"{line['iqm']} ± {line['ci95_half_width']}"
            if table.settings:
                own = {**json.loads(line["hyperparameters"]), "lr": float(line["lr"])}
                found[activation, SETTING] = words_of(own, list(own))
            continue
        mean, behind = ("reward_mean", "reward_sd") if table.kind == "return" else ("delta_mean", "delta_ci95")
        found[activation, bodies[line["env"]]] = f"{line[mean]} ± {line[behind]}"
        found |= {(activation, column): line[of] for column, of in _PRINTED.items() if of in line}
    return found
