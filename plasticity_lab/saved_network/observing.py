"""Diagnostics of finished runs: what they would have seen when tasks ended, out of the weights that were kept then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from plasticity_lab.agents.agent import Agent
from plasticity_lab.assembly import ResourceOf, assembled, model_of
from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, check_columns, columns_of
from plasticity_lab.diagnostics.view import HELD_OUT, OBSERVED, View
from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.kept_files import FINISHED
from plasticity_lab.records.measures import Column
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import run_of
from plasticity_lab.records.weights import TaskWeights, read_task_weights, read_weights, tasks_kept

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Seen:
    """columns: of what was looked at. at_tasks: position of a task → column → value; NaN where there is none."""

    columns: Sequence[Column]
    at_tasks: Mapping[int, Mapping[str, float]]


def kept_tasks(store: Store, run: str) -> list[int]:
    """The positions of the tasks at whose ends a finished run can be looked at; none where it kept nothing.

    Of one that kept its final parameters alone it is the last, if its agent's probe can be found again.
    Raises StoreError; ConfigError where a class is gone.
    """
    record = read_record(store, run)
    if record is None or record["status"] not in FINISHED:
        return []
    tasks = tasks_kept(record)
    if tasks or read_weights(store, run) is None:
        return tasks
    agent = run_of(record)[0].component("agent", Agent)
    table = read_metrics(store, run)
    if HELD_OUT not in agent.provides or table is None:
        return []
    ended = zip(table["kind"].to_pylist(), table["task"].to_pylist(), strict=True)
    return [task for kind, task in ended if kind == "task"][-1:]


def observed(store: Store, run: str, diagnostics: Mapping[str, Diagnostic], resource_of: ResourceOf) -> Seen:
    """What diagnostics see of a run at the ends of the tasks that it kept, as they would have while it was trained.

    They look one task after the other, each with the state that the look before has left; the first state is of the
    network before its first update. Of a run whose last parameters alone were kept, an intervention may have changed
    these after the task's end.

    Raises StoreError where nothing was kept, or where the agent lets nobody look; ConfigError.
    """
    record = read_record(store, run)
    tasks = [] if record is None else kept_tasks(store, run)
    if record is None or not tasks:
        raise StoreError(
            f"Run {run} has kept no weights to look at; train it with save_weights=tasks, which keeps those of tasks."
        )
    found, _ = run_of(record)
    if OBSERVED not in found.component("agent", Agent).provides:
        raise StoreError(f"Run {run} cannot be looked at: its agent {found.name('agent')} shows no network.")
    resource = resource_of(found)
    model = model_of([found], resource)
    looking = {name: each for name, each in diagnostics.items() if each.applies_to(model)}
    for each in looking.values():
        each.every = TASK
    columns = columns_of(looking, model.units)
    already = {name for name in record["diagnostics"] if name in looking}
    known = [column.name for column in declared_in(record).columns if column.of.partition(".")[0] not in already]
    check_columns(columns, known)
    stream, learner = assembled([found], resource, CPU, compiled=False, observed=True)
    states: dict[str, dict[str, Tensor]] = {}
    at_tasks: dict[int, dict[str, float]] = {}
    for position in tasks:
        task = stream.task(position)
        if not states:
            first = stream.task(0)
            learner.begin(first, fresh=True)
            states = {name: dict(each.start(learner.view(first))) for name, each in looking.items()}
        learner.begin(
            task, fresh=True
        )  # whatever it does to its own network: that of the view is the one that was kept
        view = _as_kept(learner.view(task), _kept(store, record, position), position)
        at_tasks[position] = {}
        for name, each in looking.items():
            values = each.look(replace(view, state=states[name])) if view.probe else {}
            at_tasks[position] |= {column: value.double().item() for column, value in values.items()}
    return Seen(columns, at_tasks)


def _kept(store: Store, record: Mapping, position: int) -> TaskWeights:
    if position in tasks_kept(record):
        return read_task_weights(store, record["run"], position)
    return TaskWeights(read_weights(store, record["run"]) or {}, {}, {})


def _as_kept(view: View, kept: TaskWeights, position: int) -> View:
    """The view with the parameters of then, and what was looked at then where that was kept."""
    parameters = {name: kept.parameters[name].unsqueeze(0) for name in view.parameters}
    probe = {name: value.unsqueeze(0) for name, value in kept.probe.items()} | dict(kept.of_all)
    return replace(view, parameters=parameters, probe=probe or view.probe, task=position, found={})
