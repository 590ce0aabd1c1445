"""The kinds of device on which packs were begun, and packs of earlier plans that began otherwise than they would now.

The first worker that trains a pack binds it to its own kind of device. It writes a small file under its lease before
the first step. The file counts once the pack has a checkpoint: before, another kind can begin the pack again without
loss.

Packs that began with other code, on another kind of device, or with other diagnostics go on as they began. If no worker
can continue them, new packs take their place.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from launch.packs.lease_files import LeaseFiles
from launch.packs.progress import reached
from launch.runs.groups import COMPONENTS, DIAGNOSTICS
from launch.wording import counted, some
from plasticity_lab.records.checkpoint import latest_epoch, load_checkpoint
from plasticity_lab.records.damage import DamagedFile, read_fields, write_mapping
from plasticity_lab.records.kinds import goes_on, sort_of
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import UNKNOWN, other_code
from plasticity_lab.run import Run

_FIELDS = {"kind": str, "mode": str, "width": int}
_ADVICE = "its checkpoint says the same"


@dataclass(frozen=True)
class Binding:
    """kind: of device; earlier versions wrote one without all that decides bits. mode, width: of training."""

    kind: str
    mode: str
    width: int


def write_binding(store: Store, pack: str, binding: Binding) -> None:
    """Writes to which kind a pack is bound; only the holder of its lease may.  Raises StoreError."""
    write_mapping(store.binding(pack), asdict(binding))


def written_binding(store: Store, pack: str) -> Binding | None:
    """The binding in the file of a pack, begun or not; None if no file can be read.  Raises StoreError."""
    try:
        value = read_fields(store.binding(pack), _FIELDS, _ADVICE)
    except DamagedFile:
        return None
    return None if value is None else Binding(value["kind"], value["mode"], value["width"])


def binding_of(store: Store, pack: Pack) -> Binding | None:
    """The binding of a begun pack; None if it has no checkpoint: then any worker of its sort may bind it.

    Packs of earlier versions have no such file: then the checkpoint holds the binding.  Raises StoreError.
    """
    if latest_epoch(store, pack.id) < 0:
        return None
    if (written := written_binding(store, pack.id)) is not None:
        return written
    kept = load_checkpoint(store, pack.id)
    return None if kept is None else Binding(kept.get("kind", pack.kind), kept.get("mode", pack.mode), pack.width)


def steps_kept(store: Store, pack: str) -> int:
    """The steps of each run at the pack's checkpoint, which the progress may not tell; 0 without a checkpoint."""
    kept = load_checkpoint(store, pack) or {}
    return int(kept.get("journal", {}).get("steps", 0))


def kinds_at_work(leases: LeaseFiles, packs: list[Pack], lease_seconds: float) -> tuple[set[str], set[str]]:
    """The packs that workers hold, and the kinds of device of these workers.  Raises StoreError."""
    states = leases.states([pack.id for pack in packs], lease_seconds)
    held = {pack for pack, state in states.items() if state.held}
    bindings = [written_binding(leases.store, pack) for pack in held]
    return held, {binding.kind for binding in bindings if binding is not None}


@dataclass(frozen=True)
class Anew:
    """A pack whose runs are trained again.  kind: the device kind that began it. steps: of each run, that are lost."""

    kind: str
    runs: int
    steps: int


@dataclass(frozen=True)
class Earlier:
    """The unfinished packs of earlier plans, sorted.

    going_on: packs that go on. replaced: packs whose runs are planned again. said: a sentence on each of these: packs
    begun on kinds of device without workers, packs that go on with other code, packs that go on with other diagnostics.
    """

    going_on: Sequence[Pack]
    replaced: Sequence[Pack]
    said: Sequence[str]


