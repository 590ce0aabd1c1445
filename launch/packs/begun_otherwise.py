"""Packs of earlier plans that began otherwise than they would now: by other code, on another kind of device, or with
other diagnostics. They go on as they began; where no worker can do that, new packs take their place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.packs.bindings import binding_of, kinds_at_work, steps_kept
from launch.packs.endings import REPLACED, Ending, write_ending
from launch.packs.lease_files import LeaseFiles
from launch.packs.leases import clear_leases
from launch.packs.progress import reached
from launch.packs.run_claims import clear_claims
from launch.runs.groups import COMPONENTS, DIAGNOSTICS
from launch.wording import counted, some
from plasticity_lab.records.checkpoint import clear_pack, latest_epoch
from plasticity_lab.records.kinds import goes_on, sort_of
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import UNKNOWN, other_code
from plasticity_lab.run import Run


@dataclass(frozen=True)
class Anew:
    """A pack whose runs are trained anew.  kind: on which it was begun. steps: of each run that are lost."""

    kind: str
    runs: int
    steps: int


@dataclass(frozen=True)
class Earlier:
    """The unfinished packs of earlier plans, sorted.

    going_on: these packs go on. replaced: these do not, because their runs are planned anew. anew, mixed and
    otherwise_looked_at are empty, or what is said of packs that were begun on kinds of device of which there are no
    workers, of packs that go on by other code than began them, and of packs that go on with other diagnostics.
    """

    going_on: Sequence[Pack]
    replaced: Sequence[Pack]
    anew: str
    mixed: str
    otherwise_looked_at: str


def what_becomes_of(
    store: Store,
    packs: Sequence[Pack],
    runs: Mapping[str, Run],
    asked: Sequence[Run],
    settings: Settings,
    kind: str,
    known: bool,
) -> Earlier:
    """Sorts the packs that a command adopts of earlier plans.  Raises StoreError, ConfigError.

    runs: id → run as it was planned. asked: the runs as they are asked for now. kind, known: as in `to_train_anew`.
    """
    lease_seconds = settings.launch.lease_seconds
    lost = to_train_anew(store, packs, kind, known, lease_seconds)
    left = [pack for pack in packs if pack.id not in lost]
    changes = begun_by_other_code(store, left, runs)
    with_others = {pack.id for pack in begun_with_others(left, runs, asked)}
    odd = [pack for pack in left if pack.id in changes or pack.id in with_others]
    replaced = {pack.id for pack in (free_to_replace(store, odd, lease_seconds) if settings.rerun else [])}
    going_on = [pack for pack in left if pack.id not in replaced]
    mixed = [pack for pack in going_on if pack.id in changes]
    otherwise_looked_at = [pack for pack in going_on if pack.id in with_others]
    return Earlier(
        going_on,
        [pack for pack in packs if pack.id in lost or pack.id in replaced],
        said_of_anew(list(lost.values()), kind) if lost else "",
        said_of_other_code(mixed, changes) if mixed else "",
        said_of_other_diagnostics(otherwise_looked_at) if otherwise_looked_at else "",
    )


def begun_by_other_code(store: Store, packs: Iterable[Pack], runs: Mapping[str, Run]) -> dict[str, list[str]]:
    """Pack → what differs between the code that began it and this one, in words; only of packs where something does.

    runs: id → run.  Raises StoreError, ConfigError.
    """
    changes = {}
    for pack in packs:
        if latest_epoch(store, pack.id) < 0:
            continue  # it begins anew
        parts = reached(store, pack.id).parts or [UNKNOWN]
        if changed := other_code(parts, runs[pack.runs[0]].trained_by):
            changes[pack.id] = changed
    return changes


def said_of_other_code(packs: Sequence[Pack], changes: Mapping[str, Sequence[str]]) -> str:
    """A sentence about packs that go on.  changes: as `begun_by_other_code` has them."""
    runs = sum(pack.width for pack in packs)
    differences = list(dict.fromkeys(words for pack in packs for words in changes[pack.id]))
    goes, its = ("goes", "its record lists") if runs == 1 else ("go", "their records list")
    return (
        f"{counted(runs, 'run')} begun by other code {goes} on by this one ({some(differences, 3)}): {its} both parts; "
        "rerun=true trains anew by one code."
    )


def to_train_anew(store: Store, packs: Sequence[Pack], kind: str, known: bool, lease_seconds: float) -> dict[str, Anew]:
    """Pack → what is lost, of packs that were begun on a kind of which there are no workers here, and will be none.

    packs: that an earlier plan has. kind: of the workers to be started; known: whether they have this very kind, or
    may have any of its sort. Held packs are left, and those of a kind of which a worker holds any.  Raises StoreError.
    """
    others = []
    for pack in packs:
        binding = binding_of(store, pack)
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


def chosen(run: Run) -> dict[str, tuple[str, dict[str, Any]]]:
    """The diagnostics of a run by name, each with its class and settings; none of a run that is older than they are."""
    names = {address: run.name(address) for address in run.addresses(DIAGNOSTICS)}
    return {
        name: (run.targets[address], run.settings(address))
        for address, name in names.items()
        if name != COMPONENTS[DIAGNOSTICS].neutral
    }


def looked_at_alike(one: Run, other: Run) -> bool:
    """Whether two runs are looked at by the same diagnostics with the same settings."""
    return chosen(one) == chosen(other)


def begun_with_others(packs: Iterable[Pack], runs: Mapping[str, Run], asked: Iterable[Run]) -> list[Pack]:
    """Those of the packs of which a run is asked for with other diagnostics.  runs: of the packs, as was planned."""
    now = {run.id: run for run in asked}

    def differs(run: str) -> bool:
        return run in now and not looked_at_alike(now[run], runs[run])

    return [pack for pack in packs if any(map(differs, pack.runs))]


def said_of_other_diagnostics(packs: Sequence[Pack]) -> str:
    """A sentence about packs that go on."""
    runs = sum(pack.width for pack in packs)
    goes, those = ("goes", "has") if runs == 1 else ("go", "have")
    return (
        f"{counted(runs, 'run')} begun with other diagnostics than diagnostics= says now {goes} on with those, and "
        f"{those} no columns of the others; rerun=true trains anew."
    )


def free_to_replace(store: Store, packs: Sequence[Pack], lease_seconds: float) -> list[Pack]:
    """Those of the packs that no worker holds.  Raises StoreError."""
    states = LeaseFiles(store).states([pack.id for pack in packs], lease_seconds) if packs else {}
    return [pack for pack in packs if not states[pack.id].held]


def put_aside(store: Store, packs: Iterable[Pack]) -> None:
    """Ends packs in whose place others were planned, and removes what they kept.  Raises StoreError."""
    leases = LeaseFiles(store)
    for pack in packs:
        write_ending(store, pack.id, Ending(REPLACED, error="", diverged=0), [])
        clear_leases(store, pack.id, last=leases.epochs().get(pack.id, -1))
        clear_pack(store, pack.id)
        clear_claims(store, pack.id, pack.runs)
