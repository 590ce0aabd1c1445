"""The tables that `python -m analysis table NAME` can make: declarations, alike ones in one file."""

from analysis.tables.grids import GridsTable
from analysis.tables.headline import HEADLINE
from analysis.tables.properties import PropertyTable
from analysis.tables.schedule import ScheduleTable
from analysis.tables.scores import ScoreTable
from analysis.tables.selected import SELECTED, SelectionTable
from analysis.tables.settings import SettingsTable
from analysis.tables.table import Table
from analysis.tables.table1 import TABLE1
from analysis.tables.table2 import TABLE2
from analysis.tables.table_a1_g1 import TABLE_A1, TABLE_G1
from analysis.tables.table_b1 import TABLE_B1
from analysis.tables.table_best_settings import TABLE_B2, TABLE_E2, TABLE_G4, TABLES_E9_E11
from analysis.tables.table_e1 import TABLE_E1
from analysis.tables.table_e3 import TABLE_E3
from analysis.tables.table_e4_e8 import TABLES_E4_E8
from analysis.tables.table_environments import TABLE3, TABLE4, TABLE_F1, TABLE_F2, TABLE_F3
from analysis.tables.table_g2_g3 import TABLE_G2, TABLE_G3
from plasticity_lab.errors import ConfigError

Declared = Table | SettingsTable | ScoreTable | ScheduleTable | GridsTable | PropertyTable | SelectionTable
TABLES: dict[str, Declared] = {
    table.name: table
    for table in (
        *(TABLE1, TABLE2, TABLE3, TABLE4, TABLE_A1, TABLE_B1, TABLE_B2, TABLE_E1, TABLE_E2, TABLE_E3),
        *(*TABLES_E4_E8, *TABLES_E9_E11, TABLE_F1, TABLE_F2, TABLE_F3, TABLE_G1, TABLE_G2, TABLE_G3, TABLE_G4),
        *(HEADLINE, SELECTED),
    )
}


def named(name: str) -> Declared:
    """The table that a word names: `2`, `table2`, `E3`, `tableE3` and `table_e3` alike.  Raises ConfigError."""
    by_word = {_bare(known): table for known, table in TABLES.items()}
    if (bare := _bare(name)) not in by_word:
        known = ", ".join(each.removeprefix("table") for each in TABLES)
        raise ConfigError(f"There is no table '{name}'; there are {known}.")
    return by_word[bare]


def _bare(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "").removeprefix("table")
