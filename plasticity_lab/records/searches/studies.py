"""The studies of a store's searches, as their batches describe them, and as Optuna studies.

A search has a study for each combination of choices. Optuna's plots and optuna-dashboard read Optuna studies. Optuna is
an extra: callers check that it is installed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import DamagedFile, fault_of_fields
from plasticity_lab.records.files import names
from plasticity_lab.records.measures import Better
from plasticity_lab.records.searches.batches import ADVICE, Results, Told, Trial, batches_of
from plasticity_lab.records.searches.space import LOG, Range, Space
from plasticity_lab.records.store import Store
from plasticity_lab.stored_files import ID

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

_FIELDS = {"name": str, "metric": str, "better": str, "space": dict}
_NUMBER = r"[-+.\deE]+"
_RANGE = re.compile(rf"(tag\({LOG},)?(int\()?interval\(({_NUMBER}),({_NUMBER})\)\)?\)?")


@dataclass(frozen=True)
class StoredStudy:
    """One study of a search.

    number: from 0, within the search. metric: the value of a summary that compares trials. better: its
    direction. trials: in the order of their proposals.
    """

    search: str
    number: int
    name: str
    metric: str
    better: Better
    space: Space
    trials: Sequence[Trial]


def searches_of(store: Store) -> list[str]:
    """The ids of a store's searches, sorted; none if it has no search.  Raises StoreError."""
    ids = [name for name in names(store.search_folder("")) if re.fullmatch(ID, name)]
    return [name for name in ids if store.batch(name, 0).exists()]


def studies_of(store: Store, search: str) -> list[StoredStudy]:
    """The studies of a search.  Raises StoreError if the search does not exist; DamagedFile."""
    batches = batches_of(store, search)
    path = store.batch(search, 0)
    if not batches:
        raise StoreError(f"There is no search {search} in {store.root}.")
    described = batches[0].about.get("studies")
    if not isinstance(described, list):
        raise DamagedFile(path, "does not say which studies it has", ADVICE)
    studies = []
    for number, about in enumerate(described):
        if fault := fault_of_fields(about, _FIELDS):
            raise DamagedFile(path, f"describes a study that {fault}", ADVICE)
        trials = [trial for batch in batches for trial in batch.trials if trial.study == number]
        try:
            if any(trial.values.keys() != about["space"].keys() for trial in trials):
                raise ValueError
            space = {
                name: _read(words, [trial.values[name] for trial in trials]) for name, words in about["space"].items()
            }
        except ValueError:
            why = f"describes other settings than the trials of its study {number} have"
            raise DamagedFile(path, why, ADVICE) from None
        studies.append(StoredStudy(search, number, about["name"], about["metric"], about["better"], space, trials))
    return studies


def _read(words: Any, values: Sequence[Any]) -> Range | Sequence[Any]:
    """The range or the values that a batch describes.

    A range is widened to the tried values just outside of it: batches describe its ends with six digits.  Raises
    ValueError for words that describe neither, and for values that are not numbers of a range.
    """
    if isinstance(words, list):
        known = {repr(value) for value in words}
        if not words or any(repr(value) not in known for value in values):
            raise ValueError
        return words
    match = _RANGE.fullmatch(words) if isinstance(words, str) else None
    if match is None or any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise ValueError
    ends, log = (float(match[3]), float(match[4])), bool(match[1])
    low, high = min(*ends, *values), max(*ends, *values)
    if not (isfinite(low) and isfinite(high)) or ends[0] > ends[1] or (log and low <= 0):
        raise ValueError
    return Range(low, high, log, bool(match[2]))


def optuna_study(study: StoredStudy, results: Results, storage: str | None = None) -> "Study":
    """The Optuna study with all trials: complete, pruned, failed, or running if one of their runs has not ended.

    storage: an address as Optuna writes it (sqlite:///FILE); None: in memory.
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
        about = {"runs": list(trial.runs), **({} if trial.refused is None else {"refused": trial.refused})}
        is_running = any(results.status(run) is None for run in trial.runs)
        result = None if is_running else results.told(trial, study.metric)
        made.add_trial(optuna_trial(result, params, distributions, about))
    return made


def optuna_trial(
    result: Told | None,
    params: Mapping[str, Any],
    distributions: Mapping[str, "BaseDistribution"],
    about: Mapping[str, Any] | None = None,
) -> "FrozenTrial":
    """A trial: complete, pruned or failed, or running if it has no result.  about: its user attributes."""
    from optuna.trial import TrialState, create_trial

    states = {"done": TrialState.COMPLETE, "stopped": TrialState.PRUNED, "failed": TrialState.FAIL}
    value, step = (None, None) if result is None else (result.value, result.step)
    return create_trial(
        state=TrialState.RUNNING if result is None else states[result.state],
        params=dict(params),
        distributions=dict(distributions),
        value=value if result is not None and result.state == "done" else None,
        # A trial that was stopped without a value counts as worse than all trials with one.
        intermediate_values={step: value} if step is not None and value is not None else {},
        user_attrs=dict(about or {}),
    )


def distribution_of(of: Range | Sequence[Any]) -> "BaseDistribution":
    """The distribution of a setting.  of: a range, or values that Optuna takes as choices."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(of, Range):
        return CategoricalDistribution(list(of))
    if of.whole:
        return IntDistribution(int(of.low), int(of.high), log=of.log)
    return FloatDistribution(of.low, of.high, log=of.log)


def choices_of(values: Sequence[Any]) -> Mapping[str, Any]:
    """The values of a setting as Optuna's choices: `repr` of a value → the value.

    It is the value's JSON if Optuna takes no values of its type, or would take two of them for one.
    """
    plain = all(isinstance(value, str | float | int | bool | None) for value in values)
    equal = len({repr(value) for value in values}) > len(set(values)) if plain else True
    return {repr(value): json.dumps(value, ensure_ascii=False) if equal else value for value in values}
