"""The tasks of a benchmark of bodies, cut into segments: the chunks that an acting agent learns one after another."""

from collections.abc import Iterator
from dataclasses import dataclass

from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.records import rows


class Segment(rows.Chunk):
    """A number of steps with a body.  first, steps: steps of all environments of a run together."""


@dataclass(frozen=True)
class Stage(rows.Task):
    """A task: one body for `steps` steps, in epochs of `epoch_steps` steps and segments of at most `most` steps.

    The last epoch of a task and the last segment of an epoch may be shorter.
    """

    body: str
    steps: int
    epoch_steps: int
    most: int

    def chunks(self, after: rows.Position) -> Iterator[Segment]:
        """The remaining segments; all of them unless `after` lies within this task."""
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
    """The tasks of a benchmark for an agent that learns while it acts.

    environments: environments of each run; they step together.
    epoch_steps, most: as in `Stage`, counted over all environments of a run together.
    All lengths are rounded up to whole steps of all environments.
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

    def tasks(self, after: rows.Position) -> Iterator[Stage]:
        """The unfinished tasks, starting with the task that contains `after`."""
        for position in range(after.task, self.benchmark.tasks):
            yield self.task(position)

    def task(self, position: int) -> Stage:
        """The task at a position."""
        body = self.benchmark.body_of(position)
        marks = {"body": self.benchmark.bodies.index(body), "cycle": self.benchmark.cycle_of(position)}
        return Stage(position, marks, body, self.task_steps, self.epoch_steps, self.most)


class Stages(SegmentedTasks):
    """The tasks of a benchmark for an agent that learns from whole rollouts; a rollout is a segment and an epoch.

    steps: steps of a rollout, all environments of a run together. Each task is rounded up to whole rollouts.
    """

    def __init__(self, benchmark: BodyBenchmark, steps: int) -> None:
        super().__init__(benchmark, steps, steps, steps)

    @property
    def rollouts(self) -> int:
        """Rollouts of each task."""
        return self.task_steps // self.most
