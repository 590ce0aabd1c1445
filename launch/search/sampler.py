"""Which values are tried next: Optuna's samplers, asked and told.

Nothing of a sampler is kept. Each batch has a sampler of its own, whose random numbers follow from the search's seed,
the study and the number of the batch, and which is told all trials before it: so the same command proposes the same.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Better
from plasticity_lab.records.searches.batches import Told
from plasticity_lab.records.searches.space import Range, Space
from plasticity_lab.records.searches.studies import distribution_of, ended_trial

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


def ask(space: Space, told: Sequence[Told], better: Better, sampler: str, seed: str) -> Iterator[dict[str, Any]]:
    """The values of the next trials: setting → value. There is no end of them, and they may repeat each other.

    told: all trials before, in their order. seed: of the batch.  Raises ConfigError where Optuna is not installed.
    """
    try:
        import optuna  # an extra, and a slow one
    except ModuleNotFoundError as error:
        raise ConfigError(
            "hyperparams=search needs Optuna, which is not installed here: pip install -e '.[search]' in the clone."
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # Choices by number: values can be lists, or equal each other as 1 and true do.
    distributions = {key: distribution_of(of if isinstance(of, Range) else range(len(of))) for key, of in space.items()}
    study = optuna.create_study(
        sampler=_sampler(sampler, seed), direction="minimize" if better == "less" else "maximize"
    )
    for each in told:
        params = {key: _told(space[key], of) for key, of in each.values.items()}
        study.add_trial(ended_trial(each, params, distributions))
    while True:
        params = study.ask(distributions).params
        yield {key: _tried(space[key], of) for key, of in params.items()}


def _sampler(name: str, seed: str) -> "BaseSampler":
    from optuna.samplers import RandomSampler, TPESampler

    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4])
    if name == "random":
        return RandomSampler(seed=number)
    # Trials of one batch do not know of each other's results: what is proposed already is taken to be bad.
    return TPESampler(seed=number, multivariate=True, constant_liar=True)


def _tried(of: Range | Sequence[Any], proposed: Any) -> Any:
    return of.rounded(proposed) if isinstance(of, Range) else of[proposed]


def _told(of: Range | Sequence[Any], tried: Any) -> Any:
    """The other way round."""
    if isinstance(of, Range):
        return tried
    return next(at for at, value in enumerate(of) if repr(value) == repr(tried))  # repr distinguishes 1, 1.0 and true
