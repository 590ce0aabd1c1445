"""How a sweep stands, from the store alone: its plan, and the leases, endings and records of its packs and runs."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from launch.packs.endings import ending_of
from launch.packs.lease_files import LeaseFiles, PackState
from launch.packs.pace import seconds_needed, until_the_last
from launch.packs.pauses import Pause, read_pause
from launch.packs.progress import NOWHERE, Reached, reached
from plasticity_lab.records.bulk_log import bytes_on_disk
from plasticity_lab.records.files import names
from plasticity_lab.records.index_files import Outcome
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import MEASURED, STOPPED, CorruptRecord, ended_for
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.store import Store

STATES = ("done", "running", "waiting", "diverged", "failed", STOPPED)
LAST_LINES = 3
"""How much of a failed run's error is shown; its record has all."""


@dataclass(frozen=True)
class HeldPack:
    """A pack that a worker holds.

    family: what its runs are, in words. steps: of each run, in its `unit`; steps_done: how many of them are done.
    lately: what its runs measured last, by columns of metrics.parquet (see `Journal.lately`). worker: who holds it.
    silent: seconds since the worker was last heard of. left: seconds that the pack still needs. pause: what the worker
    does instead of training; None if it trains.
    """

    pack: str
    family: str
    width: int
    mode: str
    steps: int
    steps_done: int
    unit: str
    diverged: int
    lately: Mapping[str, float]
    worker: str
    silent: float
    left: float
    pause: Pause | None = None


@dataclass(frozen=True)
class SweepState:
    """The runs of one sweep.

    states: run → one of STATES. flagged: what records say beside the status ("collapsed", or what a run's agent says of
    it) → finished runs, and runs in training that were interrupted in a way that records will name. kinds: kind of
    device → runs that were finished on it, or have been begun there. diverged: run → the step at which it did.
    failed: reason → runs. errors: reason → the last lines of the error of the first of them. given_up: run → how often
    it has failed, of those that failed too often to be planned again. unreadable: what is wrong with records, metrics
    and weights that are damaged (their runs wait). running: the packs that workers hold. packs: the ids of all packs
    that its runs are or were in, as far as is known. progress: how far a run is on average, from 0 to 1. left: seconds
    until the last pack ends, by how fast this sweep's packs have been so far; None where runs wait and nobody trains.
    memory_bytes: what the replay memories of its open packs take in the store.
    """

    sweep: str
    command: str
    states: Mapping[str, str]
    flagged: Mapping[str, Sequence[str]]
    kinds: Mapping[str, Sequence[str]]
    diverged: Mapping[str, int]
    failed: Mapping[str, Sequence[str]]
    errors: Mapping[str, Sequence[str]]
    given_up: Mapping[str, int]
    unreadable: Sequence[str]
    running: Sequence[HeldPack]
    packs: Sequence[str]
    progress: float
    left: float | None
    memory_bytes: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """How many runs are in each of STATES."""
        found = Counter(self.states.values())
        return {state: found[state] for state in STATES}


def state_of(store: Store, plan: Plan, index: RunIndex | None = None) -> SweepState:
    """How the sweep stands now; writes nothing that stays.  Raises StoreError.

    index: by which records are read; one for many sweeps.
    """
    ended = set(names(store.done_folder))
    outcomes, unreadable = _outcomes(index or RunIndex(store), plan.asked)
    rerun = plan.settings.rerun
    final = () if rerun else ended_for(plan.settings)
    finished = {run for run, outcome in outcomes.items() if outcome.status in final}
    # A pack that never ended has nothing to do where its runs were planned anew, and finished, elsewhere.
    left = set(plan.asked) - finished
    open_packs = [pack for pack in plan.packs if pack.id not in ended and not left.isdisjoint(pack.runs)]
    leases = LeaseFiles(store).states([pack.id for pack in open_packs], plan.settings.launch.lease_seconds)
    packs_of = {run: pack.id for pack in open_packs for run in pack.runs}
    states = {run: _state(outcomes.get(run), leases.get(packs_of.get(run, "")), final) for run in plan.asked}
    failed = defaultdict(list)
    last_lines: dict[str, list[str]] = {}
    for run in (run for run, state in states.items() if state == "failed"):
        error = _error(store, run)
        reason = _reason(store, outcomes[run], error)
        failed[reason].append(run)
        last_lines.setdefault(reason, _last_lines(error))

    begun = set(names(store.root / "packs"))
    far = {pack.id: reached(store, pack.id) for pack in open_packs if pack.id in begun}
    needed = seconds_needed(open_packs, plan.packs, far, _took(plan.packs, outcomes))
    held = [pack for pack in open_packs if leases[pack.id].held]
    on_the_way = {run: far[p.id].steps / p.steps for p in open_packs if p.id in far for run in p.runs}
    share = {run: on_the_way.get(run, 0.0) if state in ("running", "waiting") else 1.0 for run, state in states.items()}
    mixed = {run: flags for p in open_packs if p.id in far and (flags := far[p.id].flags) for run in p.runs}
    return SweepState(
        sweep=plan.sweep,
        command=in_words(plan.command),
        states=states,
        flagged=_flagged({run: outcomes[run].flags for run, state in states.items() if state in MEASURED} | mixed),
        kinds=_by_kind(
            {run: outcomes[run].kind for run, state in states.items() if state in MEASURED}
            | {run: far[pack.id].kind for pack in open_packs if pack.id in far for run in pack.runs}
        ),
        diverged={
            run: step
            for run, state in states.items()
            if state == "diverged" and (step := outcomes[run].diverged_at_step) is not None
        },
        failed=dict(failed),
        errors=last_lines,
        given_up={
            run: often
            for run, state in states.items()
            if state == "failed" and (often := outcomes[run].failures) > plan.settings.launch.retries
        },
        unreadable=unreadable,
        running=[_held(store, pack, far.get(pack.id), leases[pack.id], needed[pack.id]) for pack in held],
        packs=sorted({pack.id for pack in plan.packs} | {each.pack for each in outcomes.values() if each.pack}),
        progress=sum(share.values()) / max(1, len(share)),
        left=until_the_last(
            [needed[pack.id] for pack in held],
            [needed[pack.id] for pack in open_packs if pack not in held],
            any(state == "waiting" for state in states.values()),
        ),
        memory_bytes=sum(bytes_on_disk(store, pack) for pack in far),
    )


