"""Checks before a run that its replay memory always has a usable step when an update is due.

One environment is enough: in the worst case all environments of a run are in the same state, so rows are its steps. An
episode may terminate at any step, and is truncated at its maximum length. Whether a small memory holds a whole return
(see `NStep.usable`) depends on these episodes. The answer here is true for all possible episodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd


def always(n: int, stack: int) -> int:
    """The number of rows that always hold a whole return, if episodes and tasks have more than n rows.

    The worst case has three parts: the rest of an episode with overwritten first frames; an episode that a new task
    interrupts after n rows; and n rows of the next episode.
    """
    return 3 * n + stack


@dataclass(frozen=True)
class Remembered:
    """The facts of a run's memory that are known before the run begins.

    n: steps of a return. stack: frames of an observation. rows: the rows of the ring. task_rows: the rows of each of
    the `tasks` tasks. longest: the maximum rows of an episode for each task, repeated in a cycle. whole_episodes:
    whether every episode has exactly this number of rows and then terminates. emptied: whether each task begins with an
    empty memory. environments, min_history, update_period: when an update is due (see `acting.schedule.Timetable`), in
    steps of all environments together.
    """

    n: int
    stack: int
    rows: int
    tasks: int
    task_rows: int
    longest: Sequence[int]
    environments: int
    min_history: int
    update_period: int
    whole_episodes: bool = False
    emptied: bool = False

    def first_lack(self) -> int | None:
        """The first number of rows with an update that may find no usable step; None if no update can."""
        for end in self._asked():
            if self.due(end) and self.lacks(end):
                return end
        return None

    def due(self, end: int) -> bool:
        """Whether an update is due when the run has added `end` rows."""
        if min(end - self._begins(end), self.rows) * self.environments <= self.min_history:
            return False
        before, after = (rows * self.environments // self.update_period for rows in (end - 1, end))
        return after > before

    def lacks(self, end: int) -> bool:
        """Whether the memory may have no usable step when the run has added `end` rows."""
        oldest = max(self._begins(end), end - self.rows)
        first, last = oldest // self.task_rows, (end - 1) // self.task_rows
        if last - first > 2 and self.task_rows > self.n:  # a task that lies within has a whole return
            return False
        ends = ((task, min(end, (task + 1) * self.task_rows)) for task in range(first, last + 1))
        return all(self._lacks_of(task, oldest, own_end) for task, own_end in ends)

    def _lacks_of(self, task: int, oldest: int, end: int) -> bool:
        """Whether the rows of one task before `end` may have no usable step."""
        n, begins, longest = self.n, task * self.task_rows, self.longest[task % len(self.longest)]
        if n >= longest and not self.whole_episodes:
            return True
        short = min(n, longest - 1) if self.whole_episodes else n  # an episode without a whole return
        if begins >= oldest:  # its first episode is here from the beginning
            return end - begins <= short
        whole = self.stack - 1  # rows with an observation that begins with an overwritten frame
        if self.whole_episodes:
            episode = oldest - (oldest - begins) % longest
            follows = oldest if episode == oldest else episode + longest
            if follows > end:
                return end - oldest <= n + whole
            return follows - oldest <= whole and end - follows <= short
        # The episode of the oldest row continues to the end; or it is truncated or terminates, and another one follows.
        if end - oldest <= min(n + whole, longest - 1):
            return True
        soonest = max(oldest + 1, end - n)
        ended = soonest <= oldest + min(whole, longest - 1)
        truncated = max(soonest, begins + longest) <= oldest + min(n + whole, longest - 1)
        return ended or truncated

    def _begins(self, end: int) -> int:
        """The first row that was added since the memory was empty."""
        return (end - 1) // self.task_rows * self.task_rows if self.emptied else 0

    def _asked(self) -> Iterator[int]:
        """The numbers of rows to check: if the memory has a usable step at all of them, it always has one."""
        total, most = self.tasks * self.task_rows, always(self.n, self.stack)
        if self.task_rows <= self.n or any(length <= self.n for length in self.longest):
            yield from range(1, total + 1)  # some tasks never have a whole return
            return
        if self.rows >= most:  # these rows always hold a whole return, even with interrupted episodes
            for begins in range(0, total, self.task_rows) if self.emptied else (0,):
                yield from range(begins + 1, min(begins + most, total) + 1)
            return
        period = self.update_period // gcd(self.update_period, self.environments)
        for task in range(self.tasks):
            begins, ends = task * self.task_rows, (task + 1) * self.task_rows
            longest = self.longest[task % len(self.longest)]
            # Once the ring holds only rows of this task, episodes that lack a step at one end have one at later ends.
            settled = begins + self.rows + (longest * period if self.whole_episodes else 0)
            yield from range(begins + 1, min(ends, settled) + 1)
            yield from range(max(settled + 1, ends - period + 1), ends + 1)
