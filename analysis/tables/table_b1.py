"""Table B1: the settings that are searched for each activation."""

from analysis.tables.grids import GridsTable

TABLE_B1 = GridsTable(
    name="tableB1",
    title="Table B1: settings that are searched",
    source="Table B1 and Appendix B.4",
)
