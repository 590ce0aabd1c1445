"""The one training loop. It knows tasks and chunks, measurements and a keeper, and nothing else."""

from typing import Protocol

from plasticity_lab.agents.agent import Agent, Rows
from plasticity_lab.benchmarks.labelled.stream import Chunk, Stream, Task
from plasticity_lab.records.position import Position


class Journal(Protocol):
    """What the pack has measured so far, and where it stands."""

    position: Position

    def add_chunk(self, chunk: Chunk, rows: Rows) -> None:
        """Takes a chunk's measurements and moves the position to its end."""
        ...

    def add_task(self, task: Task, rows: Rows) -> None:
        """Takes a task's evaluation and moves the position to the next task."""
        ...


class Keeper(Protocol):
    """Looks after a pack while it trains: checkpoints, its lease, progress, stop signals."""

    def look(self, agent: Agent, journal: Journal) -> None:
        """Called after each chunk and each task, when agent and journal agree. Raises to stop the pack."""
        ...


def train(stream: Stream, agent: Agent, journal: Journal, keeper: Keeper) -> None:
    """Trains a pack from where its journal stands to the end of its stream."""
    for task in stream.tasks(after=journal.position):
        agent.begin(task)
        for chunk in task.chunks(after=journal.position):
            journal.add_chunk(chunk, agent.advance(chunk))
            keeper.look(agent, journal)
        journal.add_task(task, agent.evaluate(task))
        keeper.look(agent, journal)
