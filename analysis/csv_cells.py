"""Cells of CSV files: a spreadsheet calculates words that begin like a formula, and names can come from anybody."""

from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The first signs of a formula in a spreadsheet (OWASP, "CSV Injection")."""


def guarded(cell: Any) -> Any:
    """The cell, with an apostrophe in front if it is a text that a spreadsheet would calculate; numbers stay."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
