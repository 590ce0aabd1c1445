"""Tables 3, 4 and F1 to F3: continual reinforcement learning on four bodies in turn."""

from dataclasses import replace

from analysis.tables.scores import ScoreTable

BODIES = ("HalfCheetah-v5", "Humanoid-v5", "Ant-v5", "Hopper-v5")
_GAPS = tuple(f"{of}_return_{cycle}_cycle" for cycle in ("first", "last") for of in ("final", "test"))

TABLE_F1 = ScoreTable(
    name="tableF1",
    title="Table F1: plasticity score",
    kind="score",
    values=("final_return_last_cycle",),
    environments=BODIES,
    reported="tableF1_plasticity_score.csv",
    source="Table F1",
    benchmark="mujoco_cycle",
)
TABLE3 = replace(
    TABLE_F1,
    name="table3",
    title="Table 3: plasticity score",
    reported="table3_plasticity_score.csv",
    source="Table 3",
    activations=("swish", "prelu", "sigmoid", "rand_smooth_leaky", "smooth_leaky"),
)
TABLE_F2 = replace(
    TABLE_F1,
    name="tableF2",
    title="Table F2: return",
    kind="return",
    reported="tableF2_reward.csv",
    source="Table F2",
)
TABLE_F3 = replace(
    TABLE_F1,
    name="tableF3",
    title="Table F3: change of the generalization gap",
    kind="gap",
    values=_GAPS,
    reported="tableF3_gap_delta.csv",
    source="Table F3",
    across=True,
)
TABLE4 = replace(
    TABLE_F3,
    name="table4",
    title="Table 4: change of the generalization gap",
    reported="table4_gap_delta.csv",
    source="Table 4",
    activations=("swish", "prelu", "sigmoid", "smooth_leaky", "rand_smooth_leaky"),
    across=False,
)
