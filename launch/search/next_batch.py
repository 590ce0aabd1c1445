"""The choice of the next values: Optuna's samplers propose trials; repeated ones are dropped, untried ones added.

No state of a sampler is stored. Each batch makes a new sampler, which gets all trials before it. Its random numbers
follow from the search's seed, the study and the number of the batch: the same command proposes the same trials.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from launch.runs.search import Study
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Better
from plasticity_lab.records.searches.batches import Told, Trial
from plasticity_lab.records.searches.space import Range, Space, in_random_order
from plasticity_lab.records.searches.studies import distribution_of, optuna_trial

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

ASKS = 20
"""The most proposals per wanted trial. A sampler that has seen the best values repeats them."""
MOST = 10_000
"""The most combinations to try if the sampler repeats itself. Several may be the same function."""


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
        yield {key: _from_optuna(space[key], value) for key, value in params.items()}


def _sampler(name: str, seed: str) -> "BaseSampler":
    from optuna.samplers import RandomSampler, TPESampler

    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4])
    if name == "random":
        return RandomSampler(seed=number)
    # Trials of one batch do not know each other's results: a proposed value counts as bad.
    return TPESampler(seed=number, multivariate=True, constant_liar=True)


def _from_optuna(values: Range | Sequence[Any], proposed: Any) -> Any:
    return values.rounded(proposed) if isinstance(values, Range) else values[proposed]


def _to_optuna(values: Range | Sequence[Any], tried: Any) -> Any:
    if isinstance(values, Range):
        return tried
    return [repr(value) for value in values].index(repr(tried))  # repr distinguishes 1, 1.0 and true
