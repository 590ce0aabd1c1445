"""Table 2: online accuracy of every activation on the continual supervised benchmarks; and its parts, Tables G2, G3.

Table G2 has Bo-PReLU and PReLU, Table G3 has R-SELU and SELU; both also have the best activation of Table 2.
"""

from dataclasses import replace

from analysis.tables.grid import means

TABLE2 = means(
    name="table2",
    title="Table 2",
    cell="taoa",
    beside=("gap", "parameters", "seconds"),
    reported=("table2_taoa.csv", "tableG2_G3_taoa.csv"),
    source="Tables 2, G2 and G3",
    experiment="table2",
)
TABLE_G2, TABLE_G3 = (
    replace(
        TABLE2,
        name=f"table{number}",
        title=f"Table {number}",
        source=f"Table {number}",
        only={"activation": (*activations, "rand_smooth_leaky")},
        experiment=f"table{number}",
    )
    for number, activations in {"G2": ("prelu", "bo_prelu"), "G3": ("selu", "rselu")}.items()
)

TABLES = (TABLE2, TABLE_G2, TABLE_G3)
