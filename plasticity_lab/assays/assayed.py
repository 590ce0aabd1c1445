"""A learner that assays are tried on as its tasks end. It learns the same as without them.

Legend: K runs.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.agent import Learner, State
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.assays.readings import columns_of, values_of, without_values
from plasticity_lab.assays.trial import Setup
from plasticity_lab.diagnostics.view import View
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.measures import Column
from plasticity_lab.records.rows import Chunk, Evaluation, Rows, Task


class Assayed:
    """A learner with assays: when a task ends, copies of its networks learn each assay's problem.

    setups: the assay's name → its setup. A trial is not resumed in its middle: it begins again with the task's end.
    """

    def __init__(self, learner: Learner, setups: Mapping[str, Setup], runs: int) -> None:
        self.learner, self.setups, self.runs = learner, setups, runs
        self.size, self.facts = learner.size, learner.facts

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of all assays."""
        return [column for name, setup in self.setups.items() for column in columns_of(setup.assay, name)]

    @property
    def network(self) -> PackedNetwork:
        """The learner's network."""
        return self.learner.network

    def begin(self, task: Task, fresh: bool) -> None:
        """Begins the learner's task."""
        self.learner.begin(task, fresh)

    def advance(self, chunk: Chunk) -> Rows:
        """The learner's rows."""
        return self.learner.advance(chunk)

    def evaluate(self, task: Task) -> Evaluation:
        """The learner's evaluation, and the results of the assays."""
        found = dict(self.learner.evaluate(task))
        for name, setup in self.setups.items():
            found |= {f"{name}.{column}": value for column, value in self._tried(setup, task).items()}
        return found

    def end(self, task: Task) -> None:
        """Ends the learner's task."""
        self.learner.end(task)

    def state(self) -> State:
        """The state of the learner."""
        return self.learner.state()

    def bulk(self) -> Bulk:
        """The learner's bulk data."""
        return self.learner.bulk()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state without modifying it."""
        self.learner.load(state, bulk)

    def weights(self) -> dict[str, Tensor]:
        """The learner's weights."""
        return self.learner.weights()

    def view(self, task: Task) -> View:
        """The learner's view."""
        return self.learner.view(task)

    def _tried(self, setup: Setup, task: Task) -> dict[str, NDArray[np.float64]]:
        """The results of an assay at the end of a task, column → (K,); empty if it is not tried there."""
        assay, tasks = setup.assay, setup.parts.benchmark.tasks
        position = task.position
        if (position + 1) % assay.every or not assay.applies(position, tasks) or assay.needs_later:
            return without_values(assay, self.runs, 4)
        weights, names = self.learner.weights(), setup.names
        probe = {} if setup.pixels is not None else dict(self.learner.view(task).probe)
        if setup.pixels is None and not probe:
            return without_values(assay, self.runs, 4)
        network, kept = self.learner.network, assay.moments == "kept"
        moments = network.moments if kept else None
        counts = [network.state()["updates"]] * self.runs if kept else ()
        aged = {name: weights[name] for name in names}
        copies = setup.begun(position, aged, probe, moments=moments, counts=counts)
        copies.measure()
        for first, last in pairwise(assay.measured_after()):
            copies.train(last - first)
            copies.measure()
        return values_of(assay, copies.curves, self.runs)
