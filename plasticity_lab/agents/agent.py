"""Base class of agents (config group `agent`), and protocols of the learner and the tasks that it builds for a pack."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from plasticity_lab.agents.cost import Cost, Yardstick
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import AnyBenchmark, Parts
from plasticity_lab.benchmarks.benchmark import AnyResource, Benchmark
from plasticity_lab.component import Component
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Network
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.rows import Chunk, Evaluation, Position, Rows, Task

State = dict[str, Any]


TaskOfStream = TypeVar("TaskOfStream", bound=Task, covariant=True)
TaskLearned = TypeVar("TaskLearned", bound=Task, contravariant=True)
ChunkLearned = TypeVar("ChunkLearned", bound=Chunk, contravariant=True)


class Stream(Protocol[TaskOfStream]):
    """The tasks of a pack, all of one class."""

    def tasks(self, after: Position) -> Iterator[TaskOfStream]:
        """The unfinished tasks, starting with the task that contains `after`."""
        ...

    def task(self, position: int) -> TaskOfStream:
        """Task t. It is a function of (seed, t) and does not depend on task t − 1."""
        ...


class Learner(Protocol[TaskLearned, ChunkLearned]):
    """Learns the tasks of a pack of K runs. It owns the pack's tensors, returns its measurements and opens no file.

    A learner may support a single class of tasks and chunks: the class of the stream returned with it.
    """

    @property
    def size(self) -> int:
        """Parameters of one run."""
        ...

    @property
    def network(self) -> PackedNetwork:
        """The network that diagnostics measure."""
        ...

    @property
    def facts(self) -> Mapping[str, float]:
        """Numbers that the summary needs in addition to the metrics (see `Measures.flags`)."""
        ...

    def begin(self, task: TaskLearned, fresh: bool) -> None:
        """Prepares for a task.

        fresh: True if the first chunk of the task comes next. False if a resumed run continues within the task; the
            loaded state must then stay unchanged.
        """
        ...

    def advance(self, chunk: ChunkLearned) -> Rows:
        """Trains on a chunk."""
        ...

    def evaluate(self, task: TaskLearned) -> Evaluation:
        """Evaluates the runs on a task, whether or not it has been trained on. Changes no state."""
        ...

    def end(self, task: TaskLearned) -> None:
        """Work between tasks: the intervention's step and the optimizer's reset."""
        ...

    def state(self) -> State:
        """The state that `load` needs to resume bit for bit, except for `bulk`: tensors, numbers and dictionaries of
        them.
        """
        ...

    def bulk(self) -> Bulk:
        """Data too large for every checkpoint, such as a replay memory: name → its entries; {} if there is no such
        data.

        The entries are views of the learner's arrays, and each call returns the same views. A new learner's arrays have
        no entry added yet. Each entry is written to disk once, so it must not change after it counts as added (see
        `Entries`).
        """
        ...

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state without modifying the arguments. Called before `begin`.

        bulk: the result of `bulk` for that state. Its arrays are the learner's arrays, already filled up to `added`, so
            nothing needs to be copied. None if the memory is lost: it then starts empty, whatever the state says, and
            is refilled as at the start of the run. Nothing is learned from it until then.
        """
        ...

    def weights(self) -> dict[str, Tensor]:
        """The parameters on the host, name → (K, ...)."""
        ...

    def view(self, task: TaskLearned) -> View:
        """The view that diagnostics receive while this task is learned; only for agents that provide it (`OBSERVED`).

        Changes no state. Called at the end of an epoch or task, and once before the first update. At that first call an
        agent that acts has no probe yet.
        """
        ...


AnyLearner = TypeVar("AnyLearner", bound=Learner[Any, Any])


class Agent(Component, Generic[AnyBenchmark, AnyResource, AnyLearner]):
    """Base class of agents. An agent is a method of learning with its settings; settings annotated `float` may differ
    within a pack.

    A final class declares its measures and the benchmarks it can learn. It also builds a pack's learner and estimates
    the cost of a run.
    `class PPO(Agent[BodyBenchmark, Bodies, PPOLearner])` names the class of its benchmarks, the class of their
    resource, and the class of its learner.
    """

    floats_on_run_axis = True

    measures: ClassVar[Measures]

    learns: ClassVar[type[Benchmark[Any]]] = Benchmark
    """The base class of the benchmarks that this agent can learn."""

    provides: ClassVar[frozenset[str]] = frozenset()
    """Features that its learner provides to interventions and diagnostics, in addition to the network (see their
    `requires`).
    """

    networks: ClassVar[Sequence[str]] = ("",)
    """The names of the networks that it trains (`PackedNetwork.name`). The intervention takes its measurements in
    each.
    """

    of_no_network: ClassVar[frozenset[str]] = frozenset()
    """Names of learner weights that are not parameters of any network."""

    @classmethod
    def networks_beside(cls, network: type[Network]) -> Sequence[str]:
        """`networks` for a given choice of the config group `network`, since one choice may consist of several
        networks.
        """
        return cls.networks

    def model(self, parts: Parts[AnyBenchmark], resource: AnyResource) -> Model:
        """The stacked network for the weights in a record. Raises ConfigError if the shapes do not fit."""
        raise NotImplementedError

    def learner(
        self, parts: Parts[AnyBenchmark], resource: AnyResource, device: torch.device, compiled: bool
    ) -> tuple[Stream[Any], AnyLearner]:
        """Builds the stream of a pack's tasks and their learner.

        compiled: whether updates are compiled. The results differ from eager mode in the last bits.
        """
        raise NotImplementedError

    def statistics(self, learner: AnyLearner) -> Mapping[str, Tensor]:
        """Scaling statistics of the networks' inputs, name → (K, ...), stored with the weights; {} if inputs are not
        scaled.

        Weights learned from scaled observations are of no use without these statistics.
        """
        return {}

    def cost(self, parts: Parts[AnyBenchmark], resource: AnyResource) -> Cost:
        """The cost of one run. Raises ConfigError if the parts do not fit together."""
        raise NotImplementedError

    @classmethod
    def yardsticks(cls) -> Sequence[Yardstick]:
        """The workloads that `calibrate` times on a device for this agent. `Cost.speed` names one of them, or one of
        another agent.
        """
        return ()

    @classmethod
    def timed_environments(cls) -> Mapping[str, Callable[[int], object]]:
        """Environments that `calibrate` can time on the host: name (as in `Cost.host_steps`) → function that takes a
        given number of steps.

        `calibrate` times only the environments of the runs it was asked about, and calls only their functions.
        """
        return {}
