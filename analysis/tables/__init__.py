"""The tables that `python -m analysis table NAME` can make: one declaration a file."""

from analysis.tables.table import Table
from analysis.tables.table2 import TABLE2

TABLES: dict[str, Table] = {table.name: table for table in (TABLE2,)}
