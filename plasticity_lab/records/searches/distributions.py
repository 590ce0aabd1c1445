"""Settings and trials as Optuna's objects. Optuna is an extra: callers see that it is installed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plasticity_lab.records.searches.results import Told
from plasticity_lab.records.searches.space import Range

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


def distribution_of(of: Range | Sequence[Any]) -> "BaseDistribution":
    """The distribution of a setting.  of: a range, or values that Optuna takes as choices."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(of, Range):
        return CategoricalDistribution(list(of))
    if of.whole:
        return IntDistribution(int(of.low), int(of.high), log=of.log)
    return FloatDistribution(of.low, of.high, log=of.log)


def ended_trial(
    told: Told,
    params: Mapping[str, Any],
    distributions: Mapping[str, "BaseDistribution"],
    about: Mapping[str, Any] | None = None,
) -> "FrozenTrial":
    """A trial that has ended: complete, pruned or failed.  about: its user attributes."""
    from optuna.trial import TrialState, create_trial

    states = {"done": TrialState.COMPLETE, "stopped": TrialState.PRUNED, "failed": TrialState.FAIL}
    return create_trial(
        state=states[told.state],
        params=dict(params),
        distributions=dict(distributions),
        value=told.value if told.state == "done" else None,
        # One that was stopped without a value counts as worse than all that have one.
        intermediate_values={told.step: told.value} if told.step is not None and told.value is not None else {},
        user_attrs=dict(about or {}),
    )
