"""The agent of an assay's own runs: it trains copies of the networks that finished runs have kept.

`python -m launch assay` plans such runs, one for each finished run; they are packed, resumed and recorded as others.

Legend: K runs, C copies, S steps of a chunk.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.agent import Agent, State
from plasticity_lab.agents.cost import Cost
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.assays.assay import BRANCHES, Assay
from plasticity_lab.assays.copies import Copies
from plasticity_lab.assays.cost import cost_of_trials
from plasticity_lab.assays.readings import own_columns, values_of
from plasticity_lab.assays.source import LEARNED_WITH, FromStore, kept_after, kept_of
from plasticity_lab.assays.step import loss_of
from plasticity_lab.assays.trial import Setup
from plasticity_lab.benchmarks.benchmark import Benchmark, Resource
from plasticity_lab.component import setting, with_settings
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.model import Model
from plasticity_lab.records import rows
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.measures import Column, Measure, Measures, mean
from plasticity_lab.records.rows import Evaluation, Position, Rows
from plasticity_lab.records.store import Store
from plasticity_lab.run import ASSAY, LEARNER

_TASKS = own_columns()
_TRAINED = [Measure(f"{branch}_train_loss", f"Loss of the steps, {branch}", better="less") for branch in BRANCHES]
COLUMNS = (*(Column(each, each.name, {"epoch": "mean"}) for each in _TRAINED), *_TASKS)


def summarise(table: Any) -> dict[str, float | None]:
    """The mean of each column over the tasks with a value."""
    are_tasks = table["kind"].to_numpy() == "task"
    found: dict[str, float | None] = {}
    for column in _TASKS:
        values = table[column.name].to_numpy(zero_copy_only=False)[are_tasks]
        found[column.name] = mean(values[np.isfinite(values)])
    return found


MEASURES = Measures(
    columns=COLUMNS,
    summaries=[column.measure for column in _TASKS],
    headline="loss_gap",
    must_stay_finite=None,
    summarise=summarise,
)


@dataclass(frozen=True)
class Trial(rows.Task):
    """A kept task.

    of: its position in the stream of the run. after: the steps of a curve's points. before: the steps of all trials
    before this one.
    """

    of: int
    after: Sequence[int]
    before: int

    def chunks(self, after: Position) -> Iterator[rows.Chunk]:
        """A chunk from each point to the next; the rest of them if `after` lies within this task."""
        taken = after.step if after.task == self.position else 0
        for first, last in pairwise(self.after):
            if first >= taken:
                ends = last == self.after[-1]
                yield rows.Chunk(self.position, self.position, self.before + first, last - first, ends, self.marks)


class Trials:
    """The kept tasks of runs, one trial after another."""

    def __init__(self, assay: Assay, tasks: Sequence[int]) -> None:
        self.assay, self.kept = assay, list(tasks)

    def tasks(self, after: Position) -> Iterator[Trial]:
        """The unfinished trials."""
        for position in range(after.task, len(self.kept)):
            yield self.task(position)

    def task(self, position: int) -> Trial:
        """The trial at that position."""
        return Trial(position, {}, self.kept[position], self.assay.measured_after(), position * self.assay.steps)


class TrialLearner:
    """Trains the copies of one kept task after another.  sources: the ids of the K runs, in `store` with weights."""

    facts: Mapping[str, float] = {}

    def __init__(self, setup: Setup, store: Store, sources: Sequence[str]) -> None:
        self.setup, self.store, self.sources = setup, store, list(sources)
        self.copies: Copies | None = None
        self.size, self.saved = setup.model.size, dict[str, Any]()

    @property
    def network(self) -> PackedNetwork:
        """The copies' network."""
        assert self.copies is not None
        return self.copies.network

    def view(self, task: Trial) -> View:
        """The view of the copies, without a probe."""
        return self.network.view(loss_of(self.setup.model, self.network.body), {})

    def begin(self, task: Trial, fresh: bool) -> None:
        """Reads the weights of the kept task, and makes the copies."""
        setup, names, store = self.setup, self.setup.names, self.store
        kept = kept_of(store, self.sources, [task.of] * len(self.sources), names)
        later = None
        if setup.assay.needs_later:  # the next kept task of a run is no tried one, and may differ between runs
            tasks = [kept_after(store, run, task.of) for run in self.sources]
            later = kept_of(store, self.sources, tasks, names).parameters
        moments = kept.moments if setup.assay.moments == "kept" else None
        self.copies = setup.begun(task.of, kept.parameters, kept.probe, later, moments, kept.counts if moments else ())
        if fresh:
            self.copies.measure()
        else:
            self.copies.load(self.saved)

    def advance(self, chunk: rows.Chunk) -> Rows:
        """Takes the chunk's steps, and measures."""
        assert self.copies is not None
        losses_SC = self.copies.train(chunk.steps)
        self.copies.measure()
        losses_SKRB = losses_SC.reshape(len(losses_SC), len(self.sources), -1, len(BRANCHES)).mean(axis=2)
        return Rows({f"{branch}_train_loss": losses_SKRB[..., at] for at, branch in enumerate(BRANCHES)})

    def evaluate(self, task: Trial) -> Evaluation:
        """The columns of the assay."""
        assert self.copies is not None
        found = values_of(self.setup.assay, self.copies.curves, len(self.sources))
        empty = np.full(len(self.sources), np.nan)
        return {name: found.get(name, empty) for name in (column.of for column in _TASKS)}

    def end(self, task: Trial) -> None:
        """Nothing: the next trial has new copies."""
        self.copies = None

    def state(self) -> State:
        """The state of the present copies."""
        return {} if self.copies is None else self.copies.state()

    def bulk(self) -> Bulk:
        """Empty."""
        return {}

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Keeps the state for `begin`, which makes the copies that it belongs to."""
        self.saved = dict(state)

    def weights(self) -> dict[str, Tensor]:
        """None are kept."""
        return {}


@with_settings
class TriesAssay(Agent[Benchmark[Any], Resource, TrialLearner]):
    """Tries the run's assay on a finished run at the ends of its kept tasks.

    of: the id of that run. tasks: the positions of the tasks. learned: the structure of its agent and its intervention,
    as JSON: runs share a pack, and packs share compiled functions, only if it is the same. rows: the number of inputs
    that the run has kept with its weights; runs of a pack have as many.
    """

    measures = MEASURES
    learns = Benchmark

    of: str = setting("")
    tasks: list = setting(None)
    learned: str = setting("")
    rows: int = setting(0)

    @classmethod
    def run_axis_settings(cls) -> list[str]:
        """Runs about different runs share a pack."""
        return ["of"]

    def on_run_axis(self) -> dict[str, float]:
        """No number."""
        return {}

    def setup(self, parts: Parts[Any], resource: Resource, device: torch.device, compiled: bool) -> Setup:
        """The trials' parts: the components of the runs, with their own agent."""
        return Setup(parts.one(ASSAY, Assay), of_runs(parts), parts.one(LEARNER, Agent), resource, device, compiled)

    def model(self, parts: Parts[Any], resource: Resource) -> Model:
        """The model of the runs that the assay is about."""
        own = resource.own if isinstance(resource, FromStore) else resource
        return parts.one(LEARNER, Agent).model(of_runs(parts), own)

    def learner(
        self, parts: Parts[Any], resource: Resource, device: torch.device, compiled: bool
    ) -> tuple[Trials, TrialLearner]:
        """The kept tasks, and the copies' training."""
        assert isinstance(resource, FromStore)
        setup = self.setup(parts, resource.own, device, compiled)
        sources = [each.of for each in parts.each("agent", TriesAssay)]
        return Trials(setup.assay, self.tasks), TrialLearner(setup, resource.store, sources)

    def cost(self, parts: Parts[Any], resource: Resource) -> Cost:
        """The cost of all trials on one run."""
        model, assay = self.model(parts, resource), parts.one(ASSAY, Assay)
        return cost_of_trials(assay, of_runs(parts), model, len(self.tasks))


def of_runs(parts: Parts[Any]) -> Parts[Any]:
    """The components of the runs that an assay is about, with their own agent and intervention."""
    return parts.having("agent", parts.components[LEARNER]).having("intervention", parts.components[LEARNED_WITH])
