"""Tables 3, 4 and F1 to F3: continual reinforcement learning on a cycle of four bodies."""

from collections.abc import Sequence
from typing import Literal

from analysis.names import BODIES
from analysis.tables.score_listing import build, caption, render
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
    """A table of the values that `returns` names.

    return: the return in the last cycle, mean ± SD over seeds for each body.
    score: the interquartile mean of normalised returns in the last cycle over seeds and bodies, with its 95 % interval;
    `beside` may have the activation's "setting".
    gap: the change of the gap from the first cycle to the last, mean ± half-width of its 95 % interval for each body;
    `beside` may have "iqm", "mean" and "sd" over the bodies.
    """
    return Table(
        name=f"table{number}",
        title=f"Table {number}: {title}",
        build=build,
        render=render,
        caption=caption,
        returns=returns,
        bodies=tuple(BODIES),
        reported=(f"table{number}_{file}.csv",),
        source=f"Table {number}",
        only={"benchmark": ("mujoco_cycle",), **only},
        experiment=f"table{number}",
        beside=beside,
    )


SCORE, GAP = "plasticity score", "change of the generalization gap"
TABLES = (
    _table(
        "3", SCORE, "score", "plasticity_score",
        activation=("swish", "prelu", "sigmoid", "rand_smooth_leaky", "smooth_leaky"),
    ),
    _table(
        "4", GAP, "gap", "gap_delta", ("iqm",),
        activation=("swish", "prelu", "sigmoid", "smooth_leaky", "rand_smooth_leaky"),
    ),
    _table("F1", SCORE, "score", "plasticity_score", ("setting",)),
    _table("F2", "return", "return", "reward"),
    _table("F3", GAP, "gap", "gap_delta", ("iqm", "mean", "sd")),
)  # fmt: skip
