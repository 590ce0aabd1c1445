"""When the last of some packs ends, if each worker takes the next one as soon as it is free."""

import heapq
from collections.abc import Sequence


def makespan(held: Sequence[float], waiting: Sequence[float]) -> float:
    """Seconds from now.  held: what each worker still needs for the pack it has, 0 for none, of one worker at least.

    waiting: what the others need, in the order in which they are taken.
    """
    ends = list(held)
    heapq.heapify(ends)
    for seconds in waiting:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)
