from dataclasses import dataclass, field

import pytest

from plasticity_lab.records.rows import Position
from plasticity_lab.trainer import train


@dataclass
class Chunk:
    task: int
    steps: range


@dataclass
class Task:
    position: int
    length: int = 10

    def chunks(self, after):
        first = after.step if after.task == self.position else 0
        for start in range(first, self.length, 4):
            yield Chunk(self.position, range(start, min(start + 4, self.length)))


class Stream:
    def tasks(self, after):
        return (Task(position) for position in range(after.task, 3))


@dataclass
class Agent:
    """Notes the order of what it is asked."""

    calls: list = field(default_factory=list)

    def begin(self, task, fresh):
        self.calls.append(("begin", task.position, fresh))

    def advance(self, chunk):
        self.calls.append(("advance", chunk.task, *chunk.steps))
        return f"rows of {chunk.task} {chunk.steps.start}"

    def evaluate(self, task):
        self.calls.append(("evaluate", task.position))
        return f"rows of {task.position}"

    def end(self, task):
        self.calls.append(("end", task.position))


@dataclass
class Journal:
    position: Position = field(default_factory=lambda: Position(0, 0))
    rows: list = field(default_factory=list)

    def add_chunk(self, chunk, rows):
        self.rows.append(rows)
        self.position = Position(chunk.task, chunk.steps.stop)

    def add_task(self, task, rows):
        self.rows.append(rows)
        self.position = Position(task.position + 1, 0)


class Stopped(Exception):
    pass


class Keeper:
    """Notes how many calls the agent has had and where the journal stands at each look; stops at the last one."""

    def __init__(self, looks=None):
        self.seen, self.looks = [], looks

    def look(self, agent, journal):
        self.seen.append((len([call for call in agent.calls if call[0] not in ("begin", "end")]), journal.position))
        if len(self.seen) == self.looks:
            raise Stopped

    def task_ends(self, agent, task):
        pass


def test_tasks_and_chunks_follow_each_other_and_every_row_is_kept():
    agent, journal, keeper = Agent(), Journal(), Keeper()
    train(Stream(), agent, journal, keeper)
    assert agent.calls == [
        call
        for task in range(3)
        for call in (
            ("begin", task, True),
            ("advance", task, 0, 1, 2, 3),
            ("advance", task, 4, 5, 6, 7),
            ("advance", task, 8, 9),
            ("evaluate", task),
            ("end", task),
        )
    ]
    assert journal.rows[:4] == ["rows of 0 0", "rows of 0 4", "rows of 0 8", "rows of 0"]
    assert journal.position == Position(3, 0)
    # One look after every piece of work, when agent and journal agree.
    assert [work for work, _ in keeper.seen] == list(range(1, 13))
    assert [position for _, position in keeper.seen[:5]] == [(0, 4), (0, 8), (0, 10), (1, 0), (1, 4)]


@pytest.mark.parametrize("looks", range(1, 13))
def test_stopped_at_any_look_and_begun_again_the_work_is_the_same(looks):
    whole = Agent()
    train(Stream(), whole, Journal(), Keeper())
    agent, journal = Agent(), Journal()
    with pytest.raises(Stopped):
        train(Stream(), agent, journal, Keeper(looks))
    train(Stream(), agent, journal, Keeper())

    def work(calls):
        return [call for call in calls if call[0] not in ("begin", "end")]

    assert work(agent.calls) == work(whole.calls)
    assert len(journal.rows) == 12


def test_a_finished_journal_leaves_nothing_to_do():
    agent = Agent()
    train(Stream(), agent, Journal(Position(3, 0)), Keeper())
    assert agent.calls == []
