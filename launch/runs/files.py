"""An experiment: the words of its file, and how they change for another benchmark.

    for_benchmark:
      games:
        network: {impala: small_impala} # this value gives way to that one, in params and in arms
        optimizer.lr: 5e-4              # this value, whatever the experiment says of it
        benchmark.sticky: null          # no word about it

If these lines are below hydra.sweeper, `experiment=NAME benchmark=games` names runs on the embedded games. The command
`experiment=NAME_games` names the same runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any

from launch.runs.files import benchmarks_in
from launch.runs.words import spelled
from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Preset:
    """The words of an experiment, and the words that each of its arms adds or replaces.

    Arms differ in more than one setting, or in settings that others do not have, so no product of values names them
    all. Without arms: the words alone.
    """

    words: Sequence[str] = ()
    arms: Sequence[Sequence[str]] = ()


def preset_of(sweeper: Mapping[str, Any], benchmark: str | None) -> Preset:
    """The words that an experiment has for a benchmark.

    sweeper: the experiment's part below hydra.sweeper, composed. benchmark: as typed; None if the command names none.
    Raises ConfigError for a value without its counterpart.
    """
    params, arms = dict(sweeper["params"]), [dict(arm) for arm in sweeper["arms"]]
    if benchmark in sweeper["for_benchmark"].keys():
        changes = sweeper["for_benchmark"][benchmark]
        fixed = {key: value for key, value in changes.items() if value is not None and not isinstance(value, Mapping)}
        params = {**_changed(params, changes), "benchmark": benchmark, **fixed}
        arms = [_changed(arm, changes) for arm in arms]
    return Preset(_as_words(params), [_as_words(arm) for arm in arms])


def without_benchmark(name: str, folders: Sequence[Traversable]) -> tuple[str, str | None]:
    """The file of an experiment, and the benchmark at the end of the name, as in NAME_games; None if it ends with none.

    folders: the folders of options. Raises ConfigError for a file that is no experiment.
    """
    stem, _, benchmark = name.rpartition("_")
    if benchmarks_in(name, folders) is None and benchmark in (benchmarks_in(stem, folders) or ()):
        return stem, benchmark
    return name, None


def _changed(words: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The words with values of the other benchmark, and without the words that `changes` sets once for all arms."""
    kept = {key: value for key, value in words.items() if isinstance(changes.get(key, {}), Mapping)}
    return {key: _counterpart(key, value, changes[key]) if key in changes else value for key, value in kept.items()}


def _counterpart(key: str, values: Any, change: Mapping[Any, Any]) -> str:
    """The counterparts of one value, or of several values separated by commas.  change: value → its counterpart."""
    counterparts = {str(value): str(other) for value, other in change.items()}
    missing = [value for value in str(values).split(",") if value not in counterparts]
    if missing:
        known = f"{key}: {{{', '.join(counterparts)}}}"
        raise ConfigError(f"for_benchmark of the experiment lacks {key}={missing[0]}; add it to {known}.")
    return ",".join(counterparts[value] for value in str(values).split(","))


def _as_words(params: Mapping[str, Any]) -> list[str]:
    """Keys and values as on the command line; a string is written as it would be there."""
    return [f"{key}={value if isinstance(value, str) else spelled(value)}" for key, value in params.items()]
