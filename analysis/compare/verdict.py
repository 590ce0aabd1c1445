"""Which arms a test tells apart from the reference, in words."""

from collections.abc import Iterable

from analysis.compare.comparison import LEVEL, Compared
from analysis.compare.listing import measure_of
from analysis.compare.pair import Pair


def against_reference(compared: Compared) -> list[Pair]:
    """Each arm with the reference, in the order of the table."""
    return [pair for arm in compared.arms if (pair := compared.against(arm.label))]


def verdict(compared: Compared, tests: Iterable[tuple[Pair, float | None, float | None]]) -> str:
    """As in "better: snr; not told apart: l2_init".  tests: pairs, each with its corrected p and its t."""
    found: dict[str, list[str]] = {"better": [], "worse": [], "not told apart": [], "no test": []}
    direction = -1 if measure_of(compared).better == "less" else 1
    for pair, p, t in tests:
        if p is None or t is None:
            found["no test"].append(pair.ours)
        elif p >= LEVEL:
            found["not told apart"].append(pair.ours)
        else:
            found["better" if direction * t > 0 else "worse"].append(pair.ours)
    return "; ".join(f"{what}: {', '.join(arms)}" for what, arms in found.items() if arms)
