"""How long packs still need: at their own pace, or as planned, corrected by what others of their sweep have taken."""

from collections.abc import Mapping, Sequence

from launch.packs.endings import ending_of
from launch.packs.progress import NOWHERE, Reached, reached
from launch.plan.makespan import makespan
from plasticity_lab.records.files import names
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.store import Store

SETTLED_SECONDS = 10.0
"""A pack's own pace counts once it has trained this long."""
ENOUGH = 100
"""How many packs must have ended before they predict what the others will take."""


def seconds_needed(
    asked: Sequence[Pack], packs: Sequence[Pack], far: Mapping[str, Reached], took: Mapping[str, float]
) -> dict[str, float]:
    """Seconds that each of the packs asked for still needs, by their ids.

    packs: of the sweep whose pace it is. far: pack → how far it is, of those that have been begun. took: pack → the
    seconds that it took, of those that have ended.
    """
    planned = taken = 0.0
    for pack in packs:
        if pack.id in took:
            planned, taken = planned + pack.seconds, taken + took[pack.id]
        elif (now := far.get(pack.id, NOWHERE)).seconds > SETTLED_SECONDS:
            planned, taken = planned + pack.seconds * now.steps / pack.steps, taken + now.seconds
    pace = taken / planned if planned else 1.0

    def needed(pack: Pack) -> float:
        now = far.get(pack.id, NOWHERE)
        if now.steps and now.seconds > SETTLED_SECONDS:
            return (pack.steps - now.steps) * now.seconds / now.steps
        return pace * pack.seconds * (1 - now.steps / pack.steps)

    return {pack.id: needed(pack) for pack in asked}


def until_the_last(held: Sequence[float], waiting: Sequence[float], any_waits: bool) -> float | None:
    """Seconds until all packs have ended, if each worker takes the next waiting one when it is free.

    held, waiting: the seconds that the packs need. any_waits: whether a run waits. None if nobody trains it.
    """
    if not held:
        return None if any_waits else 0.0
    return makespan(held, waiting)


class Pace:
    """What a worker asks of its sweep's pace, by the store; the ends of a few packs are read, each once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._took: dict[str, float | None] = {}

    def seconds_needed(self, asked: Pack, packs: Mapping[str, Pack], left: Sequence[str]) -> float:
        """Until the end of a pack that may have been begun.

        packs: of the sweep, by their ids. left: those of them that have not ended.  Raises StoreError.
        """
        for pack in packs.keys() - {*left} - self._took.keys():
            if len(self._took) == ENOUGH:
                break
            ending = ending_of(self.store, pack)
            self._took[pack] = None if ending is None else ending.seconds
        took = {pack: seconds for pack, seconds in self._took.items() if seconds is not None}
        begun = {asked.id, *left} & {*names(self.store.root / "packs")}
        far = {pack: reached(self.store, pack) for pack in begun}
        return seconds_needed([asked], list(packs.values()), far, took)[asked.id]
