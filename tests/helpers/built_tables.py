"""Tables of made-up records, and their cells."""

from analysis.rows import rows
from analysis.tables.build import build
from analysis.tables.declared.means import TABLE2


def built(records, planned=None, metric=None):
    (result,) = build(TABLE2, rows(records, planned) if planned else rows(records), metric)
    return result


def by_label(result):
    """(row label, column label) → cell."""
    return {(row.label, column.label): cell for (row, column), cell in result.cells.items()}


def column(result, label="Permuted digits"):
    return {row: cell for (row, heading), cell in by_label(result).items() if heading == label}
