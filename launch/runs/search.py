"""hyperparams=search: the words of a command as studies, one for each combination of choices."""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from launch.runs.desk import Misfit, merged
from launch.runs.files import Preset
from launch.runs.groups import Hyperparams
from launch.runs.options import Options
from launch.runs.precedence import combination
from launch.runs.requests import Request, is_search, requests_of
from launch.runs.resolve import Sources, runs_named
from launch.runs.values.place import Combination
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.identity import canonical_json
from plasticity_lab.records.measures import Measure
from plasticity_lab.records.searches.space import Range, Space, size_of
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run, group_of

SAME_FOR_ALL = ("benchmark", "perturbation", "diagnostics")
"""Groups with settings that cannot be searched: trials are compared on the same tasks and measurements."""


@dataclass(frozen=True)
class Study:
    """One combination of choices, with some settings to search.

    name: in words. measure: the search improves its mean over the seeds.
    """

    name: str
    space: Space
    measure: Measure
    request: Request
    options: Options

    @property
    def seeds(self) -> int:
        """How many runs a trial has."""
        return len(self.request.numbers)

    def runs_of(self, values: Mapping[str, Any]) -> list[Run]:
        """The runs of a trial, one for each seed.  values: setting → its value.

        Raises ConfigError for a wrong value, Misfit for values that do not go together.
        """
        request = replace(self.request, swept={**self.request.swept, **{key: [of] for key, of in values.items()}})
        sources = Sources(self.options, request.settings, request.numbers)
        left_out: dict[str, Misfit] = {}
        runs = list(runs_named(self.options, request, sources, left_out))
        if left_out:
            raise next(iter(left_out.values()))
        return runs

    @property
    def corners(self) -> list[dict[str, Any]]:
        """A few points of the space, its ends among them."""
        spaces = self.space.values()
        probes = [of.probes if isinstance(of, Range) else [of[0], of[-1], of[len(of) // 2]] for of in spaces]
        return [dict(zip(self.space, values, strict=True)) for values in zip(*probes, strict=True)]


@dataclass(frozen=True)
class Search:
    """The search that a command names.

    trials: how many of each study. rule: `hyperparams=search` with the command's settings.
    """

    studies: Sequence[Study]
    trials: int
    rule: Hyperparams
    settings: Settings
    notes: Sequence[str]

    @property
    def samples(self) -> list[Run]:
        """Some runs that the search would try, for commands that describe it and train nothing."""
        return merged(run for study in self.studies for run in study.runs_of(study.corners[0]))

    @cached_property
    def id(self) -> str:
        """Equal for commands with the same search. A command with more trials, or a larger batch, continues it."""
        return hashlib.sha256(canonical_json(self.about).encode()).hexdigest()[:12]

    @cached_property
    def about(self) -> dict[str, Any]:
        """All that decides which trials come next, in addition to the results of earlier ones.

        The runs at the first corner represent everything that is not searched.
        """
        return {
            "sampler": self.rule.sampler,
            "sampler_seed": self.rule.sampler_seed,
            "early_stopping": self.rule.early_stopping,
            "studies": [
                {
                    "name": study.name,
                    "metric": study.measure.name,
                    "better": study.measure.better,
                    "space": {key: _spelled(of) for key, of in study.space.items()},
                    "first": [run.id for run in study.runs_of(study.corners[0])],
                }
                for study in self.studies
            ],
        }


def search_of(options: Options, preset: Preset, typed: Sequence[str]) -> Search | None:
    """The search that a command names; None for a command that names its runs.  Raises ConfigError."""
    requests, notes = requests_of(options, preset, typed)
    if not any(is_search(options, request) for request in requests):
        return None
    studies, rules, left_out = [], [], dict[str, Misfit]()
    for request in requests:
        if len(request.choices["hyperparams"]) > 1 or not is_search(options, request):
            raise ConfigError("hyperparams=search cannot be combined: give it without other options of hyperparams.")
        for names in itertools.product(*request.choices.values()):
            asked = dict(zip(request.choices, names, strict=True))
            choices = {group: [name] for group, name in asked.items()}
            swept, adjusted = request.swept_by(asked), request.adjusted_by(asked)
            of_study = replace(request, choices=choices, swept=swept, adjusted=adjusted)
            try:
                study, rule = _study(options, of_study, requests)
                _check_fit(study)
            except Misfit as error:
                left_out.setdefault(str(error), error)
                continue
            studies.append(study)
            rules.append(rule)
    if not studies:
        raise next(iter(left_out.values()))
    notes = [*notes, *options.notes, *(f"Left out of the search: {sentence}" for sentence in left_out)]
    search = Search(studies, rules[0].trials or 0, rules[0], requests[0].settings, notes)
    _check(search)
    return search


def _study(options: Options, request: Request, requests: Sequence[Request]) -> tuple[Study, Hyperparams]:
    from launch.runs.values.selected import chosen  # SciPy: a mistake need not wait for it

    space: dict[str, Range | Sequence[Any]] = {}
    for key, values in request.swept.items():
        if isinstance(values[0], Range) or len(values) > 1:
            space[key] = values[0] if isinstance(values[0], Range) else values
    asked = {group: names[0] for group, names in request.choices.items()}
    if not space:
        here = f" for activation={asked['activation']}" if len(requests[0].choices["activation"]) > 1 else ""
        right = "'optimizer.lr=tag(log,interval(1e-5,1e-2))' or 'optimizer.lr=choice(0.01,0.001)'"
        raise ConfigError(f"hyperparams=search has nothing to search{here}; give a range or several values: {right}.")
    if wrong := [key for key in space if group_of(key) in SAME_FOR_ALL]:
        why = f"compared trials have the same {group_of(wrong[0])}"
        raise ConfigError(f"{wrong[0]} cannot be searched: {why}; give it one value, or a command for each.")
    parts, nodes, rule = combination(options, {**asked, "experiment": options.experiment}, request.adjusted)
    several = {group for group, names in requests[0].choices.items() if len(names) > 1 and group in parts}
    told = dict.fromkeys(["activation", "benchmark", *sorted(several)])
    study = Study(
        " · ".join(parts[group].name if group in parts else asked[group] for group in told),
        space,
        chosen(Combination(rule, parts, nodes, [])),
        request,
        options,
    )
    return study, rule


def _check_fit(study: Study) -> None:
    """Raises Misfit if all corners of a study are refused: its choices do not go together."""
    refusals = []
    for values in study.corners:
        try:
            study.runs_of(values)
        except Misfit as error:
            refusals.append(error)
        else:
            return
    raise refusals[0]


def _check(search: Search) -> None:
    """Raises ConfigError for a range with values that a component refuses, and for settings that no search supports."""
    if search.settings.rerun:
        why = "rerun=true trains finished runs again, and a search chooses its next trials by them"
        raise ConfigError(f"{why}; give it without hyperparams=search, and a trial's values instead of the ranges.")
    if search.settings.plan_only:
        raise ConfigError("plan_only=true plans known runs, and the runs of a search depend on each other.")
    for study in search.studies:
        for values in study.corners:
            study.runs_of(values)
        size = size_of(study.space)
        if size is not None and search.trials > size:
            why = f"hyperparams.trials is {search.trials}, and the searched settings have {size} combinations"
            raise ConfigError(f"{why}; give hyperparams.trials={size}, or wider ranges.")


def _spelled(of: Range | Sequence[Any]) -> str | list[Any]:
    return str(of) if isinstance(of, Range) else list(of)
