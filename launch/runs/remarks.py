"""What is said once of the runs of a command, before anything is trained: what is done, and what may not be meant."""

from collections import Counter
from collections.abc import Iterator, Sequence

from launch.runs.classes import remarks_of
from plasticity_lab.records.cautions import cautions
from plasticity_lab.run import Run

USUAL_NOOPS = 30
"""The most frames without an action that begin an Atari episode: Mnih et al. 2015, and Dopamine's wrappers since."""
WHOLE = "full"
"""The schedule that leaves a benchmark's tasks as they are."""


def remarks(runs: Sequence[Run]) -> list[str]:
    """A line for each."""
    found = dict.fromkeys(line for run in runs for line in (*_of_settings(run), *_of_perturbation(run)))
    return [*same_functions(runs), *_cautions(runs), *found]


def same_functions(runs: Sequence[Run]) -> list[str]:
    """A line that says how many runs need not be trained, since other settings name the same function; else none."""
    saved = Counter[str]()
    for run in runs:
        saved[run.science["activation"]["name"]] += sum("settings" in asked for asked in run.asked_as)
    names = [f"{name} {count:,}" for name, count in saved.items() if count]
    if not names:
        return []
    return [
        f"runs: {len(runs):,}, and {saved.total():,} saved, whose settings are the same function as those of another "
        f"({', '.join(names)})."
    ]


def _cautions(runs: Sequence[Run]) -> list[str]:
    """What the runs measure besides what they seem to, with the benchmarks that do."""
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        benchmark = run.science["benchmark"]
        for caution in cautions(benchmark, run.science["agent"]):
            found.setdefault(caution.said, {})[benchmark["name"]] = None
    return [f"benchmark: {', '.join(names)} {said}" for said, names in found.items()]


def _of_settings(run: Run) -> Iterator[str]:
    """Settings of a run that come to less than they seem to ask for."""
    benchmark, agent = run.science["benchmark"], run.science["agent"]
    if (noops := benchmark.get("noops", 0)) > USUAL_NOOPS:
        yield (
            f"benchmark: benchmark.noops={noops} begins an episode with up to {noops:,} frames of no action. A game "
            f"that ends among them begins again, as if they had not been. Published protocols have {USUAL_NOOPS}."
        )
    if not any(asked.get("schedule") == WHOLE for asked in run.asked_as):
        return
    bodies, tasks = benchmark.get("bodies") or (), benchmark.get("tasks", 0)
    if unmet := [body for body in bodies[tasks:] if body not in bodies[:tasks]]:
        yield (
            f"benchmark: benchmark.tasks={tasks} ends before {' and '.join(dict.fromkeys(unmet))} of "
            f"benchmark.bodies={_listed(bodies)}; benchmark.tasks={len(bodies)} is one cycle."
        )
    if twice := [body for body, times in Counter(bodies).items() if times > 1]:
        yield f"benchmark: benchmark.bodies={_listed(bodies)} has {' and '.join(twice)} more than once in a cycle."
    memory, per_task = agent.get("memory"), agent.get("per_task")
    if memory is not None and per_task is not None and per_task > memory:
        yield f"agent: agent.per_task={per_task} is more than agent.memory={memory}, which is the most that is kept."


def _of_perturbation(run: Run) -> Sequence[str]:
    """What a perturbation says of the benchmark's tasks."""
    if run.science.get("perturbation") is None:
        return ()
    perturbation, benchmark = ((run.targets[group], run.science[group]) for group in ("perturbation", "benchmark"))
    return remarks_of(perturbation, benchmark)


def _listed(names: Sequence[str]) -> str:
    return f"[{','.join(names)}]"
