"""The state of a sweep, from the store alone: its plan, and the leases, endings and records of its packs and runs."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from launch.packs.endings import ending_of
from launch.packs.lease_files import LeaseFiles, PackState
from launch.packs.progress import NOWHERE, Pause, Reached, reached, read_pause, seconds_needed, until_the_last
from plasticity_lab.records.bulk_log import bytes_on_disk
from plasticity_lab.records.files import names
from plasticity_lab.records.index_files import Outcome
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import MEASURED, STOPPED, CorruptRecord, ended_for
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.store import Store

STATES = ("done", "running", "waiting", "diverged", "failed", STOPPED)
UNFINISHED = ("running", "waiting")
LAST_LINES = 3
"""The number of lines that are shown of a failed run's error; its record has all lines."""


@dataclass(frozen=True)
class HeldPack:
    """A pack that a worker holds.

    family: its runs, in words. steps: the length of each run, in the pack's `unit`. steps_done: the number of these
    steps that are done. lately: column of metrics.parquet → the latest measurement of its runs (see `Journal.lately`).
    worker: its holder. silent: seconds since the worker last touched its lease. left: seconds that the pack still
    needs. pause: the reason why the worker does not train at the moment; None if it trains.
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

    states: run → one of STATES. flagged: flag of the records ("collapsed", or a flag of the agent) → finished runs with
    it, and running runs that will have it because of their interruptions. kinds: device kind → runs that finished on it
    or train on it. diverged: run → the step of its divergence. failed: reason → runs. errors: reason → the last lines
    of the first such run's error. given_up: run → how often it has failed, for runs that are not planned again.
    unreadable: the damage of records, metrics and weights (their runs wait). running: the packs that workers hold.
    packs: the known ids of all packs that its runs are or were in. progress: the progress of an average run, from 0 to
    1. left: seconds until the last pack ends, by the pace of this sweep's packs; None if runs wait without workers.
    memory_bytes: the bytes of the replay memories of its open packs in the store.
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
        counts = Counter(self.states.values())
        return {state: counts[state] for state in STATES}


def state_of(store: Store, plan: Plan, index: RunIndex | None = None) -> SweepState:
    """The state of a sweep now; writes nothing that stays.  Raises StoreError.

    index: reads the records; one index can serve many sweeps.
    """
    outcomes, unreadable = _outcomes(index or RunIndex(store), plan.asked)
    final = () if plan.settings.rerun else ended_for(plan.settings)
    retries, lease_seconds = plan.settings.launch.retries, plan.settings.launch.lease_seconds
    open_packs = _open_packs(store, plan, outcomes, final)
    leases = LeaseFiles(store).states([pack.id for pack in open_packs], lease_seconds)
    lease_of = {run: leases[pack.id] for pack in open_packs for run in pack.runs}
    states = {run: _state(outcomes.get(run), lease_of.get(run), final) for run in plan.asked}
    finished = {run: outcomes[run] for run, state in states.items() if state in MEASURED}
    failed = {run: outcomes[run] for run, state in states.items() if state == "failed"}
    reasons, errors = _failures(store, failed)
    begun = set(names(store.root / "packs"))
    far = {pack.id: reached(store, pack.id) for pack in open_packs if pack.id in begun}
    far_of = {run: far[pack.id] for pack in open_packs if pack.id in far for run in pack.runs}
    needed = seconds_needed(open_packs, plan.packs, far, _took(plan.packs, outcomes))
    held = [pack for pack in open_packs if leases[pack.id].held]
    waiting = [pack for pack in open_packs if not leases[pack.id].held]
    return SweepState(
        sweep=plan.sweep,
        command=in_words(plan.command),
        states=states,
        flagged=_flagged(finished, far_of),
        kinds=_by_kind(finished, far_of),
        diverged={run: step for run, outcome in finished.items() if (step := outcome.diverged_at_step) is not None},
        failed=reasons,
        errors=errors,
        given_up={run: often for run, outcome in failed.items() if (often := outcome.failures) > retries},
        unreadable=unreadable,
        running=[_held(store, pack, far.get(pack.id, NOWHERE), leases[pack.id], needed[pack.id]) for pack in held],
        packs=sorted({pack.id for pack in plan.packs} | {end.pack for end in outcomes.values() if end.pack}),
        progress=_progress(states, open_packs, far),
        left=until_the_last(
            [needed[pack.id] for pack in held], [needed[pack.id] for pack in waiting], "waiting" in states.values()
        ),
        memory_bytes=sum(bytes_on_disk(store, pack) for pack in far),
    )


def _outcomes(index: RunIndex, runs: Sequence[str]) -> tuple[dict[str, Outcome], list[str]]:
    """Run → its outcome, and the damage of records that cannot be read."""
    outcomes, unreadable = {}, []
    for run in runs:
        try:
            if (outcome := index.of(run)) is not None:
                outcomes[run] = outcome
        except CorruptRecord as error:
            unreadable.append(str(error))
    return outcomes, unreadable


def _open_packs(store: Store, plan: Plan, outcomes: Mapping[str, Outcome], final: Collection[str]) -> list[Pack]:
    """The packs that have not ended and have unfinished runs.  final: the statuses that count as finished.

    The runs are checked too: other packs may have finished all runs of a pack that never ended.
    """
    ended = set(names(store.done_folder))
    left = set(plan.asked) - {run for run, outcome in outcomes.items() if outcome.status in final}
    return [pack for pack in plan.packs if pack.id not in ended and not left.isdisjoint(pack.runs)]


def _state(outcome: Outcome | None, pack: PackState | None, final: Collection[str]) -> str:
    """The state of a run.

    pack: the state of the run's open pack, or None. If a run has an open pack, only a final status of the run counts.
    """
    if outcome is not None and (pack is None or outcome.status in final):
        return outcome.status
    return "running" if pack is not None and pack.held else "waiting"


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Groups pairs: first element → the list of second elements."""
    groups = defaultdict(list)
    for key, member in pairs:
        groups[key].append(member)
    return dict(groups)


