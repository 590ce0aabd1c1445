"""The device kinds of begun packs, and packs of earlier plans that began otherwise than they would now.

The first worker that trains a pack binds it to the worker's kind of device. The worker writes a small file under its
lease before the first step. The file counts once the pack has a checkpoint. Before that, another kind can begin the
pack again without loss.

Packs that began with other code, on another kind of device, or with other diagnostics go on as they began. If no worker
can continue them, new packs replace them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from launch.packs.lease_files import LeaseFiles
from launch.packs.progress import reached
from launch.runs.groups import ASSAY, COMPONENTS, DIAGNOSTICS
from launch.wording import counted, some
from plasticity_lab.records.checkpoint import latest_epoch, load_checkpoint
from plasticity_lab.records.damage import read_undamaged, write_mapping
from plasticity_lab.records.kinds import sort_of
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.records.training_code import UNKNOWN, other_code
from plasticity_lab.run import Run


@dataclass(frozen=True)
class Binding:
    """The device kind that a pack is bound to.

    kind: the device kind. mode: the mode of training. width: the number of runs.
    """

    kind: str
    mode: str
    width: int


def write_binding(store: Store, pack: str, binding: Binding) -> None:
    """Writes the binding of a pack; only the holder of the pack's lease may call this.  Raises StoreError."""
    write_mapping(store.binding(pack), asdict(binding))


def written_binding(store: Store, pack: str) -> Binding | None:
    """The binding in a pack's file, even if the pack has not begun; None if no file can be read.  Raises StoreError."""
    return read_undamaged(Binding, store.binding(pack))


def binding_of(store: Store, pack: Pack) -> Binding | None:
    """The binding of a begun pack; None if it has no checkpoint: then any worker of its sort of device may bind it.

    If its file is damaged or missing, the checkpoint tells it.  Raises StoreError.
    """
    if latest_epoch(store, pack.id) < 0:
        return None
    if (written := written_binding(store, pack.id)) is not None:
        return written
    kept = load_checkpoint(store, pack.id)
    return None if kept is None else Binding(kept["kind"], kept["mode"], pack.width)


def steps_kept(store: Store, pack: str) -> int:
    """The steps of each run at the pack's checkpoint, 0 without one.  The progress file may name another step."""
    kept = load_checkpoint(store, pack) or {}
    return int(kept.get("journal", {}).get("steps", 0))


def without_workers(
    store: Store, packs: Iterable[Pack], others: Mapping[str, Binding], lease_seconds: float
) -> dict[str, Binding]:
    """The free packs of `others`, except for kinds of device with a worker that holds a pack.  Raises StoreError.

    others: pack → its binding to another kind, for some of the packs.
    """
    if not others:
        return {}
    held = LeaseFiles(store).held([pack.id for pack in packs], lease_seconds)
    kinds = {binding.kind for pack in held if (binding := written_binding(store, pack)) is not None}
    return {pack: bound for pack, bound in others.items() if pack not in held and bound.kind not in kinds}


@dataclass(frozen=True)
class Anew:
    """A pack to train again.  kind: the device kind that began it. runs: their number. steps: the lost steps a run."""

    kind: str
    runs: int
    steps: int


@dataclass(frozen=True)
class Earlier:
    """The unfinished packs of earlier plans, sorted.

    going_on: the packs that go on. replaced: the packs that new packs replace. said: up to three sentences, one for
    each case: packs begun on a device kind without workers; packs that go on with other code; packs that go on with
    other diagnostics.
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

    runs: id → run as it was planned. asked: the runs as the command asks for them now. kind: the device kind of the
    workers to be started. known: whether all workers have exactly this kind; otherwise any kind of the same sort.
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
        changed = with_others | changes.keys()
        replaced |= changed - LeaseFiles(store).held(changed, lease_seconds).keys()
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
        if latest_epoch(store, pack.id) >= 0:  # packs without a checkpoint begin again, with this code
            parts = reached(store, pack.id).parts or [UNKNOWN]
            if changed := other_code(parts, runs[pack.runs[0]].trained_by):
                changes[pack.id] = changed
    return changes


def _said_of_other_code(packs: Sequence[Pack], changes: Mapping[str, Sequence[str]]) -> str:
    """A sentence about packs that go on with other code.  changes: as `_code_changes` returns them."""
    runs = sum(pack.width for pack in packs)
    differences = list(dict.fromkeys(words for pack in packs for words in changes[pack.id]))
    goes, its = ("goes", "its record lists") if runs == 1 else ("go", "their records list")
    return (
        f"{counted(runs, 'run')} begun by other code {goes} on by this one ({some(differences, 3)}): {its} both parts; "
        "rerun=true trains again by one code."
    )


def _to_train_anew(
    store: Store, packs: Sequence[Pack], kind: str, known: bool, lease_seconds: float
) -> dict[str, Anew]:
    """Pack → its loss, for packs begun on a device kind that has no worker and will get none.

    kind, known: as in `what_becomes_of`. Skips packs that workers hold, and packs of a kind if any worker of that kind
    holds a pack.  Raises StoreError.
    """
    others = {}
    for pack in packs:
        binding = binding_of(store, pack)
        if binding is not None:
            continues = binding.kind == kind or (not known and sort_of(binding.kind) == sort_of(kind))
            others |= {} if continues else {pack.id: binding}
    lost = without_workers(store, packs, others, lease_seconds)
    return {
        pack.id: Anew(lost[pack.id].kind, pack.width, steps_kept(store, pack.id)) for pack in packs if pack.id in lost
    }


def said_of_anew(packs: Collection[Anew], kind: str) -> str:
    """A sentence about packs to train again.  kind: the device kind that trains them now."""
    runs, lost = sum(pack.runs for pack in packs), sum(pack.runs * pack.steps for pack in packs)
    begun = ", ".join(sorted({pack.kind for pack in packs}))
    are, were = ("is" if runs == 1 else "are"), ("is" if lost == 1 else "are")
    return (
        f"{counted(runs, 'run')} begun on {begun}, which has no worker, {are} trained again on {kind}: a checkpoint "
        f"goes on only on the kind of device that wrote it. {counted(lost, 'run-step')} {were} lost."
    )


def chosen(run: Run, groups: Sequence[str] = (DIAGNOSTICS, ASSAY)) -> dict[tuple[str, str], tuple[str, dict[str, Any]]]:
    """(group, option) → its class and settings, for diagnostics and assays that measure the run.

    Empty for a run of a version without the groups, and for a run that itself tries an assay.
    """
    addresses = [] if run.is_of_assay else [(group, each) for group in groups for each in run.addresses(group)]
    return {
        (group, run.name(address)): (run.targets[address], run.settings(address))
        for group, address in addresses
        if run.name(address) != COMPONENTS[group].neutral
    }


def _said_of_other_diagnostics(runs: int) -> str:
    """A sentence about runs that go on with other diagnostics.  runs: their number."""
    goes, those = ("goes", "has") if runs == 1 else ("go", "have")
    return (
        f"{counted(runs, 'run')} begun with other diagnostics or assays than now {goes} on with those, and "
        f"{those} no columns of the others; rerun=true trains again."
    )
