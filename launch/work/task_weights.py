"""Weights as they are when tasks end, where `save_weights=tasks` asks for them: with the pack until records are left.

Legend: K runs.
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from plasticity_lab.agents.agent import Chunk, Learner, State, Task
from plasticity_lab.diagnostics.view import HELD_OUT, OBSERVED, View
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.files import names
from plasticity_lab.records.rows import Evaluation, Rows
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import TaskWeights, read_pack_weights, write_pack_weights, write_task_weights


class KeepsTaskWeights:
    """The learner, whose weights are written when a task has ended, before intervention and optimizer end it.

    That is the moment at which diagnostics look. keep: (task, weights) → written; it may wait for the store.
    with_probe: whether what diagnostics look at is kept too, since nobody could find it again.
    """

    def __init__(
        self, learner: Learner, every: int, with_probe: bool, keep: Callable[[int, TaskWeights], None]
    ) -> None:
        self.learner, self.every, self.with_probe, self.keep = learner, every, with_probe, keep
        self.size, self.facts = learner.size, learner.facts

    def begin(self, task: Task, fresh: bool) -> None:
        """The learner's."""
        self.learner.begin(task, fresh)

    def advance(self, chunk: Chunk) -> Rows:
        """The learner's."""
        return self.learner.advance(chunk)

    def evaluate(self, task: Task) -> Evaluation:
        """The learner's."""
        return self.learner.evaluate(task)

    def end(self, task: Task) -> None:
        """The learner's, after the weights are kept."""
        if (task.position + 1) % self.every == 0:
            probe: Mapping[str, Tensor] = self.learner.view(task).probe if self.with_probe else {}
            shared = {name: value for name, value in probe.items() if value.dim() < 2}
            own = {name: value for name, value in probe.items() if value.dim() >= 2}
            self.keep(task.position, TaskWeights(self.learner.weights(), own, shared))
        self.learner.end(task)

    def state(self) -> State:
        """The learner's."""
        return self.learner.state()

    def bulk(self) -> Bulk:
        """The learner's."""
        return self.learner.bulk()

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """The learner's."""
        self.learner.load(state, bulk)

    def weights(self) -> dict[str, Tensor]:
        """The learner's."""
        return self.learner.weights()

    def view(self, task: Task) -> View:
        """The learner's."""
        return self.learner.view(task)


def keeping_weights(
    store: Store, pack: str, settings: Settings, learner: Learner, provides: frozenset[str], beat: Callable[[], object]
) -> Learner:
    """The learner, which keeps the weights of tasks where the settings ask for it.

    provides: of the agent. beat: asked before each file is written; it raises where the pack is another worker's.
    """
    if settings.save_weights != "tasks":
        return learner

    def keep(task: int, weights: TaskWeights) -> None:
        beat()
        write_pack_weights(store, pack, task, weights)

    # Who has held-out examples has examples of a task that can be laid out again; who acts has seen what it met.
    with_probe = OBSERVED in provides and HELD_OUT not in provides
    return KeepsTaskWeights(learner, settings.save_weights_every, with_probe, keep)


class TaskFiles:
    """What a pack has kept of its tasks' ends, to be laid beside the records of its runs."""

    def __init__(self, store: Store, pack: str) -> None:
        self.store, self.pack = store, pack
        stem = store.pack_weights(pack, 0).stem
        found = [name.rpartition(".") for name in names(store.pack_folder(pack))]
        self.tasks = sorted(int(task) for name, _, task in found if name == stem and task.isdecimal())

    def leave(self, k: int, run: str) -> dict[str, dict[str, int]]:
        """Writes those of the pack's k-th run; file → what its record keeps of it.  Raises StoreError."""
        files: dict[str, dict[str, int]] = {}
        for task in self.tasks:  # read for each run anew: all tasks of a pack together may not fit into memory
            kept = read_pack_weights(self.store, self.pack, task).of(k)
            files[self.store.task_weights(run, task).name] = write_task_weights(self.store, run, task, kept)
        return files
