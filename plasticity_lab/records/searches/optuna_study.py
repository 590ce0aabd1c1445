"""A study of a search as an Optuna study, which Optuna's plots and optuna-dashboard read."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plasticity_lab.records.searches.batches import Trial
from plasticity_lab.records.searches.distributions import distribution_of, ended_trial
from plasticity_lab.records.searches.results import Results
from plasticity_lab.records.searches.space import Range
from plasticity_lab.records.searches.studies import StoredStudy, choices_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


def optuna_study(study: StoredStudy, results: Results, storage: str | None = None) -> "Study":
    """The study with all of its trials: complete, pruned, failed, or running if a run of theirs has not ended.

    storage: an address as Optuna writes it (sqlite:///FILE); None: in memory. Optuna must be installed.
    """
    import optuna  # an extra, and a slow one

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    made = optuna.create_study(
        storage=storage,
        study_name=f"{study.search}/{study.number}: {study.name}",
        direction="minimize" if study.better == "less" else "maximize",
    )
    for name, value in {"search": study.search, "study": study.name, "metric": study.metric}.items():
        made.set_user_attr(name, value)
    choices = {name: choices_of(of) for name, of in study.space.items() if not isinstance(of, Range)}
    distributions = {
        name: distribution_of(list(choices[name].values()) if name in choices else of)
        for name, of in study.space.items()
    }
    for trial in study.trials:
        params = {name: choices[name][repr(of)] if name in choices else of for name, of in trial.values.items()}
        made.add_trial(_trial(trial, study.metric, results, params, distributions))
    return made


def _trial(
    trial: Trial,
    metric: str,
    results: Results,
    params: Mapping[str, Any],
    distributions: Mapping[str, "BaseDistribution"],
) -> "FrozenTrial":
    from optuna.trial import TrialState, create_trial

    about = {"runs": list(trial.runs), **({} if trial.refused is None else {"refused": trial.refused})}
    if any(results.status(run) is None for run in trial.runs):
        return create_trial(
            state=TrialState.RUNNING, params=dict(params), distributions=dict(distributions), user_attrs=about
        )
    return ended_trial(results.told(trial, metric), params, distributions, about)
