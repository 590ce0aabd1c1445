"""Lines about runs that cannot do the work that was asked for.

A run may be too short: its agent never learns, or its intervention never acts. Or its diagnostics find nothing to
measure in its network.
"""

from collections.abc import Callable, Iterable, Iterator

from plasticity_lab.agents.cost import Cost
from plasticity_lab.diagnostics.chosen import names_of
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.run import Run


def too_short(runs: Iterable[tuple[Run, int]]) -> list[str]:
    """A line for each part of a run's work that would come after its end.  runs: with their updates."""
    return list(dict.fromkeys(line for run, updates in runs for line in _of(run, updates)))


def unseen(runs: Iterable[Run], cost_of: Callable[[Run], Cost]) -> list[str]:
    """A line for each network that gives a run's diagnostics nothing to measure."""
    asked = ((run, names_of(run)) for run in runs)
    lines = (
        f"diagnostics: {' and '.join(names)} finds nothing to measure in network={run.name('network')} with "
        f"agent={run.name('agent')}, so that these runs have no column of it."
        for run, names in asked
        if names and len(cost_of(run).left_out) == len(names)
    )
    return list(dict.fromkeys(lines))


def _of(run: Run, updates: int) -> Iterator[str]:
    intervention, benchmark = run.component("intervention", Intervention), run.name("benchmark")
    if not updates:
        waits = run.science["agent"].get("min_history")
        shorter = "" if waits is None else f", or agent.min_history below {waits:,}"
        yield (
            f"agent: {run.name('agent')} makes no update in a run of {benchmark}, so that nothing is learned; choose a "
            f"longer run{shorter}."
        )
        return
    for key, first in intervention.first_after().items():
        if first > updates:
            yield (
                f"intervention: intervention.{key}={first:,} comes after the {updates:,} updates of a run of "
                f"{benchmark}, so that nothing is done there; choose {updates:,} or less."
            )
    if intervention.between_tasks and run.science["benchmark"].get("tasks") == 1:
        yield (
            f"intervention: {run.name('intervention')} begins when a first task has ended, and a run of "
            f"{benchmark} with benchmark.tasks=1 ends with it, so that nothing is done there; choose more tasks."
        )
