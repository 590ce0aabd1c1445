"""Whether packed runs equal runs alone, bit for bit, tried on a class; then again in a fresh process."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from launch.own_classes import fresh
from launch.own_classes.cases import AFRESH, CASES, FURTHER_CHECKS, OTHER_PROCESS, Case, of_extremes
from launch.own_classes.fresh import NotTried, digested, trained_afresh
from launch.own_classes.functions import Functions
from launch.own_classes.named import Fault, OwnClass, is_own, own_bases, place, place_of
from launch.own_classes.names import misnamed, uncallable
from launch.own_classes.packs import Event, NoParameters, Packs
from launch.own_classes.promises import BrokenPromise
from launch.own_classes.shared_arrays import WRITES, content_of
from launch.own_classes.tiny import Tiny, instead, tinies
from plasticity_lab.agents.agent import Learner
from plasticity_lab.component import load
from plasticity_lab.errors import OwnClassError, PlasticityError


class Proof:
    """The trials of a class.

    folder: contains the data sets. description: the small runs in words. outcomes: (title, its fault or None). notes:
    trials that were impossible, and facts worth knowing. untried: the reason if the class was not tried; None if it
    was. culprit: the class that has the faults.
    """

    def __init__(self, own: OwnClass, folder: Path) -> None:
        self.own, self.folder = own, folder
        self.description = ""
        self.untried: str | None = None
        self.culprit = own
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
        self.description, self.notes, self.outcomes, self.untried = tiny.description, [], [], None
        self._cases: list[tuple[Case, Fault | None]] = []
        images = content_of(tiny.resource)
        try:
            usual = [run for run in range(len(tiny.runs)) if run not in tiny.extremes]
            self._alone = {run: packs.pack([run])[0] for run in usual}
        except OwnClassError as error:
            self._add("a run alone", Fault(str(error).rstrip("."), place(self.own.cls)))
            return False
        except PlasticityError as error:  # planning reports choices that do not fit together, in the real sizes
            self.notes = [untrained(error)]
            self.untried = self.notes[0]
            return False
        except Exception as error:  # an own class can raise anything; the next pack may be large enough for it
            self._add("a run alone", self._raised(error))
            if not (isinstance(error, BrokenPromise) or self._lines_of(error)):
                self._find_culprit(self._raises)
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
        self._compare_extremes()
        if not self.faults:
            self._look_at_functions()
        elif case := next((case for case, fault in self._cases if fault is not None), None):
            self._find_culprit(lambda tiny: self._differs(case, tiny))
        for title, check in FURTHER_CHECKS.get(own.group, {}).items():
            try:
                fault = check(own, packs.tiny, packs.learner)
            except Exception as error:
                fault = self._raised(error)
            self._add(title, fault)
        if not packs.updates:
            self.untried = "The small runs made no update, so its methods were hardly called."
            self.notes.append(self.untried)
        elif own.group == "intervention" and not self.faults and packs.pack([0], without=True)[0] == self._alone[0]:
            self.notes.append(f"It changed no number in {packs.updates} updates: they equal intervention=none.")

    def _compare_case(self, case: Case) -> None:
        """Adds the outcome of one case, or a note."""
        try:
            packed = self._packs.pack(case.runs, case.interrupted, scaled=case.scaled)
            fault = self._difference(case, packed)
        except NoParameters:
            self.notes.append(f"It was not {case.title}: its learner's state has no 'parameters'.")
            return
        except Exception as error:
            if case.scaled and not (isinstance(error, BrokenPromise) or self._lines_of(error)):
                first = str(error).partition("\n")[0]
                self.notes.append(f"It was not {case.title}: other code ends with {type(error).__name__}: {first}")
                return
            fault = self._raised(error)
        self._cases.append((case, fault))
        self._add(case.title, fault)

    def _compare_extremes(self) -> None:
        """Adds the outcomes in packs with unusual settings; a note on a run that cannot be trained with them."""
        for run, words in self._packs.tiny.extremes.items():
            try:
                self._alone[run] = self._packs.pack([run])[0]
            except Exception as error:  # an own class can raise anything
                self.notes.append(f"It was not trained with {words}: {type(error).__name__}: {error}")
        for case in of_extremes(self._packs.tiny):
            if all(run in self._alone for run in case.runs):
                self._compare_case(case)

    def _look_at_functions(self) -> None:
        """Adds the outcome for torch's functions that the class calls."""
        functions = Functions(self.own.cls, runs=3)
        try:
            self._packs.pack([0, 1, 2], functions=functions)
        except Exception as error:
            self.notes.append(f"The functions that it calls were not looked at: {type(error).__name__}: {error}")
            return
        self._add("functions with the same bits at every place", functions.fault)

    def _find_culprit(self, remains: Callable[[Tiny], bool]) -> None:
        """Sets `culprit`, if a fault remains with another class in the place of the checked one.

        remains: whether another small pack has the fault too. An agent that cannot be replaced is the culprit if no
        other class is.
        """
        without = self._without(self._packs.tiny, self.own.group)
        if without is None or not remains(without):
            return
        others = [group for group in without.runs[0].targets if group not in (self.own.group, "agent")]
        for group in (*others, "agent"):
            further = self._without(without, group)
            if further is not None and not remains(further):
                self.culprit = OwnClass(group, self.own.run)
                return
        if self.own.group != "agent":
            self.culprit = OwnClass("agent", self.own.run)

    def _without(self, tiny: Tiny, group: str) -> Tiny | None:
        return instead(self.own, tiny, group, self.folder)

    def _differs(self, case: Case, tiny: Tiny) -> bool:
        """Whether runs of another small pack differ from the runs alone too; False if they cannot be trained."""
        packs = Packs(self.own, tiny, checks_results=False)
        try:
            alone = {run: packs.pack([run])[0] for run in {*case.runs}}
            packed = packs.pack(case.runs, case.interrupted, scaled=case.scaled)
        except Exception:
            return False
        return self._difference(case, packed, alone) is not None

    def _raises(self, tiny: Tiny) -> bool:
        """Whether a run of another small pack fails, other than by a choice that does not fit."""
        try:
            Packs(self.own, tiny, checks_results=False).pack([0])
        except PlasticityError:
            return False
        except Exception:
            return True
        return False

    def _compare_afresh(self, number: int) -> None:
        """Adds the outcome in a fresh process.  number: the small pack's position among `tinies`."""
        alone = {run: digested(events) for run, events in self._alone.items()}
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
        self, case: Case, packed: Sequence[Sequence[Event]], alone: Mapping[int, Sequence[Event]] | None = None
    ) -> Fault | None:
        """The first number of a pack that differs from the run alone.  alone: None for the runs of this proof.

        A scaled run, and a run with unusual settings that diverges, may differ in the bits of nan.
        """
        alone = self._alone if alone is None else alone
        for position, run in enumerate(case.runs):
            if position in case.scaled or (run in self._packs.tiny.extremes and not _finite(alone[run])):
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
        proof.untried = proof.notes[0]
    finally:
        torch.set_num_threads(threads)
    return proof


def untrained(error: PlasticityError) -> str:
    """The note on a class that could not be trained."""
    return f"It could not be trained in small, so only its names were looked at: {error}"


def _finite(events: Sequence[Event]) -> bool:
    """Whether all weights are finite."""
    weights = (np.frombuffer(each.bits, np.float32) for each in events if each.when.startswith("the weights"))
    return all(bool(np.isfinite(values).all()) for values in weights)
