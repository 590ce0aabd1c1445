"""Which packs need graphs of their own, beside those that the workers begin with."""

from collections.abc import Sequence

from plasticity_lab.records.plan import Pack, Plan


def packs_to_precompile(plan: Plan, packs: Sequence[Pack], workers: int) -> list[Pack]:
    """One compiled pack for each structure, mode and width, but for those that the workers begin with."""
    first: dict[tuple[str, str, int], int] = {}
    for place, pack in enumerate(packs):
        if pack.compiled and pack.kind.startswith("cpu"):
            first.setdefault((plan.runs_of(pack)[0].structure(), pack.mode, pack.width), place)
    return [packs[place] for place in first.values() if place >= workers]
