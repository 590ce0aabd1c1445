"""Assays of finished runs: the runs that try them, and their results as columns of the finished runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from plasticity_lab.agents.agent import Agent
from plasticity_lab.assays.agent import TriesAssay
from plasticity_lab.assays.assay import Assay
from plasticity_lab.assays.readings import UNDEFINED, columns_of
from plasticity_lab.assays.source import LEARNED_WITH, kept_of
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.component import Component
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.others import Others
from plasticity_lab.records.identity import run_id
from plasticity_lab.records.provenance import provenance, utc_now
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.record_facts import FINISHED
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import run_of
from plasticity_lab.records.weights import read_task_weights, tasks_kept
from plasticity_lab.run import ASSAY, LEARNER, Run, group_of, option_of
from plasticity_lab.saved_network.observing import Observed, add_columns

LEFT_OUT = ("agent", "intervention", "perturbation", "target", "diagnostics", ASSAY)
"""The groups of a run that its assay's run has otherwise, or not at all."""


def run_of_assay(store: Store, source: str, asked: Run, name: str, only: Sequence[int] = ()) -> Run:
    """The run that tries an assay on a finished run of a store.

    asked: a run of a command that has chosen the assay. only: the tasks to try; if empty, all kept ones.
    Raises StoreError if the run kept no weights, ConfigError if the assay cannot be tried on it.
    """
    record = read_record(store, source)
    if record is None or record["status"] not in FINISHED:
        raise StoreError(f"Run {source} is not finished, and an assay is about finished runs.")
    found, _ = run_of(record)
    address = name_of_address(asked, name)
    assay = asked.with_option(ASSAY, name, asked.targets[address], asked.settings(address)).component(ASSAY, Assay)
    _check(found, assay, name)
    tasks = _tasks(store, record, found, assay, name, only)
    probe = kept_of(store, [source], tasks[:1], []).probe
    settings = {key: value for key, value in asked.settings(address).items() if key != "every"}
    rest = [*found.science.keys() - {"agent", "intervention"}, *found.besides]
    learned = found.structure(without=rest)
    agent = {"name": "tries_assay", "of": source, "tasks": tasks, "learned": learned}
    agent["rows"] = probe["x"].shape[1] if probe else 0
    science = {key: value for key, value in found.science.items() if key not in LEFT_OUT}
    if "eval_matrix" in science["benchmark"]:  # the assay's run measures no pairs of tasks
        science["benchmark"] = {**science["benchmark"], "eval_matrix": False}
    targets = {address: target for address, target in found.targets.items() if group_of(address) not in LEFT_OUT}
    moved = {
        (option_of(each) and f"{LEARNED_WITH}.{option_of(each)}") or LEARNED_WITH: found.targets[each]
        for each in found.addresses("intervention")
    }
    return Run(
        run_id({ASSAY: {"name": name, **settings}, "of": source, "tasks": tasks}),
        {**science, "agent": agent, "intervention": {"name": "none"}},
        {
            **targets,
            "agent": f"{TriesAssay.__module__}.{TriesAssay.__qualname__}",
            "intervention": f"{NoIntervention.__module__}.{NoIntervention.__qualname__}",
            LEARNER: found.targets["agent"],
            ASSAY: asked.targets[address],
            **moved,
        },
        [{"of": source, ASSAY: name}],
        {
            ASSAY: {"name": name, **asked.settings(address)},
            LEARNER: found.science["agent"],
            LEARNED_WITH: found.science["intervention"],
        },
    )


def name_of_address(asked: Run, name: str) -> str:
    """The address of one of the assays that a command has chosen."""
    return ASSAY if asked.addresses(ASSAY) == [ASSAY] else f"{ASSAY}.{name}"


