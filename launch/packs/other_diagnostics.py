"""Packs that began with other diagnostics than are asked for now: they go on with those, or a rerun replaces them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from launch.runs.groups import COMPONENTS
from launch.wording import counted
from plasticity_lab.records.plan import Pack
from plasticity_lab.run import Run

GROUP = "diagnostics"


def chosen(run: Run) -> dict[str, tuple[str, dict[str, Any]]]:
    """The diagnostics of a run by name, each with its class and settings; none of a run that is older than they are."""
    names = {address: run.name(address) for address in run.addresses(GROUP)}
    return {
        name: (run.targets[address], run.settings(address))
        for address, name in names.items()
        if name != COMPONENTS[GROUP].neutral
    }


def looked_at_alike(one: Run, other: Run) -> bool:
    """Whether two runs are looked at by the same diagnostics with the same settings."""
    return chosen(one) == chosen(other)


def begun_with_others(packs: Iterable[Pack], known: Mapping[str, Run], asked: Iterable[Run]) -> list[Pack]:
    """Those of the packs of which a run is asked for with other diagnostics.  known: their runs, as was planned."""
    now = {run.id: run for run in asked}

    def differs(run: str) -> bool:
        return run in now and not looked_at_alike(now[run], known[run])

    return [pack for pack in packs if any(map(differs, pack.runs))]


def said_of_them(packs: Sequence[Pack]) -> str:
    """A sentence about packs that go on."""
    runs = sum(pack.width for pack in packs)
    goes, those = ("goes", "has") if runs == 1 else ("go", "have")
    return (
        f"{counted(runs, 'run')} begun with other diagnostics than diagnostics= says now {goes} on with those, and "
        f"{those} no columns of the others; rerun=true trains anew."
    )
