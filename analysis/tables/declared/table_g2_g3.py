"""Tables G2 and G3: Bo-PReLU beside PReLU, and R-SELU beside SELU, each with the winner of Table 2."""

from dataclasses import replace

from analysis.tables.declared.table2 import TABLE2

TABLE_G2 = replace(
    TABLE2,
    name="tableG2",
    title="Table G2",
    source="Table G2",
    only={"activation": ("prelu", "bo_prelu", "rand_smooth_leaky")},
    experiment="tableG2",
)
TABLE_G3 = replace(
    TABLE2,
    name="tableG3",
    title="Table G3",
    source="Table G3",
    only={"activation": ("selu", "rselu", "rand_smooth_leaky")},
    experiment="tableG3",
)

TABLES = (TABLE_G2, TABLE_G3)
