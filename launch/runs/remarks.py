"""Lines about the runs of a command before anything is trained: remarks, and settings that may not be meant."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launch.runs.classes import reader_of, remarks_of
from launch.runs.groups import COMPONENTS
from plasticity_lab.component import as_typed
from plasticity_lab.records.cautions import cautions
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run, group_of, option_of

USUAL_NOOPS = 30
"""The most frames without an action that begin an Atari episode: Mnih et al. 2015, and Dopamine's wrappers since."""
WHOLE = "full"
"""The schedule that leaves a benchmark's tasks as they are."""


def remarks(runs: Sequence[Run]) -> list[str]:
    """A line for each."""
    lines = dict.fromkeys(line for run in runs for line in (*_of_settings(run), *_of_perturbation(run)))
    return [*same_functions(runs), *_cautions(runs), *lines]


def same_functions(runs: Sequence[Run]) -> list[str]:
    """One line with the number of runs saved, since their settings name another run's function; no line if it is 0."""
    saved = Counter[str]()
    for run in runs:
        saved[run.science["activation"]["name"]] += sum("settings" in asked for asked in run.asked_as)
    names = [f"{name} {count:,}" for name, count in saved.items() if count]
    if not names:
        return []
    why = "with settings that are the same function as another run's"
    return [f"runs: {len(runs):,}, and {saved.total():,} saved, {why} ({', '.join(names)})."]


def _cautions(runs: Sequence[Run]) -> list[str]:
    """A line for each caution about a measurement of the runs, with its benchmarks."""
    by_caution: dict[str, dict[str, None]] = {}
    for run in runs:
        benchmark = run.science["benchmark"]
        for caution in cautions(benchmark, run.science["agent"]):
            by_caution.setdefault(caution.said, {})[benchmark["name"]] = None
    return [f"benchmark: {', '.join(names)} {said}" for said, names in by_caution.items()]


def _of_settings(run: Run) -> Iterator[str]:
    """Settings of a run with less effect than they seem to have."""
    benchmark, agent = run.science["benchmark"], run.science["agent"]
    if (noops := benchmark.get("noops", 0)) > USUAL_NOOPS:
        begins = f"begins an episode with up to {noops:,} frames of no action, and again if the game ends among them"
        yield f"benchmark: benchmark.noops={noops} {begins}. Published protocols have {USUAL_NOOPS}."
    if not any(asked.get("schedule") == WHOLE for asked in run.asked_as):
        return
    bodies, tasks = benchmark.get("bodies") or (), benchmark.get("tasks", 0)
    if unmet := [body for body in bodies[tasks:] if body not in bodies[:tasks]]:
        missing = f"{' and '.join(dict.fromkeys(unmet))} of benchmark.bodies={_listed(bodies)}"
        yield f"benchmark: benchmark.tasks={tasks} ends before {missing}; benchmark.tasks={len(bodies)} is one cycle."
    if twice := [body for body, times in Counter(bodies).items() if times > 1]:
        yield f"benchmark: benchmark.bodies={_listed(bodies)} has {' and '.join(twice)} more than once in a cycle."
    memory, per_task = agent.get("memory"), agent.get("per_task")
    if memory is not None and per_task is not None and per_task > memory:
        yield f"agent: agent.per_task={per_task} is more than agent.memory={memory}, which is the most that is kept."


def _of_perturbation(run: Run) -> Sequence[str]:
    """The remarks of a perturbation on the benchmark's tasks."""
    if run.science.get("perturbation") is None:
        return ()
    perturbation, benchmark = ((run.targets[group], run.science[group]) for group in ("perturbation", "benchmark"))
    return remarks_of(perturbation, benchmark)


def _listed(names: Sequence[str]) -> str:
    return f"[{','.join(names)}]"


OF_TRACKING = ("tracking.project", "tracking.entity", "tracking.live_runs")
OF_MEMORY = ("replay_memory_mib", "replay_memory_minutes", "replay_memory_compressed")


def unread(typed: Mapping[str, Sequence[Any]], runs: Sequence[Run], settings: Settings) -> list[str]:
    """A line for each typed setting that no run of a command reads.  typed: dotted name → its values."""
    lines = [line for key in typed if group_of(key) in COMPONENTS for line in _of_component(key, runs)]
    return [f"{line} It changes nothing." for line in [*lines, *_of_command(typed, runs, settings)]]


def _of_component(key: str, runs: Sequence[Run]) -> Iterator[str]:
    """The line of a component's setting, unless one run reads it."""
    group, _, rest = key.partition(".")
    option, _, setting = rest.rpartition(".")
    why: dict[str, None] = {}
    seen: set[tuple[str, int]] = set()
    for run in runs:
        for address in run.addresses(group):
            of_group = run.science.get(group) or run.besides.get(group)
            if (address, id(of_group)) in seen or (option and option not in (option_of(address), run.name(address))):
                continue
            seen.add((address, id(of_group)))
            values = run.settings(address)
            if setting not in values:
                continue
            reader = reader_of(run.targets[address], setting, values)
            if reader is None:
                return
            why[f"{address}.{reader}={as_typed(values[reader]).strip(chr(39))}"] = None
    if why:
        yield f"{key} is not read with {' or '.join(why)}."


def _of_command(typed: Mapping[str, Sequence[Any]], runs: Sequence[Run], settings: Settings) -> Iterator[str]:
    """The lines of settings that belong to no component."""
    if settings.save_weights != "tasks":
        for key in ("save_weights_every", "save_moments", "assay_rows"):
            if key in typed:
                yield f"{key} is of save_weights=tasks, and is not read with save_weights={settings.save_weights}."
    if settings.save_video == "last" and (without := _without_film(runs)):
        yield f"save_video=last films games and MuJoCo's bodies, and is not read by {', '.join(without)}."
    if settings.tracking.backend == "store":
        yield from (f"{key} is not read with tracking=store." for key in OF_TRACKING if key in typed)
    if not any("capacity" in run.science["agent"] for run in runs):
        yield from (f"{key} is not read by agents without a replay memory." for key in OF_MEMORY if key in typed)
    by_class = {run.targets["benchmark"]: run for run in runs}
    have_bodies = (hasattr(run.component("benchmark"), "bodies") for run in by_class.values())
    if "launch.processes" in typed and not any(have_bodies):
        yield "launch.processes is not read by benchmarks without environments."
    apart = [run for run in runs if None in (run.science.get("stream_seed"), run.science.get("init_seed"))]
    if "seed" in typed and not apart:
        yield "seed is not read with both stream_seed and init_seed: runs that differ in seed alone are the same."


def _without_film(runs: Sequence[Run]) -> list[str]:
    """The benchmarks without an environment that shows pictures, by name."""
    from plasticity_lab.benchmarks.bodies.base import BodyBenchmark  # imports numpy: --help need not wait for it

    by_name = {run.science["benchmark"]["name"]: run.component("benchmark") for run in runs}
    return [
        name
        for name, benchmark in by_name.items()
        if not isinstance(benchmark, BodyBenchmark)
        or not any(body.has_pictures for body in benchmark.outline().by_name.values())
    ]
