"""Packs that were begun on another kind of device than workers have here: they are left to workers of their kind, and
where there are none their runs are planned anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from launch.packs.bindings import Binding, binding_of, kinds_at_work, steps_kept
from launch.packs.lease_files import LeaseFiles
from launch.wording import counted
from plasticity_lab.records.kinds import goes_on, sort_of
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store


@dataclass(frozen=True)
class Anew:
    """A pack whose runs are trained anew.  kind: on which it was begun. steps: of each run that are lost."""

    kind: str
    runs: int
    steps: int


def to_train_anew(store: Store, packs: Sequence[Pack], kind: str, known: bool, lease_seconds: float) -> dict[str, Anew]:
    """Pack → what is lost, of packs that were begun on a kind of which there are no workers here, and will be none.

    packs: that an earlier plan has. kind: of the workers to be started; known: whether they have this very kind, or
    may have any of its sort. Held packs are left, and those of a kind of which a worker holds any.  Raises StoreError.
    """
    bound: Mapping[str, Binding | None] = {pack.id: binding_of(store, pack) for pack in packs}
    others = []
    for pack in packs:
        binding = bound[pack.id]
        if binding is None:
            continue
        here = goes_on(binding.kind, kind) if known else sort_of(binding.kind) == sort_of(kind)
        others += [] if here else [(pack, binding)]
    if not others:
        return {}
    held, kinds = kinds_at_work(LeaseFiles(store), list(packs), lease_seconds)
    return {
        pack.id: Anew(binding.kind, pack.width, steps_kept(store, pack.id))
        for pack, binding in others
        if pack.id not in held and binding.kind not in kinds
    }


def said_of_anew(packs: Sequence[Anew], kind: str) -> str:
    """A sentence about packs whose runs are trained anew.  kind: on which."""
    runs, lost = sum(pack.runs for pack in packs), sum(pack.runs * pack.steps for pack in packs)
    begun = ", ".join(sorted({pack.kind for pack in packs}))
    are, were = ("is" if runs == 1 else "are"), ("is" if lost == 1 else "are")
    return (
        f"{counted(runs, 'run')} begun on {begun}, of which there is no worker, {are} trained anew on {kind}: a "
        f"checkpoint goes on only on its own kind of device. {counted(lost, 'run-step')} {were} lost."
    )
