"""Table E3: the generalization gap, final task accuracy less average online accuracy, of every activation."""

from analysis.tables.means import means

TABLE_E3 = means(
    name="tableE3",
    title="Table E3",
    rows="activation",
    columns="benchmark",
    cell="gap",
    beside=("taoa",),
    reported=("tableE3_generalization_gap.csv",),
    source="Table E3",
    experiment="tableE3",
)

TABLES = (TABLE_E3,)
