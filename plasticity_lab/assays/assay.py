"""The base class of all assays: a problem that an aged network and fresh networks learn, with the same data and steps.

Legend: K runs, R repetitions, N examples of a problem, M test examples, D numbers of an example, O numbers of all
outputs, C copies of networks: K·R·2, for each run and repetition the aged network and then the fresh one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.parts import Parts
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.component import Component, check_limits, setting, with_settings
from plasticity_lab.diagnostics.view import HELD_OUT, OBSERVED
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.model import Model
from plasticity_lab.others import Others

BRANCHES = ("aged", "fresh")
Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Problem:
    """The examples that the copies learn.

    rows (rows, D): inputs of the network as floats, or the pixels of images as bytes, which `Given.pixels` scales.
    at (C, N): the row of each example. labels (C, N): the class of each, for the cross-entropy; None for the squared
    error. targets (C, N, O): the wanted outputs, joined; None for the cross-entropy.
    test_rows, test_at, test_labels (C, M): the same of the test examples; None if the assay has no test.
    """

    rows: Tensor
    at: Tensor
    labels: Tensor | None = None
    targets: Tensor | None = None
    test_rows: Tensor | None = None
    test_at: Tensor | None = None
    test_labels: Tensor | None = None


@dataclass(frozen=True)
class Given:
    """The material of an assay's problem: K runs at the end of a task, and the C copies of their networks.

    parts: the components of the K runs. resource: the benchmark's. position: the task that has ended. seeds (K·R): a
    seed for each run and repetition. model: the functions of the C copies. parameters, shape: the parameters of the C
    copies before training, and the settings of their activations. pixels: the scaling of images; None for other inputs.
    probe: inputs that the runs have kept, name → (K, P, D); empty if they kept none. later: the parameters of the K
    runs at the end of the next kept task, name → (K, ...); None without one. body: the environment of the task.
    """

    parts: Parts[Any]
    resource: Any
    position: int
    seeds: list[int]
    model: Model
    parameters: Tensors
    shape: Tensors
    repetitions: int
    pixels: Any
    probe: Tensors
    later: Tensors | None
    body: str | None
    device: torch.device

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark of the runs."""
        return self.parts.benchmark

    @property
    def runs(self) -> int:
        """K."""
        return len(self.parts.init_seeds)

    def for_copies(self, values: Tensor) -> Tensor:
        """(K·R, ...) → (C, ...): the same for the aged and for the fresh network."""
        return values.repeat_interleave(len(BRANCHES), dim=0).to(self.device)

    def offsets(self, rows: int, own: bool) -> Tensor:
        """(K·R, 1): the first row of each run's inputs, with that many rows for each run; zeros if they share rows."""
        first = torch.arange(self.runs, device=self.device).repeat_interleave(self.repetitions).unsqueeze(1)
        return first * (rows if own else 0)


@with_settings
class Assay(Component):
    """The base class of an assay. A final class makes the problem; the training is the same for all assays.

    steps: updates of each copy. batch_size: examples of an update, at most all. examples: N. repetitions: R, each with
    its own problem and its own fresh network. points: how often the loss on all examples is measured, after equal
    numbers of steps, and before the first. lr: the learning rate of Adam. optimizer: adam (new, without moments), or
    own (the run's, with its settings). moments: new, or kept (the aged network goes on with the run's moments; needs
    `optimizer=own` and runs with `save_moments=true`). head: kept, or fresh (the aged network's output layers begin as
    the fresh network's). intervention: none, or own (with the run's intervention, as far as it acts within updates).
    every: if the assay is tried while a run trains, the number of tasks between trials.
    """

    steps: int = setting(400, at_least=1)
    batch_size: int = setting(64, at_least=2)
    examples: int = setting(1280, at_least=2)
    repetitions: int = setting(3, at_least=1)
    points: int = setting(10, at_least=1)
    lr: float = setting(1e-3, above=0, read_if=("optimizer", lambda optimizer: optimizer == "adam"))
    optimizer: str = setting("adam", one_of=("adam", "own"))
    moments: str = setting("new", one_of=("new", "kept"))
    head: str = setting("kept", one_of=("kept", "fresh"))
    intervention: str = setting("none", one_of=("none", "own"))
    every: int = setting(1, at_least=1)

    objects_to = frozenset({"benchmark", "agent"})

    of_classes: ClassVar[bool] = False
    """Whether the problem has labels: then accuracies are measured, and the agent must be a classifier."""
    tests: ClassVar[bool] = False
    """Whether the problem has test examples."""
    needs_probe: ClassVar[bool] = False
    """Whether it needs inputs that the run has kept with its weights, as acting agents do."""
    needs_later: ClassVar[bool] = False
    """Whether it needs the weights of the next kept task."""

    def __post_init__(self) -> None:
        check_limits(self, "assay")
        if self.moments == "kept" and self.optimizer != "own":
            raise ConfigError(
                "assay.moments=kept goes on with the moments of the run's own optimizer; choose assay.optimizer=own."
            )
        if self.points > self.steps:
            raise ConfigError(f"assay.points is {self.points}; it must be at most assay.steps, {self.steps}.")

    @classmethod
    def composed(cls, members: Mapping[str, Component]) -> "Several":
        """Several assays, each tried separately."""
        return Several(members)

    def objection(self, others: Others) -> str | None:
        """It needs labelled images if it has labels; other assays need inputs, which the agent must show."""
        benchmark, agent = others.one("benchmark", Benchmark), others.one("agent", Agent)
        labelled = isinstance(benchmark, LabelledBenchmark)
        if self.of_classes and not labelled:
            return "it needs labelled images; assay=teacher and assay=paired_offset need only inputs"
        if self.of_classes and labelled and benchmark.predicts_numbers:
            return (
                "it needs classes, and the labels are numbers there; assay=teacher and paired_offset need only inputs"
            )
        if not labelled and (OBSERVED not in agent.provides or HELD_OUT in agent.provides):
            return "the agent keeps none of its inputs with its weights"
        return None

    def applies(self, position: int, tasks: int) -> bool:
        """Whether it can be tried at the end of a task.  tasks: the number of tasks of a run."""
        return True

    def problem(self, given: Given) -> Problem:
        """The problem of all copies. It must be the same for the aged and for the fresh network, except for targets."""
        raise NotImplementedError

    def measured_after(self) -> list[int]:
        """The numbers of steps after which the losses are measured: 0, …, `steps`; `points` + 1 of them."""
        return [round(self.steps * point / self.points) for point in range(self.points + 1)]


class Several(Assay):
    """Assays that were chosen together, by the names of their options."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.members: Mapping[str, Assay] = members


def joined(outputs: Tensors) -> Tensor:
    """All outputs of a network as numbers of one example, (C, B, O), sorted by the outputs' names."""
    return torch.cat([outputs[name].flatten(2) for name in sorted(outputs)], dim=2)