def add_results(store: Store, run: Run) -> str | None:
    """Adds the results of an assay's finished run to the run that it is about; a line about it.

    None if it has no results yet, or if the columns of that assay are already the results of this run.
    Raises StoreError.
    """
    record, table = read_record(store.assays, run.id), read_metrics(store.assays, run.id)
    if record is None or table is None or record["status"] not in FINISHED:
        return None
    source, name = run.science["agent"]["of"], run.name(ASSAY)
    of_source = read_record(store, source)
    added = [each[ASSAY] for each in (of_source or {}).get("observed", []) if ASSAY in each and each["name"] == name]
    if of_source is None or added[-1:] == [run.id]:
        return None
    assay = run.component(ASSAY, Assay)
    columns = columns_of(assay, name)
    rows = [row for row in table.to_pylist() if row["kind"] == "task"]
    at_tasks = {
        run.science["agent"]["tasks"][row["task"]]: {
            column.name: _number(row[column.of.partition(".")[2]]) for column in columns
        }
        for row in rows
    }
    by = {
        ASSAY: run.id,
        "name": name,
        "settings": run.settings(ASSAY),
        "tasks": list(at_tasks),
        "when": utc_now(),
        "commit": provenance().get("commit"),
    }
    add_columns(store, source, Observed(columns, at_tasks), [], by)
    return in_words(source, name, at_tasks)


def in_words(source: str, name: str, at_tasks: Mapping[int, Mapping[str, float]]) -> str:
    """A line about the results at the last of the tasks, or the reason why they are undefined."""
    task = max(at_tasks)
    own = at_tasks[task]
    where = f"{source}: {name} at the end of task {task + 1}"
    if reason := UNDEFINED.get(int(own[f"{name}_undefined"])):
        return f"{where}: {reason}."
    low, high = own[f"{name}_loss_gap_low"], own[f"{name}_loss_gap_high"]
    ends = "" if low != low else f" [{low:.4f}, {high:.4f}]"
    return (
        f"{where}: loss {own[f'{name}_aged_loss']:.4f} aged, {own[f'{name}_fresh_loss']:.4f} fresh, difference "
        f"{own[f'{name}_loss_gap']:.4f}{ends}."
    )


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _check(found: Run, assay: Assay, name: str) -> None:
    components: dict[str, dict[str, Component]] = {
        "benchmark": {found.name("benchmark"): found.component("benchmark", Benchmark)},
        "agent": {found.name("agent"): found.component("agent", Agent)},
    }
    others = Others(components)
    if reason := assay.objection(others):
        options = " and ".join(f"{group}={next(iter(components[group]))}" for group in others.read)
        raise ConfigError(f"Run {found.id}: assay={name} does not go with {options}: {reason}.")


def _tasks(
    store: Store, record: Mapping[str, Any], found: Run, assay: Assay, name: str, only: Sequence[int]
) -> list[int]:
    """The positions of the tasks to try the assay after."""
    run, kept = record["run"], tasks_kept(record)
    if not kept:
        raise StoreError(f"Run {run} has kept no weights of tasks; train it with save_weights=tasks rerun=true.")
    if missing := [task for task in only if task not in kept]:
        raise StoreError(f"Run {run} has kept no weights at the end of task {missing[0] + 1}.")
    benchmark = found.component("benchmark", Benchmark)
    tasks = [task for task in only or kept if assay.applies(task, benchmark.tasks)]
    if assay.needs_later:
        tasks = [task for task in tasks if task < max(kept)]
    if not tasks:
        raise StoreError(f"Run {run} has kept no weights after which assay={name} can be tried.")
    weights = read_task_weights(store, run, tasks[0])
    if assay.moments == "kept" and not weights.moments:
        raise ConfigError(
            f"Run {run} has kept no moments, and assay.moments=kept goes on with them; train it with save_moments=true "
            "rerun=true, or choose assay.moments=new."
        )
    if assay.needs_probe and not weights.probe:
        raise ConfigError(
            f"Run {run} has kept no inputs with its weights, and assay={name} needs them: its agent does not keep "
            "them, or it had learned from none yet."
        )
    return tasks
