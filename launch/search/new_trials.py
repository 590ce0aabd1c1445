"""The trials of the next batch: proposals that repeat no trial, and last of all untried combinations."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from launch.runs.search import Study
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.searches.batches import Trial
from plasticity_lab.records.searches.space import in_random_order

ASKS = 20
"""Proposals for each trial that is wanted. A sampler that has seen the best values repeats them."""
MOST = 10_000
"""Combinations that are looked at when the sampler repeats itself. Several may be the same function."""


def new_trials(
    study: Study, at: int, before: Sequence[Trial], count: int, proposed: Iterator[Mapping[str, Any]], seed: str
) -> list[Trial]:
    """At most `count` trials with other runs than those before; fewer if no more are found.

    at: the number of the study in its search. before: its earlier trials. proposed: values by the sampler, without
    end. seed: of the batch; it orders the combinations of a finite space, taken when the sampler repeats itself.
    """
    if count < 1:
        return []
    keys = {trial.key for trial in before}
    looked_at = {_spelled(trial.values) for trial in before}
    found: list[Trial] = []

    def take(candidates: Iterable[Mapping[str, Any]]) -> None:
        for values in candidates:
            if (spelled := _spelled(values)) not in looked_at:
                looked_at.add(spelled)
                trial = _trial(study, at, values)
                if trial.key not in keys:
                    keys.add(trial.key)
                    found.append(trial)
            if len(found) == count:
                return

    take(itertools.islice(proposed, ASKS * count))
    if len(found) < count:
        take(itertools.islice(in_random_order(study.space, seed), MOST))
    return found


def _spelled(values: Mapping[str, Any]) -> str:
    return repr(sorted(values.items()))  # repr distinguishes 1, 1.0 and true


def _trial(study: Study, at: int, values: Mapping[str, Any]) -> Trial:
    try:
        return Trial(at, values, [run.id for run in study.runs_of(values)])
    except ConfigError as error:
        return Trial(at, values, [], refused=str(error))
