"""Tables 3, 4 and F1 to F3: continual reinforcement learning on four bodies in turn."""

from dataclasses import replace

from analysis.names import BODIES
from analysis.tables.scores import ScoreTable

TABLE_F1 = ScoreTable(
    name="tableF1",
    title="Table F1: plasticity score",
    kind="score",
    environments=tuple(BODIES),
    reported="tableF1_plasticity_score.csv",
    source="Table F1",
    benchmark="mujoco_cycle",
    experiment="tableF1",
    settings=True,
)
TABLE3 = replace(
    TABLE_F1,
    name="table3",
    title="Table 3: plasticity score",
    reported="table3_plasticity_score.csv",
    source="Table 3",
    experiment="table3",
    settings=False,
    activations=("swish", "prelu", "sigmoid", "rand_smooth_leaky", "smooth_leaky"),
)
TABLE_F2 = replace(
    TABLE_F1,
    name="tableF2",
    title="Table F2: return",
    kind="return",
    reported="tableF2_reward.csv",
    source="Table F2",
    experiment="tableF2",
    settings=False,
)
TABLE_F3 = replace(
    TABLE_F1,
    name="tableF3",
    title="Table F3: change of the generalization gap",
    kind="gap",
    reported="tableF3_gap_delta.csv",
    source="Table F3",
    experiment="tableF3",
    settings=False,
    across=True,
)
TABLE4 = replace(
    TABLE_F3,
    name="table4",
    title="Table 4: change of the generalization gap",
    reported="table4_gap_delta.csv",
    source="Table 4",
    experiment="table4",
    activations=("swish", "prelu", "sigmoid", "smooth_leaky", "rand_smooth_leaky"),
    across=False,
)
