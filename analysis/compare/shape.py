"""The warnings of a comparison: arms with a gap between runs or with skewed runs, and their permutation tests."""

from analysis.compare.comparison import Compared
from analysis.statistics.permutation import permutation
from analysis.tables.shape_lines import shape_of_cells


def shape_said(compared: Compared) -> list[str]:
    """The warnings, and the permutation test of each arm against the reference; empty if nothing looks unusual."""
    cells = {
        arm.label if compared.task is not None else f"{arm.label} on {task}": cell
        for arm in compared.arms
        for task, cell in arm.cells.items()
    }
    lines = shape_of_cells(cells)
    if not lines or compared.task is None:
        return lines
    values = {arm.label: arm.values(compared.task) for arm in compared.arms}
    tests = {pair.ours: permutation(values[pair.ours], values[pair.theirs]) for pair in compared.against_reference}
    said = [f"{arm} {p:.2g}" for arm, p in tests.items() if p is not None]
    if said:
        lines.append(
            f"Permutation test of one law for an arm and {compared.reference}, p not corrected: {', '.join(said)}."
        )
    return lines
