"""Whether packed runs equal runs alone, bit for bit, tried on a class; then again in a fresh process."""

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from launch.own_classes import fresh
from launch.own_classes.fresh import NotTried, digested, trained_afresh
from launch.own_classes.further_checks import FURTHER_CHECKS
from launch.own_classes.named import Fault, OwnClass, is_own, own_bases, place, place_of
from launch.own_classes.names import misnamed, uncallable
from launch.own_classes.packs import Event, NoParameters, Packs, Scale
from launch.own_classes.promises import WRITES, BrokenPromise, content_of
from launch.own_classes.tiny import Tiny, tinies
from plasticity_lab.agents.agent import Learner
from plasticity_lab.component import load
from plasticity_lab.errors import OwnClassError, PlasticityError

MIXES = (
    "a number of one run has reached another (a sum, a mean or a sort over axis 0), or the first run's setting was "
    "taken for all (self.… in place of the method's argument on the run axis)"
)
LARGE = (
    "a number of one run has reached another as soon as it is large (one norm or one maximum over the pack: a clip, a "
    "scale); take it over the axes of each run alone"
)
NOT_FINITE = (
    "a number of one run has reached another as soon as it is not finite (isfinite(x).all(), a step that is skipped "
    "for all); ask it of each run alone"
)
KEPT = (
    "something is kept from one pack to the next (a global variable, an attribute of the class), or drawn from a "
    "global generator"
)
NOT_IN_STATE = "a number is kept in the object, and no checkpoint finds it there; it belongs into the state"
LEFT_BEHIND = (
    "the pack that was trained before has left something that counts (a value of the module or of the class that the "
    "first call sets, or that is kept without the seed)"
)
OTHER_PROCESS = (
    "another process has other numbers: hash() of a string and the order of a set differ with PYTHONHASHSEED, and so "
    "do id() and the time; hashlib and sorted() do not"
)


@dataclass(frozen=True)
class Case:
    """One pack; its runs must have the same numbers as alone.

    title: the pack in words. runs: the small runs in it. why: the meaning of a difference. scaled: position in the pack
    → the scale of this run's parameters; the numbers of a scaled run are not compared.
    """

    title: str
    runs: Sequence[int]
    why: str
    interrupted: bool = False
    scaled: Mapping[int, Scale] = field(default_factory=dict)


CASES = (
    Case("again, in the same process", [0], KEPT),
    Case("in a pack of 2", [0, 1], MIXES),
    Case("in a pack of 3", [0, 1, 2], MIXES),
    Case("in a pack of 3 in another order", [2, 0, 1], MIXES),
    Case("in a pack of 5, some runs twice", [1, 2, 1, 0, 2], MIXES),
    Case("packed with a run of values 10⁴ times as large", [1, 0], LARGE, scaled={0: Scale(1e4, first=True)}),
    Case("packed with a run of weights 10⁴ times as large", [0, 1], LARGE, scaled={1: Scale(1e4)}),
    Case("packed with a run that diverges", [0, 2, 1], NOT_FINITE, scaled={1: Scale(1e38)}),
    Case("alone, stopped and resumed after every part", [1], NOT_IN_STATE, interrupted=True),
)
AFRESH = Case("in a fresh process, after the pack of other runs of another length", [2, 0], LEFT_BEHIND)


