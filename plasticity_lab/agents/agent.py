"""What an agent is: the choice of conf/agent, and the learner that it puts together for a pack."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.parts import AnyBenchmark, Parts
from plasticity_lab.agents.yardstick import Yardstick
from plasticity_lab.benchmarks.benchmark import AnyResource, Benchmark
from plasticity_lab.component import Component
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.position import Position
from plasticity_lab.records.rows import Evaluation, Rows

State = dict[str, Any]


class Chunk(Protocol):
    """A part of a task between two looks at the clock, of some seconds at most.

    epoch: counted through the run, from 0. steps: how far it goes, in the benchmark's unit. marks: what is written
    beside its rows (see `Measures.marks`).
    """

    task: int
    epoch: int
    steps: int
    ends_epoch: bool
    marks: Mapping[str, int]


class Task(Protocol):
    """One stage of a pack, equally long for all its runs."""

    position: int
    marks: Mapping[str, int]

    def chunks(self, after: Position) -> Iterator[Chunk]:
        """The chunks that are still to come; all of them unless `after` lies within this task."""
        ...


class Stream(Protocol):
    """The tasks of a pack."""

    def tasks(self, after: Position) -> Iterator[Task]:
        """The tasks that are not finished yet, from the one in which `after` lies."""
        ...

    def task(self, position: int) -> Task:
        """Any one of them: task t is a function of (seed, t), never of task t − 1."""
        ...


class Learner(Protocol):
    """Learns the tasks of a pack of K runs: owns its tensors, returns what it measures, opens no file."""

    size: int
    """Parameters of one run."""

    facts: Mapping[str, float]
    """Numbers that the summary needs beside the metrics (see `Measures.flags`)."""

    def begin(self, task: Task, fresh: bool) -> None:
        """Gets ready for a task.  fresh: whether its first chunk comes next; else a resumed run goes on within it, and
        what `load` brought must stay as it is.
        """
        ...

    def advance(self, chunk: Chunk) -> Rows:
        """Learns a chunk."""
        ...

    def evaluate(self, task: Task) -> Evaluation:
        """What it can do on a task, begun or not: changes nothing, whenever it is asked."""
        ...

    def end(self, task: Task) -> None:
        """Does what is due between tasks: the intervention's work, the optimizer's reset."""
        ...

    def state(self) -> State:
        """All that `load` needs to go on bit for bit, but for `bulk`: tensors, numbers and dictionaries of them."""
        ...

    def bulk(self) -> State:
        """What is too large to be written with every checkpoint, as a memory of replay; {} where there is none."""
        ...

    def load(self, state: Mapping[str, Any], bulk: Mapping[str, Any]) -> None:
        """Goes back to a state, and leaves what it is given untouched. Called before `begin`."""
        ...

    def weights(self) -> dict[str, Tensor]:
        """The parameters on the host, name → (K, ...)."""
        ...

    def view(self, task: Task) -> View:
        """What diagnostics are shown while that task is learned, of agents that provide it (`OBSERVED`).

        Changes nothing. It is asked when an epoch or a task has ended, and once before the first update, when an agent
        that acts has no probe yet.
        """
        ...


AnyLearner = TypeVar("AnyLearner", bound=Learner)


class Agent(Component, Generic[AnyBenchmark, AnyResource, AnyLearner]):
    """How a run learns. Its settings are the agent's own; those annotated `float` may differ within a pack.

    Final classes say what they measure and which benchmarks they learn, put together what trains a pack, and price it.
    `class PPO(Agent[BodyCycle, Bodies, PPOLearner])` names its benchmark, what tasks are made of, and its learner.
    """

    floats_on_run_axis = True

    measures: ClassVar[Measures]

    learns: ClassVar[type[Benchmark[Any]]] = Benchmark
    """The kind of benchmark: the base class of those whose tasks it can learn."""

    tells: ClassVar[frozenset[str]] = frozenset()
    """What its learner tells interventions and diagnostics beside the network (see their `needs`)."""

    def model(self, parts: Parts[AnyBenchmark], resource: AnyResource) -> Model:
        """The stacked network that a record's weights belong to.  Raises ConfigError where the shapes do not fit."""
        raise NotImplementedError

    def learner(
        self, parts: Parts[AnyBenchmark], resource: AnyResource, device: torch.device, compiled: bool
    ) -> tuple[Stream, AnyLearner]:
        """A pack's tasks and what learns them.

        compiled: whether its updates are compiled; numbers differ from the eager ones in their last bits.
        """
        raise NotImplementedError

    def statistics(self, learner: AnyLearner) -> Mapping[str, Tensor]:
        """What scales what the learner's networks are given, name → (K, ...), kept where weights are; {} where nothing.

        With the weights alone a network that has learned from scaled observations could not be used.
        """
        return {}

    def cost(self, parts: Parts[AnyBenchmark], resource: AnyResource) -> Cost:
        """What one of the runs costs.  Raises ConfigError where the parts do not fit together."""
        raise NotImplementedError

    @classmethod
    def yardsticks(cls) -> Sequence[Yardstick]:
        """What `calibrate` measures a device by for this agent; `Cost.speed` names one of them, or another agent's."""
        return ()

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """What `calibrate` can time on the host: by the names of `Cost.host_steps`, what takes that many steps of each.

        It times those in which the runs act that it is asked about; what builds one is called only then.
        """
        return {}
