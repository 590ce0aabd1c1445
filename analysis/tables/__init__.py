"""The tables that `python -m analysis table NAME` can make: one declaration a file."""

from analysis.tables.headline import HEADLINE
from analysis.tables.table import Table
from analysis.tables.table2 import TABLE2
from analysis.tables.table_e3 import TABLE_E3

TABLES: dict[str, Table] = {table.name: table for table in (TABLE2, TABLE_E3, HEADLINE)}
