"""Table 2: online accuracy of every activation on the continual supervised benchmarks (with G2's and G3's rows)."""

from analysis.tables.means import means

TABLE2 = means(
    name="table2",
    title="Table 2",
    rows="activation",
    columns="benchmark",
    cell="taoa",
    beside=("gap", "parameters", "seconds"),
    reported=("table2_taoa.csv", "tableG2_G3_taoa.csv"),
    source="Tables 2, G2 and G3",
    experiment="table2",
)

TABLES = (TABLE2,)
