"""The tasks of a whole pack of bodies, cut into rollouts: what the trainer walks along."""

from collections.abc import Iterator
from dataclasses import dataclass

from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.records.rows import Position


@dataclass(frozen=True)
class Rollout:
    """A chunk: a number of steps with a body, and the updates by what they brought. It counts as an epoch.

    epoch: rollouts of the run before it. steps: of all environments of a run together. first: of the run before it.
    """

    task: int
    epoch: int
    first: int
    steps: int
    marks: dict[str, int]
    ends_epoch: bool = True


@dataclass(frozen=True)
class Stage:
    """A task: one body, for `rollouts` rollouts of `steps` steps."""

    position: int
    body: str
    rollouts: int
    steps: int
    marks: dict[str, int]

    def chunks(self, after: Position) -> Iterator[Rollout]:
        """The rollouts that are still to come; all of them unless `after` lies within this task."""
        taken = after.step // self.steps if after.task == self.position else 0
        for number in range(taken, self.rollouts):
            epoch = self.position * self.rollouts + number
            yield Rollout(self.position, epoch, epoch * self.steps, self.steps, self.marks)


class Stages:
    """The tasks of a benchmark for an agent whose rollouts take `steps` steps of all environments of a run together."""

    def __init__(self, benchmark: BodyBenchmark, steps: int) -> None:
        self.benchmark, self.steps = benchmark, steps
        self.rollouts = -(-benchmark.environment_steps // steps)
        """Rollouts of each task: the last steps are rounded up to a whole one."""

    @property
    def total_steps(self) -> int:
        """Steps of a whole run."""
        return self.benchmark.tasks * self.rollouts * self.steps

    def tasks(self, after: Position) -> Iterator[Stage]:
        """The tasks that are not finished yet, from the one in which `after` lies."""
        for position in range(after.task, self.benchmark.tasks):
            yield self.task(position)

    def task(self, position: int) -> Stage:
        """Any one of them."""
        body = self.benchmark.body_of(position)
        marks = {"body": self.benchmark.bodies.index(body), "cycle": self.benchmark.cycle_of(position)}
        return Stage(position, body, self.rollouts, self.steps, marks)
