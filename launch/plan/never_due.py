"""What is said of interventions that runs are too short for: those whose first time never comes."""

from collections.abc import Iterable, Iterator

from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.run import Run


def never_due(runs: Iterable[tuple[Run, int]]) -> list[str]:
    """A line for each intervention that comes after the end of runs.  runs: with their updates."""
    return list(dict.fromkeys(line for run, updates in runs for line in _of(run, updates)))


def _of(run: Run, updates: int) -> Iterator[str]:
    intervention, benchmark = run.component("intervention", Intervention), run.name("benchmark")
    for key, first in intervention.first_after().items():
        if first > updates:
            yield (
                f"intervention: intervention.{key}={first:,} comes after the {updates:,} updates of a run of "
                f"{benchmark}, so that nothing is done there; choose {updates:,} or less."
            )
    if intervention.between_tasks and run.science["benchmark"]["tasks"] == 1:
        yield (
            f"intervention: {run.name('intervention')} begins when a first task has ended, and a run of "
            f"{benchmark} with benchmark.tasks=1 ends with it, so that nothing is done there; choose more tasks."
        )
