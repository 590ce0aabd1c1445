"""What is said of interventions that runs are too short for: those whose first time never comes."""

from collections.abc import Iterable

from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.run import Run


def never_due(runs: Iterable[tuple[Run, int]]) -> list[str]:
    """A line for each setting that puts an intervention off beyond the end of runs.  runs: with their updates."""
    found = {
        f"intervention: intervention.{key}={first:,} comes after the {updates:,} updates of a run of "
        f"{run.name('benchmark')}, so that nothing is done there; choose {updates:,} or less.": None
        for run, updates in runs
        for key, first in run.component("intervention", Intervention).first_after().items()
        if first > updates
    }
    return list(found)
