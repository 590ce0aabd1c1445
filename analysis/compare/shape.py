"""The warnings of a comparison: arms with a gap between runs or with skewed runs, and their permutation tests."""

from collections.abc import Sequence

from analysis.compare.comparison import Compared
from analysis.statistics.permutation import permutation
from analysis.tables.shape_lines import shape_of_cells


def shape_said(shown: Sequence[Compared]) -> list[str]:
    """The warnings for all tables of a comparison together, so that more tables do not give more false warnings.

    Then the permutation test of each arm against the reference; empty if nothing looks unusual.
    """
    tables = [compared for compared in shown if compared.task is not None]
    sections = {compared.section.words for compared in tables}
    places = []
    for compared in tables:
        place = ", ".join(filter(None, [compared.task, compared.section.words if len(sections) > 1 else ""]))
        places.append(f" on {place}" if place and len(tables) > 1 else "")
    placed = list(zip(tables, places, strict=True))
    cells, columns, measures = {}, {}, {}
    for at, (compared, where) in enumerate(placed):
        for arm in compared.arms:
            for cell in arm.cells.values():
                name = f"{arm.label}{where}"
                cells[name], columns[name], measures[name] = cell, str(at), compared.measure
    lines = shape_of_cells(cells, columns, measures)
    if not lines:
        return []
    tests = []
    for compared, where in placed:
        values = {arm.label: [value for task in arm.cells for value in arm.values(task)] for arm in compared.arms}
        for pair in compared.against_reference:
            p = permutation(values[pair.ours], values[pair.theirs])
            tests += [] if p is None else [f"{pair.words}{where} {p:.2g}"]
    if tests:
        lines.append(f"Permutation test that both arms have one law, p not corrected: {', '.join(tests)}.")
    return lines
