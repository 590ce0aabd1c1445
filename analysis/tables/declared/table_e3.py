"""Table E3: the generalization gap of every activation: final task accuracy minus average online accuracy."""

from analysis.tables.grid import means

TABLE_E3 = means(
    name="tableE3",
    title="Table E3",
    cell="gap",
    beside=("taoa",),
    reported=("tableE3_generalization_gap.csv",),
    source="Table E3",
    experiment="tableE3",
)

TABLES = (TABLE_E3,)
