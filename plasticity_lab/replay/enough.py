"""Whether a memory holds a step that can be learned from whenever an update asks for one.

Rows are steps of one environment: all environments of a run can be where one is, so that one is enough. An episode
may end by the body's rules at any step, and is truncated after its longest time; only its course decides whether a
memory of few rows holds a whole return (see `NStep.usable`). The answer here holds for every course.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd


def always(n: int, stack: int) -> int:
    """As many rows hold a whole return of some episode, wherever these begin and are broken off.

    That is if episodes and tasks have more than n rows. The worst case: the rest of an episode
    after its first frames were overwritten; an episode that a new task breaks off after n rows; and n rows of the next
    one.
    """
    return 3 * n + stack


@dataclass(frozen=True)
class Remembered:
    """The facts of a run's memory that are known before the run begins.

    n: steps of a return. stack: frames of an observation. rows: the ring's. task_rows: each of the `tasks` tasks'.
    longest: the most rows of an episode, for task after task, over and over. whole_episodes: whether
    every episode has exactly as many, and ends by its rules. emptied: whether each task finds the memory empty.
    environments, min_history, update_period: when an update is due (see `acting.schedule.Timetable`), in steps of all
    environments together.
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
        """After how many rows an update may first find no step to learn from; None: never, whatever the course is."""
        for end in self._asked():
            if self.due(end) and self.lacks(end):
                return end
        return None

    def due(self, end: int) -> bool:
        """Whether an update is due when the run has added that many rows."""
        if min(end - self._begins(end), self.rows) * self.environments <= self.min_history:
            return False
        before, after = (rows * self.environments // self.update_period for rows in (end - 1, end))
        return after > before

    def lacks(self, end: int) -> bool:
        """Whether the memory may hold no step to learn from when the run has added that many rows."""
        oldest = max(self._begins(end), end - self.rows)
        first, last = oldest // self.task_rows, (end - 1) // self.task_rows
        if last - first > 2 and self.task_rows > self.n:  # a task that lies within has a whole return
            return False
        ends = ((task, min(end, (task + 1) * self.task_rows)) for task in range(first, last + 1))
        return all(self._lacks_of(task, oldest, own_end) for task, own_end in ends)

    def _lacks_of(self, task: int, oldest: int, end: int) -> bool:
        """Whether there may be none among the rows of one task, which are before `end`."""
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
        # The episode of the oldest row goes on to the end; or is truncated, or ends by its rules, and another follows.
        if end - oldest <= min(n + whole, longest - 1):
            return True
        soonest = max(oldest + 1, end - n)
        ended = soonest <= oldest + min(whole, longest - 1)
        truncated = max(soonest, begins + longest) <= oldest + min(n + whole, longest - 1)
        return ended or truncated

    def _begins(self, end: int) -> int:
        """The first row that the memory was given since it was empty."""
        return (end - 1) // self.task_rows * self.task_rows if self.emptied else 0

    def _asked(self) -> Iterator[int]:
        """The numbers of rows that decide: if none of them lacks a step, no other does."""
        total, most = self.tasks * self.task_rows, always(self.n, self.stack)
        if self.task_rows <= self.n or any(length <= self.n for length in self.longest):
            yield from range(1, total + 1)  # some tasks never have a whole return
            return
        if self.rows >= most:  # so many rows hold a whole return of some episode, however many are broken off
            for begins in range(0, total, self.task_rows) if self.emptied else (0,):
                yield from range(begins + 1, min(begins + most, total) + 1)
            return
        period = self.update_period // gcd(self.update_period, self.environments)
        for task in range(self.tasks):
            begins, ends = task * self.task_rows, (task + 1) * self.task_rows
            longest = self.longest[task % len(self.longest)]
            # Once the ring holds rows of this task alone, a course that lacks a step at one end has one at later ends.
            settled = begins + self.rows + (longest * period if self.whole_episodes else 0)
            yield from range(begins + 1, min(ends, settled) + 1)
            yield from range(max(settled + 1, ends - period + 1), ends + 1)