def what_becomes_of(
    store: Store,
    packs: Sequence[Pack],
    runs: Mapping[str, Run],
    asked: Sequence[Run],
    settings: Settings,
    kind: str,
    known: bool,
) -> Earlier:
    """Sorts the packs that a command adopts from earlier plans.  Raises StoreError, ConfigError.

    runs: id → run as it was planned. asked: the runs as the command asks for them now. kind: of the workers to be
    started. known: whether workers have this very kind, or may have any of its sort.
    """
    lease_seconds = settings.launch.lease_seconds
    lost = _to_train_anew(store, packs, kind, known, lease_seconds)
    left = [pack for pack in packs if pack.id not in lost]
    changes = _code_changes(store, left, runs)
    now = {run.id: run for run in asked}
    with_others = {
        pack.id for pack in left if any(chosen(now.get(run, runs[run])) != chosen(runs[run]) for run in pack.runs)
    }
    replaced = set(lost)
    if settings.rerun:
        states = LeaseFiles(store).states(with_others | changes.keys(), lease_seconds)
        replaced |= {pack for pack, state in states.items() if not state.held}
    going_on = [pack for pack in packs if pack.id not in replaced]
    said = [said_of_anew(lost.values(), kind)] if lost else []
    if mixed := [pack for pack in going_on if pack.id in changes]:
        said.append(_said_of_other_code(mixed, changes))
    if runs_with_others := sum(pack.width for pack in going_on if pack.id in with_others):
        said.append(_said_of_other_diagnostics(runs_with_others))
    return Earlier(going_on, [pack for pack in packs if pack.id in replaced], said)


def _code_changes(store: Store, packs: Iterable[Pack], runs: Mapping[str, Run]) -> dict[str, list[str]]:
    """Pack → the differences, in words, between the code that began it and this code; only packs with differences.

    runs: id → run.  Raises StoreError, ConfigError.
    """
    changes = {}
    for pack in packs:
        if latest_epoch(store, pack.id) >= 0:  # others begin again, with this code
            parts = reached(store, pack.id).parts or [UNKNOWN]
            if changed := other_code(parts, runs[pack.runs[0]].trained_by):
                changes[pack.id] = changed
    return changes


def _said_of_other_code(packs: Sequence[Pack], changes: Mapping[str, Sequence[str]]) -> str:
    """A sentence about packs that go on.  changes: as `_code_changes` returns them."""
    runs = sum(pack.width for pack in packs)
    differences = list(dict.fromkeys(words for pack in packs for words in changes[pack.id]))
    goes, its = ("goes", "its record lists") if runs == 1 else ("go", "their records list")
    return (
        f"{counted(runs, 'run')} begun by other code {goes} on by this one ({some(differences, 3)}): {its} both parts; "
        "rerun=true trains anew by one code."
    )


def _to_train_anew(
    store: Store, packs: Sequence[Pack], kind: str, known: bool, lease_seconds: float
) -> dict[str, Anew]:
    """Pack → the loss, for packs begun on a kind of device that has no worker, and will get none.

    kind, known: as in `what_becomes_of`. Neither packs that workers hold are among them, nor packs of a kind whose
    workers hold any pack.  Raises StoreError.
    """
    others = []
    for pack in packs:
        binding = binding_of(store, pack)
        if binding is not None:
            continues = goes_on(binding.kind, kind) if known else sort_of(binding.kind) == sort_of(kind)
            others += [] if continues else [(pack, binding)]
    if not others:
        return {}
    held, kinds = kinds_at_work(LeaseFiles(store), list(packs), lease_seconds)
    return {
        pack.id: Anew(binding.kind, pack.width, steps_kept(store, pack.id))
        for pack, binding in others
        if pack.id not in held and binding.kind not in kinds
    }


def said_of_anew(packs: Collection[Anew], kind: str) -> str:
    """A sentence about packs whose runs are trained again.  kind: the device kind that trains them."""
    runs, lost = sum(pack.runs for pack in packs), sum(pack.runs * pack.steps for pack in packs)
    begun = ", ".join(sorted({pack.kind for pack in packs}))
    are, were = ("is" if runs == 1 else "are"), ("is" if lost == 1 else "are")
    return (
        f"{counted(runs, 'run')} begun on {begun}, of which there is no worker, {are} trained anew on {kind}: a "
        f"checkpoint goes on only on its own kind of device. {counted(lost, 'run-step')} {were} lost."
    )


def chosen(run: Run) -> dict[str, tuple[str, dict[str, Any]]]:
    """Diagnostic → its class and settings; empty for a run that is older than diagnostics."""
    names = {address: run.name(address) for address in run.addresses(DIAGNOSTICS)}
    return {
        name: (run.targets[address], run.settings(address))
        for address, name in names.items()
        if name != COMPONENTS[DIAGNOSTICS].neutral
    }


def _said_of_other_diagnostics(runs: int) -> str:
    """A sentence about runs that go on."""
    goes, those = ("goes", "has") if runs == 1 else ("go", "have")
    return (
        f"{counted(runs, 'run')} begun with other diagnostics than the current diagnostics= {goes} on with those, and "
        f"{those} no columns of the others; rerun=true trains anew."
    )
