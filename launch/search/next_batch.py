"""The next batch of a search: its values, and the rules that stop its runs early.

Optuna's samplers propose trials; repeated ones are dropped, untried ones added. No state of a sampler is stored. Each
batch makes a new sampler, which gets all trials before it. Its random numbers follow from the search's seed, the study
and the number of the batch: the same command proposes the same trials.

Early stopping is the median stopping rule (Golovin et al., "Google Vizier", KDD 2017, section 3.2.2), in the form of
Optuna's MedianPruner: a run is stopped if it is worse than the median of the trials that ended. Ours compares with
earlier batches alone, and with runs of the same seed, so that a rule is known before its run begins.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from launch.runs.search import Study
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Better
from plasticity_lab.records.record import read_metrics
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.searches.batches import Results, Told, Trial
from plasticity_lab.records.searches.space import Range, Space, in_random_order
from plasticity_lab.records.searches.studies import distribution_of, optuna_trial
from plasticity_lab.records.settings import StopRule
from plasticity_lab.records.stopping import so_far
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of
from plasticity_lab.run import Run

ASKS = 20
"""The most proposals per wanted trial. A sampler that has seen the best values repeats them."""
MOST = 10_000
"""The most combinations to try if the sampler repeats itself. Several may be the same function."""
PARTS = 10
"""A run is compared after each of its parts but the last; a part is a tenth of its tasks, or one task."""
FEWEST = 5
"""The least number of earlier runs for a median, as in Optuna (`n_startup_trials`)."""


def new_trials(
    study: Study, at: int, before: Sequence[Trial], count: int, proposed: Iterator[Mapping[str, Any]], seed: str
) -> list[Trial]:
    """At most `count` new trials, with other runs than earlier trials; fewer if no more are found.

    at: the number of the study in its search. before: its earlier trials. proposed: values by the sampler, without end.
    seed: the batch's; it shuffles the combinations of a finite space, used if the sampler repeats itself.
    """
    if count < 1:
        return []
    keys = {trial.key for trial in before}
    known = {_spelled(trial.values) for trial in before}
    trials: list[Trial] = []

    def take(candidates: Iterable[Mapping[str, Any]]) -> None:
        for values in candidates:
            if (spelled := _spelled(values)) not in known:
                known.add(spelled)
                trial = _trial(study, at, values)
                if trial.key not in keys:
                    keys.add(trial.key)
                    trials.append(trial)
            if len(trials) == count:
                return

    take(itertools.islice(proposed, ASKS * count))
    if len(trials) < count:
        take(itertools.islice(in_random_order(study.space, seed), MOST))
    return trials


def _spelled(values: Mapping[str, Any]) -> str:
    return repr(sorted(values.items()))  # repr distinguishes 1, 1.0 and true


def _trial(study: Study, at: int, values: Mapping[str, Any]) -> Trial:
    try:
        return Trial(at, values, [run.id for run in study.runs_of(values)])
    except ConfigError as error:
        return Trial(at, values, [], refused=str(error))


def ask(space: Space, told: Sequence[Told], better: Better, sampler: str, seed: str) -> Iterator[dict[str, Any]]:
    """The values of the next trials, setting → value, without end; they may repeat each other.

    told: all trials before, oldest first. seed: the batch's. Raises ConfigError if Optuna is not installed.
    """
    try:
        import optuna  # an extra, and a slow one
    except ModuleNotFoundError as error:
        install = "pip install -e '.[search]' in the clone installs it"
        raise ConfigError(f"hyperparams=search needs Optuna, and it is missing; {install}.") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # Choices by number: values can be lists, or equal each other as 1 and true do.
    numbered = {key: values if isinstance(values, Range) else range(len(values)) for key, values in space.items()}
    distributions = {key: distribution_of(values) for key, values in numbered.items()}
    direction = "minimize" if better == "less" else "maximize"
    study = optuna.create_study(sampler=_sampler(sampler, seed), direction=direction)
    for trial in told:
        params = {key: _to_optuna(space[key], value) for key, value in trial.values.items()}
        study.add_trial(optuna_trial(trial, params, distributions))
    while True:
        params = study.ask(distributions).params
        chosen = ((key, space[key], value) for key, value in params.items())
        yield {key: of.rounded(value) if isinstance(of, Range) else of[value] for key, of, value in chosen}


def _sampler(name: str, seed: str) -> Any:
    from optuna.samplers import RandomSampler, TPESampler

    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4])
    if name == "random":
        return RandomSampler(seed=number)
    # Trials of one batch do not know each other's results: a proposed value counts as bad.
    return TPESampler(seed=number, multivariate=True, constant_liar=True)


def _to_optuna(values: Range | Sequence[Any], tried: Any) -> Any:
    if isinstance(values, Range):
        return tried
    return [repr(value) for value in values].index(repr(tried))  # repr distinguishes 1, 1.0 and true


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
