"""Tables 3, 4 and F1 to F3: continual reinforcement learning on four bodies in turn."""

from dataclasses import replace

from analysis.names import BODIES
from analysis.tables.score_listing import returns_table

TABLE_F1 = returns_table(
    name="tableF1",
    title="Table F1: plasticity score",
    returns="score",
    bodies=tuple(BODIES),
    reported=("tableF1_plasticity_score.csv",),
    source="Table F1",
    only={"benchmark": ("mujoco_cycle",)},
    experiment="tableF1",
    beside=("setting",),
)
TABLE3 = replace(
    TABLE_F1,
    name="table3",
    title="Table 3: plasticity score",
    reported=("table3_plasticity_score.csv",),
    source="Table 3",
    experiment="table3",
    beside=(),
    only={
        **TABLE_F1.only,
        "activation": ("swish", "prelu", "sigmoid", "rand_smooth_leaky", "smooth_leaky"),
    },
)
TABLE_F2 = replace(
    TABLE_F1,
    name="tableF2",
    title="Table F2: return",
    returns="return",
    reported=("tableF2_reward.csv",),
    source="Table F2",
    experiment="tableF2",
    beside=(),
)
TABLE_F3 = replace(
    TABLE_F1,
    name="tableF3",
    title="Table F3: change of the generalization gap",
    returns="gap",
    reported=("tableF3_gap_delta.csv",),
    source="Table F3",
    experiment="tableF3",
    beside=("iqm", "mean", "sd"),
)
TABLE4 = replace(
    TABLE_F3,
    name="table4",
    title="Table 4: change of the generalization gap",
    reported=("table4_gap_delta.csv",),
    source="Table 4",
    experiment="table4",
    only={
        **TABLE_F1.only,
        "activation": ("swish", "prelu", "sigmoid", "smooth_leaky", "rand_smooth_leaky"),
    },
    beside=("iqm",),
)

TABLES = (TABLE3, TABLE4, TABLE_F1, TABLE_F2, TABLE_F3)