def _outcomes(index: RunIndex, runs: Sequence[str]) -> tuple[dict[str, Outcome], list[str]]:
    found, unreadable = {}, []
    for run in runs:
        try:
            outcome = index.of(run)
            if outcome is not None:
                found[run] = outcome
        except CorruptRecord as error:
            unreadable.append(str(error))
    return found, unreadable


def _state(outcome: Outcome | None, pack: PackState | None, final: Collection[str]) -> str:
    """pack: the open one that the run is in, if it is in one: it is trained again unless its status is a final one."""
    if outcome is not None and (pack is None or outcome.status in final):
        return outcome.status
    return "running" if pack is not None and pack.held else "waiting"


def _flagged(flags: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Flag → the runs that have it.  flags: run → its flags."""
    flagged = defaultdict(list)
    for run, its in flags.items():
        for flag in its:
            flagged[flag].append(run)
    return dict(flagged)


def _by_kind(kinds: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Kind of device → runs.  kinds: run → its kind, None where that is not known."""
    found = defaultdict(list)
    for run, kind in kinds.items():
        if kind is not None:
            found[kind].append(run)
    return dict(sorted(found.items()))


def _error(store: Store, run: str) -> str:
    """The error that a failed run's record keeps."""
    try:
        record = read_record(store, run)
    except CorruptRecord:
        return ""  # damaged since it was looked at
    return "" if record is None else str(record["error"])


def _reason(store: Store, outcome: Outcome, error: str) -> str:
    """Why a run failed, in a line."""
    ending = None if outcome.pack is None else ending_of(store, outcome.pack)
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return (ending.error if ending is not None else "") or (lines[-1] if lines else "no reason was left")


def _last_lines(error: str) -> list[str]:
    """The end of a traceback, without the marks under its lines; nothing of an error of one line."""
    lines = [line for line in error.splitlines() if line.strip(" ^~")]
    return lines[-LAST_LINES:] if len(lines) > 1 else []


def _took(packs: Sequence[Pack], outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """Pack → the seconds that it took, by the records of its runs; as planned where they do not say it."""
    found = {}
    for pack in packs:
        outcome = outcomes.get(pack.runs[0])
        if outcome is not None and outcome.pack == pack.id:
            found[pack.id] = pack.seconds if outcome.pack_seconds is None else outcome.pack_seconds
    return found


def _held(store: Store, pack: Pack, now: Reached | None, state: PackState, left: float) -> HeldPack:
    now = now or NOWHERE
    return HeldPack(
        pack=pack.id,
        family=pack.family,
        width=pack.width,
        mode=pack.mode,
        steps=pack.steps,
        steps_done=now.steps,
        unit=pack.unit,
        diverged=now.diverged,
        lately=now.lately,
        worker=str(state.owner),
        silent=state.age or 0.0,
        left=left,
        pause=read_pause(store, pack.id),
    )


def in_words(command: Sequence[str]) -> str:
    """The words after `python -m plasticity_lab.main`, as one would type them."""
    at = next((at for at, word in enumerate(command) if word.endswith(("plasticity_lab.main", "main.py"))), -1)
    return shlex.join(word for word in command[at + 1 :] if word not in ("-m", "--multirun"))
