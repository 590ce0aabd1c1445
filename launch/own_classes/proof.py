"""The one equation, tried on a class: the packs of `cases` against the runs alone, then again in a fresh process."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from launch.own_classes import formula, fresh, padding, shared_images
from launch.own_classes.cases import AFRESH, CASES, OTHER_PROCESS, Case
from launch.own_classes.fresh import NotTried, digested, trained_afresh
from launch.own_classes.named import Fault, OwnClass, is_own, own_bases, place, place_of
from launch.own_classes.names import misnamed, uncallable
from launch.own_classes.packs import Event, NoParameters, Packs
from launch.own_classes.promises import BrokenPromise
from launch.own_classes.shared_images import content_of
from launch.own_classes.tiny import Tiny, tinies
from plasticity_lab.agents.agent import Learner
from plasticity_lab.component import load
from plasticity_lab.errors import OwnClassError, PlasticityError


@dataclass
class Proof:
    """What was tried on a class.

    asked: verb → how often it was called. updates: of each run. outcomes: what was tried, and what was wrong then.
    notes: what could not be tried, or is worth knowing.
    """

    description: str = ""
    updates: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    outcomes: list[tuple[str, Fault | None]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


LOOKS: Mapping[str, Mapping[str, Callable[[OwnClass, Tiny, Learner], Fault | None]]] = {
    "activation": {formula.TITLE: formula.depends_on_place},
    "intervention": {padding.TITLE: padding.filled_up},
    "optimizer": {padding.TITLE: padding.filled_up},
}
"""What else is tried on the classes of a group: in words, and what finds the fault in a learner that has trained."""


def proved(own: OwnClass, folder: Path) -> Proof:
    """Trains small packs of the class and compares them with the runs alone, bit for bit, in eager mode on the CPU.

    folder: the data's.
    """
    fresh.begin()
    proof = Proof()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as workers have it
    try:
        for size, tiny in enumerate(tinies(own, folder)):
            if _tried(own, folder, size, tiny, proof):
                break
    except PlasticityError as error:
        proof.notes = [_untrained(error)]
    finally:
        torch.set_num_threads(threads)
    return proof


def _tried(own: OwnClass, folder: Path, size: int, tiny: Tiny, proof: Proof) -> bool:
    """Whether runs of one small pack could be trained; if so, all outcomes are added, and if not, the reason.

    size: the place of the pack among the small ones. Raises PlasticityError.
    """
    packs, proof.description, proof.notes, proof.faults = Packs(own, tiny), tiny.description, [], []
    images = content_of(tiny.resource)
    try:
        alone = [packs.pack([place])[0] for place in range(len(tiny.runs))]
    except OwnClassError as error:
        proof.faults = [Fault(str(error).rstrip("."), place(own.cls))]
        return False
    except PlasticityError as error:  # what does not fit together is reported by planning, in the real sizes
        proof.notes = [_untrained(error)]
        return False
    except Exception as error:  # somebody's own code can raise anything; the next may be large enough for it
        proof.faults = [_raised(own, error)]
        return False
    writes = content_of(tiny.resource) != images
    _note(
        proof, shared_images.TITLE, Fault(f"it writes into {shared_images.WRITES}", place(own.cls)) if writes else None
    )
    _compare(own, packs, alone, proof)
    if not proof.faults:
        _compare_afresh(own, folder, size, packs, alone, proof)
    return True


def _untrained(error: PlasticityError) -> str:
    return f"It could not be trained in small, so only its names were looked at: {error}"


def _compare(own: OwnClass, packs: Packs, alone: Sequence[Sequence[Event]], proof: Proof) -> None:
    """Adds the outcomes of the learner's names, of every case and of LOOKS."""
    proof.asked, proof.updates = packs.asked, packs.updates
    learner = type(packs.learner)
    if is_own(learner):
        contract = {name: value for name, value in vars(Learner).items() if not name.startswith("_")}
        for fault in [*misnamed(learner, contract), *uncallable(learner, contract)]:
            _note(proof, "names of its learner's verbs", fault)
    where = _where(own, packs)
    for case in CASES:
        _compare_case(own, case, where, packs, alone, proof)
    for title, look in LOOKS.get(own.group, {}).items():
        try:
            fault = look(own, packs.tiny, packs.learner)
        except Exception as error:
            fault = _raised(own, error)
        _note(proof, title, fault)
    if not packs.updates:
        proof.notes.append("No update was taken in the small runs, so its verbs were hardly asked.")
    elif own.group == "intervention" and not proof.faults and packs.pack([0], without=True)[0] == list(alone[0]):
        proof.notes.append(f"It changed no number in {packs.updates} updates: they are those of intervention=none.")


