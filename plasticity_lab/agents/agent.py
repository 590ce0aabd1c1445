"""What an agent is: the choice of conf/agent, and the learner that it puts together for a pack."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from plasticity_lab.agents.cost import Cost, Yardstick
from plasticity_lab.agents.parts import AnyBenchmark, Parts
from plasticity_lab.benchmarks.benchmark import AnyResource, Benchmark
from plasticity_lab.component import Component
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Network
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.rows import Chunk, Evaluation, Position, Rows, Stage

State = dict[str, Any]


class Task(Stage, Protocol):
    """One stage of a pack, equally long for all its runs.  What its chunks are is between a stream and its learner."""

    def chunks(self, after: Position) -> Iterator[Any]:
        """The chunks that are still to come; all of them unless `after` lies within this task."""
        ...


TaskOfStream = TypeVar("TaskOfStream", bound=Task, covariant=True)
TaskLearned = TypeVar("TaskLearned", bound=Task, contravariant=True)
ChunkLearned = TypeVar("ChunkLearned", bound=Chunk, contravariant=True)


class Stream(Protocol[TaskOfStream]):
    """The tasks of a pack, all of one class."""

    def tasks(self, after: Position) -> Iterator[TaskOfStream]:
        """The tasks that are not finished yet, from the one in which `after` lies."""
        ...

    def task(self, position: int) -> TaskOfStream:
        """Any one of them: task t is a function of (seed, t), never of task t − 1."""
        ...


class Learner(Protocol[TaskLearned, ChunkLearned]):
    """Learns the tasks of a pack of K runs: owns its tensors, returns what it measures, opens no file.

    It may take tasks and chunks of one class alone, those of the stream that it comes with.
    """

    @property
    def size(self) -> int:
        """Parameters of one run."""
        ...

    @property
    def facts(self) -> Mapping[str, float]:
        """Numbers that the summary needs beside the metrics (see `Measures.flags`)."""
        ...

    def begin(self, task: TaskLearned, fresh: bool) -> None:
        """Gets ready for a task.  fresh: whether its first chunk comes next; else a resumed run goes on within it, and
        what `load` brought must stay as it is.
        """
        ...

    def advance(self, chunk: ChunkLearned) -> Rows:
        """Learns a chunk."""
        ...

    def evaluate(self, task: TaskLearned) -> Evaluation:
        """What it can do on a task, begun or not: changes nothing, whenever it is asked."""
        ...

    def end(self, task: TaskLearned) -> None:
        """Does what is due between tasks: the intervention's work, the optimizer's reset."""
        ...

    def state(self) -> State:
        """All that `load` needs to go on bit for bit, but for `bulk`: tensors, numbers and dictionaries of them."""
        ...

    def bulk(self) -> Bulk:
        """What is too large to be written with every checkpoint, as a replay memory: name → its entries; {} where there
        is nothing.

        Views of the learner's own arrays, the same ones whenever it is asked, a new learner's with nothing added yet.
        Entries are written once, so they must not change after they count as added (see `Entries`).
        """
        ...

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Goes back to a state, and leaves what it is given untouched. Called before `begin`.

        bulk: what `bulk` gave with that state: the arrays are the learner's own, filled already, and `added` says how
        far; nothing need be copied. None: the memory is lost. Then it begins empty, whatever state and arrays say, and
        is filled as at the run's start: nothing is learned from it before.
        """
        ...

    def weights(self) -> dict[str, Tensor]:
        """The parameters on the host, name → (K, ...)."""
        ...

    def view(self, task: TaskLearned) -> View:
        """What diagnostics are shown while that task is learned, of agents that provide it (`OBSERVED`).

        Changes nothing. It is asked when an epoch or a task has ended, and once before the first update, when an agent
        that acts has no probe yet.
        """
        ...


AnyLearner = TypeVar("AnyLearner", bound=Learner[Any, Any])


class Agent(Component, Generic[AnyBenchmark, AnyResource, AnyLearner]):
    """How a run learns. Its settings are the agent's own; those annotated `float` may differ within a pack.

    Final classes say what they measure and which benchmarks they learn, put together what trains a pack, and price it.
    `class PPO(Agent[BodyBenchmark, Bodies, PPOLearner])` names its benchmark, what tasks are made of, and its learner.
    """

    floats_on_run_axis = True

    measures: ClassVar[Measures]

    learns: ClassVar[type[Benchmark[Any]]] = Benchmark
    """The kind of benchmark: the base class of those whose tasks it can learn."""

    provides: ClassVar[frozenset[str]] = frozenset()
    """What its learner provides to interventions and diagnostics beside the network (see their `requires`)."""

    networks: ClassVar[Sequence[str]] = ("",)
    """The names of the networks that it trains (`PackedNetwork.name`): the intervention measures itself in each."""

    of_no_network: ClassVar[frozenset[str]] = frozenset()
    """Names among its learner's weights that are no network's parameters."""

    @classmethod
    def networks_beside(cls, network: type[Network]) -> Sequence[str]:
        """The same beside a choice of the group network: there may be one that is several of them."""
        return cls.networks

    def objection(self, benchmark: AnyBenchmark) -> str | None:
        """Why it cannot learn this benchmark, though it learns the kind; None where it can.

        Asked before anything is queued. Words that a sentence ends with: "agent=x cannot learn benchmark=y: <words>.".
        """
        return None

    def model(self, parts: Parts[AnyBenchmark], resource: AnyResource) -> Model:
        """The stacked network that a record's weights belong to.  Raises ConfigError where the shapes do not fit."""
        raise NotImplementedError

    def learner(
        self, parts: Parts[AnyBenchmark], resource: AnyResource, device: torch.device, compiled: bool
    ) -> tuple[Stream[Any], AnyLearner]:
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