class Proof:
    """The trials of a class.

    folder: contains the data sets. description: the small runs in words. outcomes: (title, its fault or None). notes:
    trials that were impossible, and facts worth knowing.
    """

    def __init__(self, own: OwnClass, folder: Path) -> None:
        self.own, self.folder = own, folder
        self.description = ""
        self.outcomes: list[tuple[str, Fault | None]] = []
        self.notes: list[str] = []

    @property
    def faults(self) -> list[Fault]:
        """The faults among the outcomes."""
        return [fault for _, fault in self.outcomes if fault is not None]

    def try_small_pack(self, number: int, tiny: Tiny) -> bool:
        """Whether runs of one small pack could be trained; adds all outcomes, or the reason if they could not.

        number: the pack's position among `tinies`. Raises PlasticityError.
        """
        packs = self._packs = Packs(self.own, tiny)
        self.description, self.notes, self.outcomes = tiny.description, [], []
        images = content_of(tiny.resource)
        try:
            self._alone = [packs.pack([run])[0] for run in range(len(tiny.runs))]
        except OwnClassError as error:
            self._add("a run alone", Fault(str(error).rstrip("."), place(self.own.cls)))
            return False
        except PlasticityError as error:  # planning reports choices that do not fit together, in the real sizes
            self.notes = [untrained(error)]
            return False
        except Exception as error:  # an own class can raise anything; the next pack may be large enough for it
            self._add("a run alone", self._raised(error))
            return False
        updates = packs.updates
        writes = Fault(f"it writes into {WRITES}", place(self.own.cls))
        self._add("shared images stay as they are", writes if content_of(tiny.resource) != images else None)
        self._compare()
        if not self.faults:
            self._compare_afresh(number)
        calls = ", ".join(f"{verb} {count}" for verb, count in packs.asked.items())
        self.description += f"; {updates} updates each{f'; calls: {calls}' if calls else ''}"
        return True

    def _add(self, title: str, fault: Fault | None) -> None:
        self.outcomes.append((title, fault))

    def _compare(self) -> None:
        """Adds the outcomes for the learner's names, for every case, and for the further checks."""
        own, packs = self.own, self._packs
        learner = type(packs.learner)
        if is_own(learner):
            contract = {name: value for name, value in vars(Learner).items() if not name.startswith("_")}
            for fault in [*misnamed(learner, contract), *uncallable(learner, contract)]:
                self._add("names of its learner's methods", fault)
        for case in CASES:
            self._compare_case(case)
        for title, check in FURTHER_CHECKS.get(own.group, {}).items():
            try:
                fault = check(own, packs.tiny, packs.learner)
            except Exception as error:
                fault = self._raised(error)
            self._add(title, fault)
        if not packs.updates:
            self.notes.append("The small runs made no update, so its methods were hardly called.")
        elif own.group == "intervention" and not self.faults and packs.pack([0], without=True)[0] == self._alone[0]:
            self.notes.append(f"It changed no number in {packs.updates} updates: they equal intervention=none.")

    def _compare_case(self, case: Case) -> None:
        """Adds the outcome of one case, or a note."""
        try:
            packed = self._packs.pack(case.runs, case.interrupted, scaled=case.scaled)
            fault = self._difference(case, packed, self._alone)
        except NoParameters:
            self.notes.append(f"It was not {case.title}: its learner's state has no 'parameters'.")
            return
        except Exception as error:
            if case.scaled and not (isinstance(error, BrokenPromise) or self._lines_of(error)):
                first = str(error).partition("\n")[0]
                self.notes.append(f"It was not {case.title}: other code ends with {type(error).__name__}: {first}")
                return
            fault = self._raised(error)
        self._add(case.title, fault)

    def _compare_afresh(self, number: int) -> None:
        """Adds the outcome in a fresh process.  number: the small pack's position among `tinies`."""
        alone = [digested(events) for events in self._alone]
        try:
            packed = trained_afresh(self.own, self.folder, number, AFRESH.runs, after=True)
            fault = self._difference(AFRESH, packed, alone)
            if fault is not None and trained_afresh(self.own, self.folder, number, [0], after=False)[0] != alone[0]:
                fault = replace(fault, what=fault.what.replace(AFRESH.why, OTHER_PROCESS))
        except NotTried as error:
            self.notes.append(f"It was not trained in a fresh process: {error}.")
            return
        except RuntimeError as error:
            fault = Fault(f"in a fresh process it fails with {error}", place(self.own.cls))
        self._add(AFRESH.title, fault)

    def _difference(
        self, case: Case, packed: Sequence[Sequence[Event]], alone: Sequence[Sequence[Event]]
    ) -> Fault | None:
        """The first number of a pack that differs from the run alone."""
        for position, run in enumerate(case.runs):
            if position in case.scaled:
                continue
            for ours, theirs in zip(alone[run], packed[position], strict=False):
                if ours != theirs:
                    seed = self._packs.tiny.runs[run].science["seed"]
                    return Fault(
                        f"run {position + 1} of {len(case.runs)} (seed {seed}), {case.title}, differs from the run "
                        f"alone, first in {ours.when}, {ours.name}: {case.why}",
                        self._where(),
                    )
            if len(alone[run]) != len(packed[position]):
                what = f"a run {case.title} measures more or less often than the run alone: {case.why}"
                return Fault(what, self._where())
        return None

    def _where(self) -> str:
        """The place of a class with other numbers: its only called method, or the class if it has several or none."""
        cls = self.own.cls
        verbs = [verb for verb in self._packs.asked if any(verb in vars(base) for base in own_bases(cls))]
        return place_of(cls, verbs[0]) if len(verbs) == 1 else place(cls)

    def _raised(self, error: Exception) -> Fault:
        """The fault that an error shows, and the line of the class's file that raised it."""
        cls = self.own.cls
        if isinstance(error, BrokenPromise):
            return Fault(error.what, place_of(cls, error.verb))
        frames = traceback.extract_tb(error.__traceback__)
        if isinstance(error, NotImplementedError) and frames:
            return Fault(f"'{frames[-1].name}' is not written, and it is needed", place(cls))
        lines = self._lines_of(error)
        where = f"{Path(lines[-1].filename).absolute()}, line {lines[-1].lineno}" if lines else place(cls)
        first = (str(error).strip().splitlines() or ["without a word"])[0].rstrip(".")
        return Fault(f"small packs of it fail with {type(error).__name__}: {first}", where)

    def _lines_of(self, error: Exception) -> list[traceback.FrameSummary]:
        """The lines of the class's own files in an error's traceback."""
        bases = own_bases(load(self.own.run.targets[self.own.group]))
        files = {Path(place(base).rpartition(", line ")[0]) for base in bases}
        frames = traceback.extract_tb(error.__traceback__)
        return [frame for frame in frames if Path(frame.filename).absolute() in files]


def proved(own: OwnClass, folder: Path) -> Proof:
    """Trains small packs of the class and compares them with the runs alone, bit for bit, in eager mode on the CPU.

    folder: contains the data sets.
    """
    fresh.begin()
    proof = Proof(own, folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as in workers
    try:
        for number, tiny in enumerate(tinies(own, folder)):
            if proof.try_small_pack(number, tiny):
                break
    except PlasticityError as error:
        proof.notes = [untrained(error)]
    finally:
        torch.set_num_threads(threads)
    return proof


def untrained(error: PlasticityError) -> str:
    """The note on a class that could not be trained."""
    return f"It could not be trained in small, so only its names were looked at: {error}"