def _compare_case(
    own: OwnClass, case: Case, where: str, packs: Packs, alone: Sequence[Sequence[Event]], proof: Proof
) -> None:
    """Adds the outcome of one case, or a note.  where: the place of a class with other numbers."""
    try:
        packed = packs.pack(case.places, case.interrupted, scaled=case.scaled)
        fault = _different(where, case, packed, alone, packs.tiny)
    except NoParameters:
        proof.notes.append(f"It was not {case.title}: its learner's state has no 'parameters'.")
        return
    except Exception as error:
        if case.scaled and not _is_its_own(own, error):
            first = str(error).partition("\n")[0]
            proof.notes.append(f"It was not {case.title}: other code ends with {type(error).__name__}: {first}")
            return
        fault = _raised(own, error)
    _note(proof, case.title, fault)


def _where(own: OwnClass, packs: Packs) -> str:
    """The place of a class with other numbers: its only method that was called, if it is one."""
    verbs = [verb for verb in packs.asked if any(verb in vars(base) for base in own_bases(own.cls))]
    return place_of(own.cls, verbs[0]) if len(verbs) == 1 else place(own.cls)


def _compare_afresh(
    own: OwnClass, folder: Path, size: int, packs: Packs, alone: Sequence[Sequence[Event]], proof: Proof
) -> None:
    """Adds the outcome of a fresh process.  size: the number of the small pack."""
    wanted = [digested(events) for events in alone]
    try:
        packed = trained_afresh(own, folder, size, AFRESH.places, after=True)
        fault = _different(_where(own, packs), AFRESH, packed, wanted, packs.tiny)
        if fault is not None and trained_afresh(own, folder, size, [0], after=False)[0] != digested(alone[0]):
            fault = replace(fault, what=fault.what.replace(AFRESH.why, OTHER_PROCESS))
    except NotTried as error:
        proof.notes.append(f"It was not trained in a fresh process: {error}.")
        return
    except RuntimeError as error:
        fault = Fault(f"in a fresh process it fails with {error}", place(own.cls))
    _note(proof, AFRESH.title, fault)


def _different(
    where: str, case: Case, packed: Sequence[Sequence[Event]], alone: Sequence[Sequence[Event]], tiny: Tiny
) -> Fault | None:
    """The first number of a pack that is not the run's own."""
    for place_in_pack, which in enumerate(case.places):
        if place_in_pack in case.scaled:
            continue
        of_pack = packed[place_in_pack]
        for ours, theirs in zip(alone[which], of_pack, strict=False):
            if ours != theirs:
                run = f"run {place_in_pack + 1} of {len(case.places)} (seed {tiny.runs[which].science['seed']})"
                what = f"{run}, {case.title}, differs from the run alone, first in {ours.when}, {ours.name}: {case.why}"
                return Fault(what, where)
        if len(alone[which]) != len(of_pack):
            return Fault(f"a run {case.title} measures more or less often than the run alone: {case.why}", where)
    return None


def _note(proof: Proof, title: str, fault: Fault | None) -> None:
    """Adds what came out of something that was tried."""
    proof.outcomes.append((title, fault))
    proof.faults += [] if fault is None else [fault]


def _raised(own: OwnClass, error: Exception) -> Fault:
    """What an error says of the class, and where in its own file it came up."""
    if isinstance(error, BrokenPromise):
        return Fault(error.what, place_of(own.cls, error.verb))
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, NotImplementedError) and frames:
        return Fault(f"'{frames[-1].name}' is not written, and it is needed", place(own.cls))
    inside = _inside(own, error)
    where = f"{Path(inside[-1].filename).absolute()}, line {inside[-1].lineno}" if inside else place(own.cls)
    first = (str(error).strip().splitlines() or ["without a word"])[0].rstrip(".")
    return Fault(f"small packs of it fail with {type(error).__name__}: {first}", where)


def _is_its_own(own: OwnClass, error: Exception) -> bool:
    """Whether an error came up in the class, or was caused by its results."""
    return isinstance(error, BrokenPromise) or bool(_inside(own, error))


def _inside(own: OwnClass, error: Exception) -> list[traceback.FrameSummary]:
    """The lines of the class's own files in an error's traceback."""
    files = {Path(place(base).rpartition(", line ")[0]) for base in own_bases(load(own.run.targets[own.group]))}
    return [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).absolute() in files]
