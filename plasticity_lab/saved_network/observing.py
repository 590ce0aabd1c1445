"""Diagnostics of finished runs, computed from the weights kept at task ends, and added to their metrics and records.

The metrics and the record of a run stay whole if adding is interrupted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor

from plasticity_lab.agents.agent import Agent
from plasticity_lab.assembly import ResourceOf, assembled, model_of
from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, check_columns, columns_of
from plasticity_lab.diagnostics.view import HELD_OUT, OBSERVED, View
from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.damage import read_file, seal, write_file
from plasticity_lab.records.measures import Column
from plasticity_lab.records.record import metrics_content, read_metrics, read_record, write_record
from plasticity_lab.records.record_facts import ADDED, FINISHED, REPLACING, RERUN
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import run_of
from plasticity_lab.records.weights import TaskWeights, read_task_weights, read_weights, tasks_kept

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Observed:
    """The measured values of diagnostics.

    columns: the columns of the diagnostics. at_tasks: position of a task → column → value; NaN for a missing value.
    """

    columns: Sequence[Column]
    at_tasks: Mapping[int, Mapping[str, float]]


def kept_tasks(store: Store, run: str) -> list[int]:
    """The positions of the tasks with ends that can be measured in a finished run; none if it kept no weights.

    For a run that kept only its final parameters, it is the last task, if its agent's probe can be computed again.
    Raises StoreError; ConfigError if a class does not exist any more.
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
    rows = zip(table["kind"].to_pylist(), table["task"].to_pylist(), strict=True)
    return [task for kind, task in rows if kind == "task"][-1:]


def observed(store: Store, run: str, diagnostics: Mapping[str, Diagnostic], resource_of: ResourceOf) -> Observed:
    """Measures diagnostics of a run at the ends of the tasks that it kept, as they would have been during training.

    Diagnostics measure one task after the other, each with the state from the measurement before. The first state
    belongs to the network before its first update. If only the last parameters were kept, an intervention may have
    changed them after the task's end.

    Raises StoreError if no weights were kept, or if the agent allows no diagnostics; ConfigError.
    """
    record = read_record(store, run)
    tasks = [] if record is None else kept_tasks(store, run)
    if record is None or not tasks:
        raise StoreError(
            f"Run {run} has kept no weights; train it with save_weights=tasks, which keeps the weights of tasks."
        )
    resolved, _ = run_of(record)
    if OBSERVED not in resolved.component("agent", Agent).provides:
        raise StoreError(f"Run {run} cannot be looked at: its agent {resolved.name('agent')} shows no network.")
    resource = resource_of(resolved)
    model = model_of([resolved], resource)
    applied = {name: each for name, each in diagnostics.items() if each.applies_to(model)}
    for each in applied.values():
        each.every = TASK
    columns = columns_of(applied, model.units)
    again = {name for name in record["diagnostics"] if name in applied}
    known = [column.name for column in declared_in(record).columns if column.of.partition(".")[0] not in again]
    check_columns(columns, known)
    stream, learner = assembled([resolved], resource, CPU, compiled=False, observed=True)
    first = stream.task(0)
    learner.begin(first, fresh=True)
    states: dict[str, dict[str, Tensor]] = {
        name: dict(each.start(learner.view(first))) for name, each in applied.items()
    }
    at_tasks: dict[int, dict[str, float]] = {}
    for position in tasks:
        task = stream.task(position)
        learner.begin(task, fresh=True)  # it may change the learner's network; the view gets the kept parameters
        view = _with_kept(learner.view(task), _kept(store, record, position), position)
        at_tasks[position] = {}
        for name, each in applied.items():
            values = view.if_finite(each.look(replace(view, state=states[name]))) if view.probe else {}
            at_tasks[position] |= {column: value.item() for column, value in values.items()}
    return Observed(columns, at_tasks)


def _kept(store: Store, record: Mapping, position: int) -> TaskWeights:
    if position in tasks_kept(record):
        return read_task_weights(store, record["run"], position)
    return TaskWeights(read_weights(store, record["run"]) or {}, {}, {})


def _with_kept(view: View, kept: TaskWeights, position: int) -> View:
    """The view with the kept parameters, and with the kept probe if there is one."""
    parameters, frozen = (
        {name: kept.parameters[name].unsqueeze(0) for name in of} for of in (view.parameters, view.frozen)
    )
    probe = {name: value.unsqueeze(0) for name, value in kept.probe.items()} | dict(kept.of_all)
    return replace(view, parameters=parameters, frozen=frozen, probe=probe or view.probe, task=position, found={})


def add_columns(store: Store, run: str, seen: Observed, names: Sequence[str], by: Mapping[str, Any]) -> None:
    """Adds columns of task rows to the metrics of a finished run; rows of other tasks are empty.

    names: the diagnostics to add to the record's list. by: the entry to add to the record's `observed`. The summary
    gets the values of the last task.

    Raises StoreError if the run has no record, or no metrics.
    """
    record, table = read_record(store, run), read_metrics(store, run)
    if record is None or table is None:
        raise StoreError(f"Run {run} has no record with metrics that could get further columns.")
    rows = list(zip(table["kind"].to_pylist(), table["task"].to_pylist(), strict=True))
    for column in seen.columns:
        values = [seen.at_tasks.get(task, {}).get(column.name) if kind == "task" else None for kind, task in rows]
        if column.name in table.column_names:
            # The values of epochs, and of tasks that are not measured now, stay.
            at, before = table.column_names.index(column.name), table[column.name].to_pylist()
            values = [old if value is None else value for old, value in zip(before, values, strict=True)]
            table = table.set_column(at, column.name, pa.array(values, pa.float64(), from_pandas=True))
        else:
            table = table.append_column(column.name, pa.array(values, pa.float64(), from_pandas=True))
    declared = declared_in(record)
    known = {column.name for column in declared.columns}
    added = [column for column in seen.columns if column.name not in known]
    declared = replace(
        declared,
        columns=[*declared.columns, *added],
        summaries={**declared.summaries, **{column.name: column.measure for column in seen.columns}},
    )
    content, path = metrics_content(table), store.metrics(run)
    # An interrupted earlier call may have left either file, so the record first lists the one that exists.
    current = seal(read_file(path, RERUN) or b"")
    record = {key: value for key, value in record.items() if key != REPLACING}
    write_record(
        store, record | {"files": record["files"] | {path.name: current}, REPLACING: {path.name: seal(content)}}
    )
    write_file(path, content)
    last = seen.at_tasks[max(seen.at_tasks)]
    record |= {
        "summary": record["summary"] | {column.name: _number(last.get(column.name)) for column in seen.columns},
        "measures": declared.as_json(),
        "diagnostics": [*record["diagnostics"], *(name for name in names if name not in record["diagnostics"])],
        "files": record["files"] | {path.name: seal(content)},
        ADDED: sorted({*record.get(ADDED, []), *(column.name for column in added)}),
        "observed": [*record.get("observed", []), dict(by)],
    }
    write_record(store, record)


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else value
