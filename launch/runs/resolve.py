"""From the words of a command to its runs."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from launch.runs.answers import answer
from launch.runs.arguments import check_count, parse
from launch.runs.classes import data_subfolder_of
from launch.runs.desk import Desk, Misfit, Part, merged, runs_of
from launch.runs.files import Preset
from launch.runs.groups import COMPONENTS, DIAGNOSTICS
from launch.runs.options import Option, Options
from launch.runs.precedence import combination, filled, places_of
from launch.runs.remarks import remarks, unread
from launch.runs.requests import Request, requests_of
from launch.runs.settings import Numbers
from launch.runs.values.place import Combination, FoundValues, Source, put
from launch.wording import said_while
from plasticity_lab import component
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.searches.space import Range
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of
from plasticity_lab.run import Run, group_of


@dataclass(frozen=True)
class Resolved:
    """The runs that a command asks for, the lines to print once, and the settings for computing the runs."""

    runs: list[Run]
    notes: list[str]
    settings: Settings


@said_while("Reading the command's choices")
def resolved(options: Options, preset: Preset, typed: Sequence[str]) -> Resolved:
    """The runs that an experiment's words and the typed words name together; a typed word replaces the experiment's.

    Raises ConfigError in a sentence that names the first mistake; nothing has been queued or written then.
    """
    requests, repeated = requests_of(options, preset, typed)
    for request in requests:
        _check_no_range(request)
    settings = requests[0].settings
    sources = Sources(options, settings, requests[0].numbers)
    left_out: dict[str, Misfit] = {}
    runs = merged(run for request in requests for run in runs_named(options, request, sources, left_out))
    if not runs and left_out:
        raise next(iter(left_out.values()))
    without = [f"Left out of the sweep: {sentence}" for sentence in left_out]
    notes = [*repeated, *options.notes, *sources.notes(), *without, *remarks(runs)]
    return Resolved(runs, notes + unread(parse(typed, options.vocabulary).values, runs, settings), settings)


def _check_no_range(request: Request) -> None:
    """Raises ConfigError for a range, which is no list of values."""
    ranges = [key for key, values in request.swept.items() if any(isinstance(value, Range) for value in values)]
    if ranges:
        right = f"Several values are written {ranges[0]}=one,other."
        raise ConfigError(f"{ranges[0]} is given a range, which only hyperparams=search takes. {right}")


class Sources:
    """All choices of `hyperparams` that one command names, each for all its places.

    A source is made, and its module imported, when the first place needs it: most commands need none.
    """

    def __init__(self, options: Options, command: Settings, numbers: Sequence[Numbers]) -> None:
        self._options, self._command, self._numbers = options, command, numbers
        self._made: dict[str, Source] = {}

    def found(self, place: Combination) -> Iterable[FoundValues]:
        """The values for a place; a single empty answer if no source is chosen.  Raises ConfigError."""
        rule = place.rule
        if rule.look_up is not None:
            name = "published"
        elif rule.grids is not None:
            name = "grids"
        elif rule.metric is not None and rule.trials is None:  # a search proposes values itself
            name = "selection"
        else:
            return [FoundValues({})]
        for address, option in place.parts.items():
            if address != option.group and COMPONENTS[option.group].science:
                several = f"hyperparams finds values for one {option.group}, and {address} is one of several"
                raise ConfigError(f"{several}; hyperparams=default keeps the values of files and command line.")
        if name not in self._made:
            self._made[name] = self._source(name)
        return self._made[name].found(place)

    def notes(self) -> list[str]:
        """Lines about all places.  Raises ConfigError."""
        return [line for source in self._made.values() for line in source.notes()]

    def _source(self, name: str) -> Source:
        if name == "published":
            from launch.runs.values.published import PublishedValues

            return PublishedValues()
        if name == "grids":
            from launch.runs.values.grids import Grids

            return Grids()
        from launch.runs.values.selected import Selection

        return Selection(self._options, Store(self._command.store), self._numbers)


def runs_named(options: Options, request: Request, sources: Sources, left_out: dict[str, Misfit]) -> Iterator[Run]:
    """A run for each combination of choices, values, values found by `hyperparams`, and numbers; some may be equal.

    left_out: gets the sentence of each combination with options that do not fit together.
    """
    desk, count = Desk(), 0
    for names in itertools.product(*request.choices.values()):
        asked = dict(zip(request.choices, names, strict=True)) | {"experiment": options.experiment}
        try:
            parts, nodes, hyperparams = combination(options, asked, request.adjusted_by(asked))
        except Misfit as error:
            left_out.setdefault(str(error), error)
            continue
        swept = request.swept_by(asked)
        asked = {group: name for group, name in asked.items() if group not in COMPONENTS or COMPONENTS[group].science}
        pinned = [".".join(place) for place in places_of(swept, parts).values()]
        for with_swept in filled(nodes, parts, swept):
            for values in sources.found(Combination(hyperparams, parts, with_swept, pinned)):
                settings = put(values.values, with_swept)
                chosen = {address: _part(desk, address, option, settings[address]) for address, option in parts.items()}
                try:
                    desk.check_fit(chosen)
                except Misfit as error:
                    left_out.setdefault(str(error), error)
                    continue
                check_columns(chosen)
                count += len(request.numbers)
                check_count({f"hyperparams={asked['hyperparams']}, and there are more": count})
                yield from runs_of(chosen, request.numbers, {**asked, **values.asked})


def _part(desk: Desk, address: str, option: Option, settings: Mapping[str, Any]) -> Part:
    try:
        return desk.part(option.group, option.name, option.target or "", settings)
    except ConfigError as error:
        if address == option.group:
            raise
        raise ConfigError(f"{address}: {error}") from error  # which of several options is meant


def check_columns(parts: Mapping[str, Part]) -> None:
    """Raises ConfigError if two diagnostics have the same column, or if runs have the column without diagnostics.

    parts: the components of a run, by address. Columns of single layers are not known yet.
    """
    neutral = COMPONENTS[DIAGNOSTICS].neutral
    of_group = {address: part for address, part in parts.items() if group_of(address) == DIAGNOSTICS}
    diagnostics = {address: part for address, part in of_group.items() if part.science["name"] != neutral}
    if not diagnostics:
        return

    def ask() -> bool:
        _check_columns(diagnostics, parts)
        return True

    science = {address: part.science for address, part in parts.items()}
    answer("columns", [part.target for part in parts.values()], science, ask)


def _check_columns(diagnostics: Mapping[str, Part], parts: Mapping[str, Part]) -> None:
    """Raises as `check_columns`.  diagnostics: the diagnostics among the parts."""
    from plasticity_lab.diagnostics import diagnostic  # torch

    built = {}
    for part in diagnostics.values():
        settings = dict(part.science)
        name = settings.pop("name")
        built[name] = component.build(DIAGNOSTICS, name, part.target, settings)
        try:
            built[name].columns([])
        except Exception as error:  # an own class can raise anything
            why = f"its 'columns' fails if it is given no units ({type(error).__name__}: {error})"
            right = "before the network is known it must return the columns of the whole network"
            raise ConfigError(f"diagnostics={name}: {why}; {right}.") from error
    targets = {address: part.target for address, part in parts.items() if address not in diagnostics}
    known = measures_of(targets, {address: part.science for address, part in parts.items()})
    diagnostic.check_columns(diagnostic.columns_of(built, []), [column.name for column in known.columns])


def with_data(resolved: Resolved, typed: Sequence[str]) -> Resolved:
    """Without the runs on a preset's benchmarks that lack their data on this machine; a note names these benchmarks.

    typed: the command's own words about runs. A typed benchmark stays, and so do all in a dry run. If no benchmark has
    its data, all stay too: training names the missing files. Raises ConfigError.
    """
    named = any(word.partition("=")[0] == "benchmark" for word in typed)
    if resolved.settings.dry_run or named or resolved.runs[0].asked_as[0]["experiment"] is None:
        return resolved
    folder, is_here = data_folder(resolved.settings.data), dict[str, bool]()
    runs = []
    for run in resolved.runs:
        benchmark = json.dumps(run.science["benchmark"], sort_keys=True)
        if benchmark not in is_here:
            subfolder = data_subfolder_of((run.targets["benchmark"], run.science["benchmark"]))
            is_here[benchmark] = not subfolder or (folder / subfolder).is_dir()
        if is_here[benchmark]:
            runs.append(run)
    left = {run.name("benchmark") for run in runs}
    absent = [name for name in dict.fromkeys(run.name("benchmark") for run in resolved.runs) if name not in left]
    if not runs or not absent:
        return resolved
    names = f"{', '.join(absent)} left out, as {'their' if len(absent) > 1 else 'its'} data are not in {folder}"
    way_out = "`python -m plasticity_lab.data fetch NAME` brings them; a typed benchmark=… is never left out"
    return replace(resolved, runs=runs, notes=[*resolved.notes, f"benchmark: {names} ({way_out})."])
