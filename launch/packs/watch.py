"""How some packs stand, looked at again and again while they are trained."""

from collections.abc import Sequence
from dataclasses import dataclass

from launch.packs.endings import REPLACED, Ending, ending_of
from launch.packs.pace import seconds_needed, until_the_last
from launch.packs.pauses import read_pause
from launch.packs.progress import Reached, reached
from launch.wording import run_steps
from plasticity_lab.records.files import names
from plasticity_lab.records.plan import Pack, in_parts
from plasticity_lab.records.store import Store


@dataclass(frozen=True)
class Progress:
    """Packs taken together.

    runs, run_steps: of all of them, run-steps being steps of each run summed over runs. runs_done: of packs that ended
    well. run_steps_done: all of packs that ended, and of the others as far as they are. diverged, failed: runs. unit:
    what run-steps are called. left: seconds until the last pack ends, by how fast these have been so far; None where
    none is trained. pause: the work of the workers if none trains now.
    """

    runs: int
    runs_done: int
    run_steps: int
    run_steps_done: int
    diverged: int
    failed: int
    unit: str = "run-steps"
    left: float | None = None
    pause: str = ""


class Watch:
    """Reports each time how far some packs, or their parts, have come; how one has ended is read once.

    A pack counts as trained from its first step that was seen to be taken until its end.
    """

    def __init__(self, store: Store, packs: Sequence[Pack]) -> None:
        self.store, self.packs = store, packs
        self.ended: dict[str, Ending] = {}
        self._first: dict[str, int] = {}

    @property
    def over(self) -> bool:
        """Whether all have ended."""
        return len(self.ended) == len(self.packs)

    def look(self) -> Progress:
        """How far they are now.  Raises StoreError."""
        marked = set(names(self.store.done_folder)) - self.ended.keys()
        self.packs = in_parts(self.store, self.packs)  # afterwards: a pack is marked as ended once it is in parts
        begun = set(names(self.store.root / "packs"))
        for pack in self.packs:
            if pack.id in marked and (ending := ending_of(self.store, pack.id)) is not None:
                self.ended[pack.id] = ending
        ended = [self.ended[pack.id] for pack in self.packs if pack.id in self.ended]
        left = [pack for pack in self.packs if pack.id not in self.ended]
        far = {pack.id: reached(self.store, pack.id) for pack in left if pack.id in begun}
        return Progress(
            runs=sum(pack.width for pack in self.packs),
            runs_done=sum(
                pack.width
                for pack in self.packs
                if (ending := self.ended.get(pack.id)) and not ending.failed and ending.status != REPLACED
            ),
            run_steps=sum(pack.run_steps for pack in self.packs),
            run_steps_done=sum(
                pack.run_steps if pack.id in self.ended else far[pack.id].steps * pack.width
                for pack in self.packs
                if pack.id in self.ended or pack.id in far
            ),
            diverged=sum(each.diverged for each in [*ended, *far.values()]),
            failed=sum(pack.width for pack in self.packs if (ending := self.ended.get(pack.id)) and ending.failed),
            unit=run_steps({pack.unit for pack in self.packs}),
            left=self._seconds_left(left, far),
            pause=self._pause([pack.id for pack in left if pack.id in begun]),
        )

    def _pause(self, begun: Sequence[str]) -> str:
        """The longest pause of the workers, in words; nothing if any of them trains."""
        pauses = [read_pause(self.store, pack) for pack in begun]
        known = [pause for pause in pauses if pause is not None]
        return max(known, key=lambda pause: pause.seconds).words if known and len(known) == len(pauses) else ""

    def _seconds_left(self, left: Sequence[Pack], far: dict[str, Reached]) -> float | None:
        """Seconds until the last pack ends, if as many go on being trained as are now; None where none is."""
        for pack, now in far.items():
            self._first.setdefault(pack, now.steps)
        moving = {pack for pack, now in far.items() if now.steps > self._first[pack]}
        took = {pack: ending.seconds for pack, ending in self.ended.items() if ending.seconds is not None}
        needed = seconds_needed(left, self.packs, far, took)
        held = [needed[pack.id] for pack in left if pack.id in moving]
        waiting = [needed[pack.id] for pack in left if pack.id not in moving]
        return until_the_last(held, waiting, any_waits=bool(waiting))
