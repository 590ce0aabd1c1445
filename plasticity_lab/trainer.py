"""The training loop. It depends only on tasks, chunks, measurements and a keeper."""

from typing import Any, Protocol, TypeVar

from plasticity_lab.agents.agent import Chunk, Learner, Stream, Task
from plasticity_lab.records.rows import Evaluation, Position, Rows


class Journal(Protocol):
    """The measurements of the pack so far, and their position."""

    @property
    def position(self) -> Position:
        """The end of the measurements."""
        ...

    def add_chunk(self, chunk: Chunk, rows: Rows) -> None:
        """Adds a chunk's measurements and moves the position to its end."""
        ...

    def add_task(self, task: Task, evaluation: Evaluation) -> None:
        """Adds a task's evaluation and moves the position to the next task."""
        ...


AnyTask = TypeVar("AnyTask", bound=Task)
AnyJournal = TypeVar("AnyJournal", bound=Journal)
JournalKept = TypeVar("JournalKept", bound=Journal, contravariant=True)


class Keeper(Protocol[JournalKept]):
    """Maintains a pack while it trains: checkpoints, its lease, progress, stop signals."""

    def look(self, learner: Learner[Any, Any], journal: JournalKept) -> None:
        """Called after each chunk and each task, when learner and journal agree. Raises to stop the pack."""
        ...

    def task_ends(self, learner: Learner[Any, Any], task: Any) -> None:
        """Called when a task is learned and evaluated, before intervention and optimizer end it."""
        ...


def train(
    stream: Stream[AnyTask], learner: Learner[AnyTask, Any], journal: AnyJournal, keeper: Keeper[AnyJournal]
) -> None:
    """Trains a pack from the position of its journal to the end of its stream."""
    for task in stream.tasks(after=journal.position):
        learner.begin(task, fresh=journal.position.step == 0)
        for chunk in task.chunks(after=journal.position):
            journal.add_chunk(chunk, learner.advance(chunk))
            keeper.look(learner, journal)
        evaluation = learner.evaluate(task)
        keeper.task_ends(learner, task)
        learner.end(task)
        journal.add_task(task, evaluation)
        keeper.look(learner, journal)