def _progress(states: Mapping[str, str], packs: Sequence[Pack], far: Mapping[str, Reached]) -> float:
    """The progress of an average run, from 0 to 1.  far: pack → its progress, for begun packs."""
    share = {run: far[pack.id].steps / pack.steps for pack in packs if pack.id in far for run in pack.runs}
    shares = [share.get(run, 0.0) if state in UNFINISHED else 1.0 for run, state in states.items()]
    return sum(shares) / max(1, len(shares))


def _flagged(finished: Mapping[str, Outcome], training: Mapping[str, Reached]) -> dict[str, list[str]]:
    """Flag → the runs that have it, or will have it."""
    flags = {run: outcome.flags for run, outcome in finished.items()}
    flags |= {run: now.flags for run, now in training.items() if now.flags}
    return _grouped((flag, run) for run, its_flags in flags.items() for flag in its_flags)


def _by_kind(finished: Mapping[str, Outcome], training: Mapping[str, Reached]) -> dict[str, list[str]]:
    """Kind of device → runs, for known kinds."""
    kinds = {run: outcome.kind for run, outcome in finished.items()}
    kinds |= {run: now.kind for run, now in training.items()}
    return dict(sorted(_grouped((kind, run) for run, kind in kinds.items() if kind is not None).items()))


def _failures(store: Store, failed: Mapping[str, Outcome]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Reason → failed runs, and reason → the last lines of the first such run's error."""
    reasons: dict[str, list[str]] = {}
    errors: dict[str, list[str]] = {}
    for run, outcome in failed.items():
        try:
            record = read_record(store, run)
        except CorruptRecord:
            record = None  # damaged since its outcome was read
        lines = [] if record is None else [line.strip() for line in str(record["error"]).splitlines() if line.strip()]
        ending = None if outcome.pack is None else ending_of(store, outcome.pack)
        reason = (ending.error if ending is not None else "") or (lines[-1] if lines else "no reason was left")
        reasons.setdefault(reason, []).append(run)
        errors.setdefault(reason, _last_lines("" if record is None else str(record["error"])))
    return reasons, errors


def _last_lines(error: str) -> list[str]:
    """The end of a traceback, without the marks under its lines; empty for an error of one line."""
    lines = [line for line in error.splitlines() if line.strip(" ^~")]
    return lines[-LAST_LINES:] if len(lines) > 1 else []


def _took(packs: Sequence[Pack], outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """Pack → the seconds that it took, from its first run's record; the plan's estimate if the record has none."""
    seconds = {}
    for pack in packs:
        outcome = outcomes.get(pack.runs[0])
        if outcome is not None and outcome.pack == pack.id:
            seconds[pack.id] = pack.seconds if outcome.pack_seconds is None else outcome.pack_seconds
    return seconds


def _held(store: Store, pack: Pack, now: Reached, state: PackState, left: float) -> HeldPack:
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
    """The words after `python -m plasticity_lab.main`, quoted for a shell."""
    at = next((at for at, word in enumerate(command) if word.endswith(("plasticity_lab.main", "main.py"))), -1)
    return shlex.join(word for word in command[at + 1 :] if word not in ("-m", "--multirun"))
