"""Rules that stop runs of the next batch early: the median of runs of earlier batches, at the same tasks.

The median stopping rule (Golovin et al., "Google Vizier", KDD 2017, section 3.2.2), in the form of Optuna's
MedianPruner: a run is stopped if it is worse than the median of the trials that ended. Ours compares with earlier
batches alone, and with runs of the same seed, so that a rule is known before its run begins.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from launch.runs.search import Study
from plasticity_lab.records.record import read_metrics
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.searches.batches import Results, Trial
from plasticity_lab.records.settings import StopRule
from plasticity_lab.records.stopping import so_far
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of
from plasticity_lab.run import Run

PARTS = 10
"""A run is compared after each of its parts but the last; a part is a tenth of its tasks, or one task."""
FEWEST = 5
"""The least number of earlier runs for a median, as in Optuna (`n_startup_trials`)."""


class Medians:
    """The medians of one search; each run is read once."""

    def __init__(self, store: Store, results: Results) -> None:
        self._store, self._results = store, results
        self._courses: dict[str, Mapping[int, float]] = {}

    def rules(self, study: Study, before: Sequence[Trial], trials: Sequence[Trial]) -> dict[str, StopRule]:
        """Run → its rule.  before: the trials in earlier batches of the study. trials: the next batch's."""
        if not study.measure.better:
            return {}
        of_seed = [self._rule(study, before, seed) for seed in range(study.seeds)]
        # A refused trial has no runs.
        pairs = [pair for trial in trials for pair in zip(trial.runs, of_seed, strict=False)]
        return {run: rule for run, rule in pairs if rule is not None}

    def _rule(self, study: Study, before: Sequence[Trial], seed: int) -> StopRule | None:
        done = [trial for trial in before if trial.runs and self._results.status(trial.runs[seed]) == "done"]
        courses = {trial.runs[seed]: self._course(study, trial, seed) for trial in done}
        tasks = sorted({task for course in courses.values() for task in course})
        reached = {task: [course[task] for course in courses.values() if task in course] for task in tasks}
        medians = {task: float(np.median(values)) for task, values in reached.items() if len(values) >= FEWEST}
        if not medians or not study.measure.better:
            return None
        return StopRule(
            metric=study.measure.name,
            better=study.measure.better,
            tasks=list(medians),
            values=list(medians.values()),
        )

    def _course(self, study: Study, trial: Trial, seed: int) -> Mapping[int, float]:
        """Position of a task → the metric of a finished run after it."""
        run = trial.runs[seed]
        if run not in self._courses:
            self._courses[run] = self._read(study.runs_of(trial.values)[seed], study.measure.name)
        return self._courses[run]

    def _read(self, run: Run, metric: str) -> Mapping[int, float]:
        try:
            table = read_metrics(self._store, run.id)
        except CorruptRecord:
            table = None  # it is trained again by its own command
        if table is None:
            return {}
        tasks = sum(kind == "task" for kind in table["kind"].to_pylist())
        looked = parts(tasks)
        values = so_far(measures_of(run.targets, run.science).summarise, table, metric, looked)
        return {task: value for task, value in zip(looked, values, strict=True) if value is not None}


def parts(tasks: int) -> list[int]:
    """The positions of the tasks after which a run of `tasks` tasks is compared."""
    ends = (-(-tasks * part // PARTS) for part in range(1, PARTS))
    return [end - 1 for end in dict.fromkeys(ends) if 0 < end < tasks]
