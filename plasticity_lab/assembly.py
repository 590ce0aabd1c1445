"""Builds the stream of tasks and the learner of resolved runs from all packages of the laboratory."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import torch

from plasticity_lab.agents.agent import Agent, Learner, Stream
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.evenly_spread import PROBE
from plasticity_lab.agents.observed import Observed
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assays.assayed import Assayed
from plasticity_lab.assays.chosen import assays_of
from plasticity_lab.assays.cost import with_trials
from plasticity_lab.assays.trial import Setup
from plasticity_lab.benchmarks.benchmark import Benchmark, Resource
from plasticity_lab.diagnostics.chosen import diagnostics_of
from plasticity_lab.diagnostics.diagnostic import columns_of
from plasticity_lab.environments.processes.choice import ALONE, Processes
from plasticity_lab.errors import DataError
from plasticity_lab.networks.model import Model
from plasticity_lab.records.measures import Column
from plasticity_lab.run import Run

CPU = torch.device("cpu")
ResourceOf = Callable[[Run], Resource]
"""Run → the resource of its benchmark's tasks, such as an image set."""


def agent_of(run: Run) -> Agent:
    """The agent of a run."""
    return run.component("agent", Agent)


def assembled(
    runs: Sequence[Run],
    resource: Resource,
    device: torch.device,
    compiled: bool,
    processes: Processes = ALONE,
    kernels: bool = False,
    observed: bool = False,
    compressed: str = "auto",
    sharing: int = 1,
) -> tuple[Stream, Learner]:
    """The stream and the learner of a pack. Its runs may differ only in their seeds and `run_axis_settings`.

    processes: the processes that may step the environments, if the runs have any. kernels: whether linear layers use
    our kernels, if the agent supports them. observed: whether the learner is measured although the runs name no
    diagnostics. compressed: whether replay memories are (`Settings.replay_memory_compressed`). sharing: the number of
    workers that share the device, if it is a GPU.
    """
    agent = agent_of(runs[0])
    parts = parts_of(runs, processes, kernels, observed or bool(diagnostics_of(runs[0])), compressed, sharing)
    return agent.learner(parts, resource, device, compiled)


def looked_at(
    runs: Sequence[Run],
    resource: Resource,
    learner: Learner,
    device: torch.device = CPU,
    compiled: bool = False,
    kernels: bool = False,
) -> tuple[Learner, Sequence[Column]]:
    """The learner of a pack with its diagnostics and assays, and their columns; the learner unchanged without them.

    compiled, kernels: as in `assembled`, for assays. Raises ConfigError for columns that do not fit together.
    """
    learner, columns = _observed(runs, resource, learner)
    assays = {} if runs[0].is_of_assay else assays_of(runs[0])
    if not assays:
        return learner, columns
    parts, agent = parts_of(runs, kernels=kernels), agent_of(runs[0])
    setups = {name: Setup(each, parts, agent, resource, device, compiled) for name, each in assays.items()}
    tried = Assayed(learner, setups, len(runs))
    return tried, [*columns, *tried.columns]


def _observed(runs: Sequence[Run], resource: Resource, learner: Learner) -> tuple[Learner, Sequence[Column]]:
    diagnostics = diagnostics_of(runs[0])
    if not diagnostics:
        return learner, []
    model = model_of(runs, resource)
    diagnostics = {name: each for name, each in diagnostics.items() if each.applies_to(model)}
    columns = columns_of(diagnostics, model.units)
    return Observed(learner, diagnostics, columns, len(runs)), columns


COPIES = 3
"""Copies of all activations between layers while diagnostics measure: before and after them, and results; a margin."""


def cost_of(run: Run, resource: Resource, compressed: str = "auto") -> Cost:
    """The cost of a run, with the passes, the memory and the numbers of its diagnostics and assays.

    compressed: as in `assembled`.
    """
    agent, parts = agent_of(run), parts_of([run], compressed=compressed)
    cost, diagnostics = agent.cost(parts, resource), diagnostics_of(run)
    assays = {} if run.is_of_assay else assays_of(run)
    if not diagnostics and not assays:
        return cost
    model = agent.model(parts, resource)
    for assay in assays.values():
        cost = with_trials(cost, assay, parts, model)
    if not diagnostics:
        return cost
    applied = {name: diagnostic for name, diagnostic in diagnostics.items() if diagnostic.applies_to(model)}
    cost = replace(cost, left_out=[name for name in diagnostics if name not in applied])
    if not applied:
        return cost
    looks = {name: each.looks(cost.epochs, parts.benchmark.tasks) for name, each in applied.items()}
    passes = sum(looks[name] * each.passes for name, each in applied.items())
    between = sum(prod(unit.activated) + prod(unit.produced) for unit in model.units)
    seen = Share(4 * COPIES * PROBE * between, "activations that diagnostics measure", "fewer diagnostics")
    return replace(
        cost,
        looks=cost.looks + passes + max(looks.values()),  # they share the forward pass
        look_flops=2 * PROBE * sum(layer.work for layer in model.design.layers),
        looked=cost.looked + sum(looks[name] * len(each.columns(model.units)) for name, each in applied.items()),
        memory=(*cost.memory, seen),
    )


def model_of(runs: Sequence[Run], resource: Resource) -> Model:
    """The stacked network of runs that agree in structure."""
    return agent_of(runs[0]).model(parts_of(runs), resource)


def resources(folder: Path) -> ResourceOf:
    """A function that reads the resources of runs from the folder of data sets, each once.

    It raises DataError for files that are missing or damaged, ConfigError for a source that does not exist.
    """
    return _once(lambda benchmark: benchmark.resource(folder))


def resources_or_outlines(folder: Path, say: Callable[[str], None]) -> ResourceOf:
    """As `resources`, for plans that are only shown: if files are missing, reports it once and uses an outline."""
    said: set[str] = set()

    def resource_or_outline(benchmark: Benchmark) -> Resource:
        try:
            return benchmark.resource(folder)
        except DataError as error:
            outline = benchmark.outline()
            if outline is None:
                raise
            if str(error) not in said:  # sixteen games lack one program
                said.add(str(error))
                say(f"{error} The plan below is made without it.")
            return outline

    return _once(resource_or_outline)


def benchmarks_of(runs: Iterable[Run]) -> list[Benchmark]:
    """A benchmark for each resource that the runs need."""
    distinct = {json.dumps(run.science["benchmark"], sort_keys=True): run for run in runs}
    benchmarks = (run.component("benchmark", Benchmark) for run in distinct.values())
    return list({_key(benchmark): benchmark for benchmark in benchmarks}.values())


def _once(find: Callable[[Benchmark], Resource]) -> ResourceOf:
    resources: dict[tuple[str, str], Resource] = {}

    def resource(run: Run) -> Resource:
        benchmark = run.component("benchmark", Benchmark)
        key = _key(benchmark)
        if key not in resources:
            resources[key] = find(benchmark)
        return resources[key]

    return resource


def _key(benchmark: Benchmark) -> tuple[str, str]:
    """Equal for benchmarks with the same resource."""
    return benchmark.tasks_are, benchmark.source
