"""The tasks of a whole pack of bodies, cut into segments: for an agent that learns while it acts, step by step."""

from collections.abc import Iterator
from dataclasses import dataclass

from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.records.rows import Position


@dataclass(frozen=True)
class Segment:
    """A chunk: a number of steps with a body.

    epoch: counted through the run, from 0. steps: of all environments of a run together. first: of the run before it.
    """

    task: int
    epoch: int
    first: int
    steps: int
    ends_epoch: bool
    marks: dict[str, int]


@dataclass(frozen=True)
class SegmentedTask:
    """A task: one body, for `steps` steps, cut into epochs of `epoch_steps` and these into segments of `most` at most.

    The last epoch of a task has what is left, and so has the last segment of an epoch.
    """

    position: int
    body: str
    steps: int
    epoch_steps: int
    most: int
    marks: dict[str, int]

    def chunks(self, after: Position) -> Iterator[Segment]:
        """The segments that are still to come; all of them unless `after` lies within this task."""
        epochs = -(-self.steps // self.epoch_steps)
        taken = after.step if after.task == self.position else 0
        while taken < self.steps:
            number = taken // self.epoch_steps
            epoch_end = min(self.steps, (number + 1) * self.epoch_steps)
            end = min(taken + self.most, epoch_end)
            first = self.position * self.steps + taken
            epoch = self.position * epochs + number
            yield Segment(self.position, epoch, first, end - taken, end == epoch_end, self.marks)
            taken = end


class SegmentedTasks:
    """The tasks of a benchmark for an agent that steps `environments` environments of each run at once.

    epoch_steps, most: of all environments of a run together, as `SegmentedTask` has them. All lengths are rounded up to
    whole steps of all environments.
    """

    def __init__(self, benchmark: BodyBenchmark, environments: int, epoch_steps: int, most: int) -> None:
        def whole(steps: int) -> int:
            return -(-steps // environments) * environments

        self.benchmark = benchmark
        self.task_steps = whole(benchmark.environment_steps)
        """Steps of each task."""
        self.epoch_steps, self.most = whole(epoch_steps), whole(most)

    @property
    def total_steps(self) -> int:
        """Steps of a whole run."""
        return self.benchmark.tasks * self.task_steps

    @property
    def epochs(self) -> int:
        """Epochs of a whole run."""
        return self.benchmark.tasks * -(-self.task_steps // self.epoch_steps)

    def tasks(self, after: Position) -> Iterator[SegmentedTask]:
        """The tasks that are not finished yet, from the one in which `after` lies."""
        for position in range(after.task, self.benchmark.tasks):
            yield self.task(position)

    def task(self, position: int) -> SegmentedTask:
        """Any one of them."""
        body = self.benchmark.body_of(position)
        marks = {"body": self.benchmark.bodies.index(body), "cycle": self.benchmark.cycle_of(position)}
        return SegmentedTask(position, body, self.task_steps, self.epoch_steps, self.most, marks)
