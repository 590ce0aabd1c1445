"""Tables 3, 4 and F1 to F3: continual reinforcement learning on a cycle of four bodies."""

from collections.abc import Sequence
from typing import Literal

from analysis.names import BODIES
from analysis.tables.score_listing import returns_table
from analysis.tables.scores import Scores
from analysis.tables.table import Table


def _table(
    number: str,
    title: str,
    returns: Literal["return", "score", "gap"],
    file: str,
    beside: Sequence[str] = (),
    **only: Sequence[str],
) -> Table[Scores]:
    return returns_table(
        name=f"table{number}",
        title=f"Table {number}: {title}",
        returns=returns,
        bodies=tuple(BODIES),
        reported=(f"table{number}_{file}.csv",),
        source=f"Table {number}",
        only={"benchmark": ("mujoco_cycle",), **only},
        experiment=f"table{number}",
        beside=beside,
    )


OF_TABLE_3 = ("swish", "prelu", "sigmoid", "rand_smooth_leaky", "smooth_leaky")
OF_TABLE_4 = ("swish", "prelu", "sigmoid", "smooth_leaky", "rand_smooth_leaky")
SCORE, GAP = "plasticity score", "change of the generalization gap"
TABLES = (
    _table("3", SCORE, "score", "plasticity_score", activation=OF_TABLE_3),
    _table("4", GAP, "gap", "gap_delta", ("iqm",), activation=OF_TABLE_4),
    _table("F1", SCORE, "score", "plasticity_score", ("setting",)),
    _table("F2", "return", "return", "reward"),
    _table("F3", GAP, "gap", "gap_delta", ("iqm", "mean", "sd")),
)
